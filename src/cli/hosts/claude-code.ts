/** Claude Code: hooks in `settings.json`, for the events that the installed version knows. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { hookedEvents } from "../../wire/host-events/index.ts";
import { limits } from "../limits.ts";
import { commandFor } from "./hooks-file.ts";
import type { Env, Host, HostOptions } from "./host.ts";
import { inPackage } from "./package.ts";
import { planHooks, planNoHooks } from "./settings.ts";

/** If nobody can be asked: events that were there a year ago. */
const cautious = "2.0.60";

export const claudeCode: Host = {
  name: "claude-code",
  title: "Claude Code",
  plan: (options) => {
    const version = versionOf(options) ?? cautious;
    // A version that does not know an event does not read the rest of the file either.
    const events = hookedEvents["claude-code"].filter(
      ({ since }) => since === undefined || compareVersions(version, since) >= 0,
    );
    const hook = inPackage("plugins", "claude-code", "hook");
    return planHooks(
      settingsOf(options),
      events.map(({ name, timeout }) => ({
        event: name,
        command: commandFor(hook, "claude-code", name),
        timeout,
      })),
    );
  },
  planRemoval: (options) => planNoHooks(settingsOf(options)),
  afterInstall: "sessions that are open already show up when they are started again",
};

function settingsOf({ env, home }: HostOptions): string {
  return join(env["CLAUDE_CONFIG_DIR"] || join(home, ".claude"), "settings.json");
}

/** Where it is installed if it is not on the path: by its own installers. */
const places = [".local/bin", ".claude/local"];

function versionOf({ env, home }: HostOptions): string | undefined {
  const path = [env["PATH"], ...places.map((place) => join(home, place))].filter(Boolean).join(":");
  const { stdout } = spawnSync("claude", ["--version"], {
    env: definedIn({ ...env, PATH: path }),
    encoding: "utf8",
    timeout: limits.versionMs,
    stdio: ["ignore", "pipe", "ignore"],
  });
  return /^(\d+\.\d+\.\d+)/.exec(stdout ?? "")?.[1];
}

function definedIn(env: Env): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
}

function compareVersions(one: string, other: string): number {
  const [left, right] = [one, other].map((version) => version.split(".").map(Number));
  const differences = (left ?? []).map((part, index) => part - (right?.[index] ?? 0));
  return differences.find((difference) => difference !== 0) ?? 0;
}
