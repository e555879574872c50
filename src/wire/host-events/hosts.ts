/** The hosts that tell by hooks what happens, and which of their events are worth a hook. */
export const hostNames = ["claude-code", "codex"] as const;
export type HostName = (typeof hostNames)[number];

/** Where a host's own facts are in `x_meta`. */
export const metaKeys: Readonly<Record<HostName, string>> = {
  "claude-code": "claude_code",
  codex: "codex",
};

export type HookedEvent = {
  readonly name: string;
  /** The first version of the host that knows it; absent: all that have hooks. */
  readonly since?: string;
  /** Seconds after which the host goes on without the hook. */
  readonly timeout: number;
};

/** A hook takes milliseconds. If the disk hangs, the host shall not. */
const usual = 5;
/** What hosts give a hook at their end, at most. */
const atEnd = 3;

/**
 * An event that a host does not know makes older ones drop the whole file (Claude Code below 2.1.300 or so),
 * so each says since when it is there; found by looking into the published packages.
 */
export const hookedEvents: Readonly<Record<HostName, readonly HookedEvent[]>> = {
  "claude-code": [
    { name: "SessionStart", timeout: usual },
    { name: "UserPromptSubmit", timeout: usual },
    { name: "PreToolUse", timeout: usual },
    { name: "PermissionRequest", timeout: usual, since: "2.0.45" },
    { name: "PermissionDenied", timeout: usual, since: "2.1.90" },
    { name: "PostToolUse", timeout: usual },
    { name: "PostToolUseFailure", timeout: usual, since: "2.0.60" },
    { name: "Notification", timeout: usual },
    { name: "Elicitation", timeout: usual, since: "2.1.70" },
    { name: "ElicitationResult", timeout: usual, since: "2.1.70" },
    { name: "SubagentStart", timeout: usual, since: "2.0.45" },
    { name: "SubagentStop", timeout: usual },
    { name: "Stop", timeout: usual },
    { name: "StopFailure", timeout: usual, since: "2.1.78" },
    { name: "SessionEnd", timeout: atEnd },
  ],
  // Codex passes over names that it does not know.
  codex: [
    { name: "SessionStart", timeout: usual },
    { name: "UserPromptSubmit", timeout: usual },
    { name: "PreToolUse", timeout: usual },
    { name: "PermissionRequest", timeout: usual },
    { name: "PostToolUse", timeout: usual },
    { name: "SubagentStart", timeout: usual },
    { name: "SubagentStop", timeout: usual },
    { name: "Interrupt", timeout: usual },
    { name: "Stop", timeout: usual },
    { name: "SessionEnd", timeout: atEnd },
  ],
};

/** AS-89: Codex sets the variables of both, so its own decide. */
export function hostOf(env: Readonly<Record<string, string | undefined>>): HostName {
  if (env["PLUGIN_ROOT"] || env["PLUGIN_DATA"]) return "codex";
  return env["CLAUDE_PLUGIN_ROOT"] || env["CLAUDE_PLUGIN_DATA"] ? "claude-code" : "codex";
}

export function isHostName(text: string): text is HostName {
  return hostNames.some((name) => name === text);
}
