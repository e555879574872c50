/** A plane in this process, with a clock that is moved by hand and faults that are noted. */
import { type Log, MemoryLog } from "../log/index.ts";
import { type Caller, Plane, type PlaneOptions } from "../plane/index.ts";
import { ManualClock } from "./manual-clock.ts";

export interface TestPlane extends AsyncDisposable {
  readonly plane: Plane;
  readonly clock: ManualClock;
  /** What the plane stopped for. */
  readonly faults: readonly unknown[];
}

export const test: Caller = { actor: "test" };

export async function openPlane(
  options: Partial<PlaneOptions> & { readonly log?: Log; readonly clock?: ManualClock } = {},
): Promise<TestPlane> {
  const faults: unknown[] = [];
  const { log = new MemoryLog(), clock = new ManualClock(), ...rest } = options;
  const onFault = (fault: unknown): void => {
    faults.push(fault);
  };
  const plane = await Plane.open({ onFault, ...rest, log, clock });
  return { plane, clock, faults, [Symbol.asyncDispose]: () => plane[Symbol.asyncDispose]() };
}

/** Lets everything happen that can happen without time passing. */
export async function turns(count = 3): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
}

/** Whether a promise has an answer once everything has happened that can happen now. */
export async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const note = (): void => {
    settled = true;
  };
  promise.then(note, note);
  await turns();
  return settled;
}
