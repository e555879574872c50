/** OpenCode: a plugin in the folder from which it loads every module. */
import { join } from "node:path";
import { planModule, planNoModule } from "./guest.ts";
import type { Host, HostOptions } from "./host.ts";

export const opencode: Host = {
  name: "opencode",
  title: "OpenCode",
  plan: (options) => planModule(pathOf(options), "opencode"),
  planRemoval: (options) => planNoModule(pathOf(options)),
  afterInstall: "those that run already show up when they are started again",
};

function pathOf({ env, home }: HostOptions): string {
  const configuration = env["XDG_CONFIG_HOME"] || join(home, ".config");
  return join(configuration, "opencode", "plugins", "tipstaff.js");
}
