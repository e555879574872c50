/** Codex: hooks in `hooks.json`. It runs only those that its user has trusted; that is for him to do. */
import { join } from "node:path";
import { hookedEvents } from "../../wire/host-events/index.ts";
import { inPackage } from "../package.ts";
import { commandFor } from "./hooks-file.ts";
import type { Host, HostOptions } from "./host.ts";
import { planHooks, planNoHooks } from "./settings.ts";

export const codex: Host = {
  name: "codex",
  title: "Codex",
  plan: (options) => {
    const hook = inPackage("plugins", "codex", "hook");
    const hooks = hookedEvents.codex.map(({ name, timeout }) => ({
      event: name,
      command: commandFor(hook, "codex", name),
      timeout,
    }));
    return planHooks(hooksOf(options), hooks);
  },
  planRemoval: (options) => planNoHooks(hooksOf(options)),
  afterInstall:
    "Codex asks at its next start whether you trust the hooks; until you do, it runs none",
};

function hooksOf({ env, home }: HostOptions): string {
  return join(env["CODEX_HOME"] || join(home, ".codex"), "hooks.json");
}
