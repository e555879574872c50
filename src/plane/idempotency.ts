/** The id that a thing made under an idempotency key has: made again with the same key, it is the same. */
import { hash } from "node:crypto";

/** 32 lower-case hex digits. An agent and a task may share a key. */
export function idFromKey(kind: "agent" | "task", key: string): string {
  return hash("sha256", `${kind}\n${key}`, "hex").slice(0, 32);
}
