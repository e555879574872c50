/** Agents for tests of the screen. */
import { hostname } from "node:os";
import type { Size } from "../../terminal/index.ts";
import { type Key, keyNames } from "../../terminal/index.ts";
import type { Sighting } from "../../wire/api/index.ts";
import { layout } from "./layout.ts";
import { firstModel, type Model, type Scene } from "./model.ts";
import { learn, type Pressed, press } from "./steer.ts";

export const nowMs = 1_700_000_000_000;
export const small: Size = { columns: 80, rows: 24 };

export function agentNamed(id: string, more: Partial<Sighting> = {}): Sighting {
  return {
    id,
    name: id,
    host: hostname(),
    state: "working",
    sinceMs: nowMs - 60_000,
    known: [{ source: "hook", state: "working", word: "working", heardAtMs: nowMs - 2_000 }],
    isContradicted: false,
    ...more,
  };
}

export function showing(
  agents: readonly Sighting[],
  more: Partial<Scene> = {},
  size: Size = small,
): Model {
  return learn(firstModel(nowMs), { agents, daemon: { kind: "none" }, nowMs, ...more }, size);
}

/** Keys by name; other words are typed letter by letter. */
export function after(model: Model, keys: readonly string[], size: Size = small): Pressed {
  let pressed: Pressed = { model };
  for (const key of keys.flatMap(keysFor)) pressed = press(pressed.model, key, size);
  return pressed;
}

function keysFor(word: string): readonly Key[] {
  const name = keyNames.find((one) => one === word);
  return name ? [{ name }] : [...word].map((text) => ({ name: "text", text }));
}

/** As a person sees it, without colours. */
export function screenOf(model: Model, size: Size = small): readonly string[] {
  return layout(model, size).map((line) =>
    line
      .map(({ text }) => text)
      .join("")
      .trimEnd(),
  );
}
