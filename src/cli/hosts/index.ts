/** The hosts that can be told to tell us. */
import { claudeCode } from "./claude-code.ts";
import { codex } from "./codex.ts";
import type { Host } from "./host.ts";
import { opencode } from "./opencode.ts";
import { pi } from "./pi.ts";

export type { Env, FileChange, Host, HostOptions } from "./host.ts";

export const hosts: readonly Host[] = [claudeCode, codex, opencode, pi];
