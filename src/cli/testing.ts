/** Agents and questions for tests. */
import { hostname } from "node:os";
import type { Known, Question, Sighting } from "../wire/api/index.ts";

export const nowMs = 10_000_000_000;

/** One that was heard of four seconds ago, through its hook. */
export function seen(change: Partial<Sighting> = {}): Sighting {
  const state = change.state ?? "working";
  const told = state === "silent" ? "working" : state;
  const known: Known = { source: "hook", state: told, word: told, heardAtMs: nowMs - 4_000 };
  return {
    id: "a",
    name: "codex",
    host: hostname(),
    state,
    known: [known],
    isContradicted: false,
    ...change,
  };
}

/** A question that an agent asked four minutes ago. */
export function asked(change: Partial<Question> = {}): Question {
  return {
    id: "q_0123456789ab",
    state: "open",
    kind: "input",
    asker: { kind: "agent", id: "p" },
    askerName: "payer",
    key: "1",
    prompt: "Pay 5 EUR?",
    askedAtMs: nowMs - 240_000,
    ...change,
  };
}
