/** The coding agents that are run for real, each in one version: what another does is another question. */

export type HostName = "claude-code" | "codex" | "opencode" | "pi";

export type Pinned = {
  readonly package: string;
  readonly version: string;
  /** What people type to start it. */
  readonly typed: string;
  /** Its program below `node_modules/`, as a pattern: the platform is in the name. */
  readonly program: string;
};

export const pinned: Readonly<Record<HostName, Pinned>> = {
  "claude-code": {
    package: "@anthropic-ai/claude-code",
    version: "2.1.325",
    typed: "claude",
    program: "@anthropic-ai/claude-code-*/claude",
  },
  codex: {
    package: "@openai/codex",
    version: "0.166.0",
    typed: "codex",
    program: "@openai/codex-*/vendor/*/bin/codex",
  },
  opencode: {
    package: "opencode-ai",
    version: "1.18.33",
    typed: "opencode",
    program: "opencode-*-*/bin/opencode",
  },
  pi: {
    package: "@mariozechner/pi-coding-agent",
    version: "0.73.1",
    typed: "pi",
    program: "@mariozechner/pi-coding-agent/dist/cli.js",
  },
};
