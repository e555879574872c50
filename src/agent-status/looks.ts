/** How a state looks: its icon and the colour of its row. [AS-59] */
import type { DerivedState, Lifecycle } from "../wire/status-file/index.ts";

export type Colour = "green" | "yellow" | "cyan" | "red" | "dim";

export type Look = { readonly icon: string; readonly colour: Colour | undefined };

export const stateLooks: Readonly<Record<DerivedState, Look>> = {
  working: { icon: "●", colour: "green" },
  completed: { icon: "✓", colour: "green" },
  "input-required": { icon: "?", colour: "yellow" },
  "auth-required": { icon: "🔑", colour: "yellow" },
  submitted: { icon: "→", colour: "cyan" },
  failed: { icon: "✗", colour: "red" },
  rejected: { icon: "✗", colour: "red" },
  stale: { icon: "⏳", colour: "red" },
  missing: { icon: "?", colour: "red" },
  idle: { icon: "~", colour: "dim" },
  canceled: { icon: "✗", colour: "dim" },
  unknown: { icon: "?", colour: "dim" },
  stopped: { icon: "?", colour: "dim" },
  running: { icon: "?", colour: undefined },
};

export const lifecycleIcons: Readonly<Record<Lifecycle, string>> = {
  running: "▶",
  stopped: "◼",
  unknown: "?",
};

const codes: Readonly<Record<Colour | "bold", number>> = {
  green: 32,
  yellow: 33,
  cyan: 36,
  red: 31,
  dim: 2,
  bold: 1,
};

/** What turns it on. */
export function begin(colour: Colour | "bold"): string {
  return `\x1b[${codes[colour]}m`;
}

/** What turns everything off. */
export const end = "\x1b[0m";
