import type { Event, State } from "../core/index.ts";

/** What the one writer asks of every view: its side of this is in the plane. */
export type View = {
  /** Starts over from a whole state. */
  reset(state: State): void;
  apply(event: Event): void;
};
