/** Pi: an extension in the folder from which it loads every module. */
import { join } from "node:path";
import { planModule, planNoModule } from "./guest.ts";
import type { Host, HostOptions } from "./host.ts";

export const pi: Host = {
  name: "pi",
  title: "Pi",
  plan: (options) => planModule(pathOf(options), "pi"),
  planRemoval: (options) => planNoModule(pathOf(options)),
  afterInstall: "those that run already show up after /reload, or when they are started again",
};

function pathOf({ env, home }: HostOptions): string {
  const given = env["PI_CODING_AGENT_DIR"];
  // Pi itself expands the tilde.
  const agent = given ? given.replace(/^~(?=\/|$)/, home) : join(home, ".pi", "agent");
  return join(agent, "extensions", "tipstaff.js");
}
