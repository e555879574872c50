/** How a state looks: its icon and the colour of its row. [AS-59] */
import type { Colour } from "../terminal/index.ts";
import type { DerivedState, Lifecycle } from "../wire/status-file/index.ts";

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
