/** Claude Code: hooks in `settings.json`, for the events that the installed version knows. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { type HookedEvent, hookedEvents } from "../../wire/host-events/index.ts";
import { limits } from "../limits.ts";
import { inPackage } from "../package.ts";
import { printPath } from "../paths.ts";
import { commandFor } from "./hooks-file.ts";
import type { Env, Host, HostOptions } from "./host.ts";
import { installedIn, isSwitchedOn, planHooks, planNoHooks } from "./settings.ts";

/**
 * If nobody can be asked: one that nearly all are newer than. A version that does not know an event drops the
 * whole file, permissions and all; that is worse than to miss an event.
 */
const cautious = "2.0.60";

export const claudeCode: Host = {
  name: "claude-code",
  title: "Claude Code",
  plan: (options) => {
    const path = settingsOf(options);
    const version = versionOf(options);
    // Those that are there were known when somebody could be asked.
    const installed = version === undefined ? installedIn(path) : [];
    const all = hookedEvents["claude-code"];
    const events = all.filter(
      ({ name, since = "0" }) =>
        compareVersions(version ?? cautious, since) >= 0 || installed.includes(name),
    );
    const hook = inPackage("plugins", "claude-code", "hook");
    const hooks = events.map(({ name, timeout }) => ({
      event: name,
      command: commandFor(hook, "claude-code", name),
      timeout,
    }));
    const missing = all.filter((event) => !events.includes(event));
    return planHooks(path, hooks, notesOn(missing, version));
  },
  planRemoval: (options) => planNoHooks(settingsOf(options)),
  obstacle: (options) => {
    const path = settingsOf(options);
    if (!isSwitchedOn(path, "disableAllHooks")) return undefined;
    return `hooks are disabled in settings: take disableAllHooks out of ${printPath(path)}`;
  },
  afterInstall: "sessions that are open already show up when they are started again",
};

function settingsOf({ env, home }: HostOptions): string {
  return join(env["CLAUDE_CONFIG_DIR"] || join(home, ".claude"), "settings.json");
}

function notesOn(missing: readonly HookedEvent[], version: string | undefined): readonly string[] {
  if (missing.length === 0) return [];
  const names = missing.map(({ name }) => name).join(", ");
  if (version !== undefined)
    return [`hooks not installed: ${names}; version ${version} does not support them`];
  return [
    `hooks not installed: ${names}; claude is not on PATH, so its version is unknown.`,
    "An older version rejects its whole settings file if it contains these hooks. Put claude on PATH and install again.",
  ];
}

/** Where it is installed if it is not on the path: by its own installers, and by others. */
const places = [".local/bin", ".claude/local", ".npm-global/bin", ".bun/bin", ".volta/bin"];

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
