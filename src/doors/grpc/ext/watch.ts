/** Events from any sequence of the bus on, each with the one before it on the same stream. */
import { topics } from "../../../core/index.ts";
import type { Entry } from "../../../log/index.ts";
import type { Plane, Watch } from "../../../plane/index.ts";
import { WatchResponse } from "../../../wire/agentkeeper-ext/index.ts";
import { frame } from "../../../wire/grpc/index.ts";
import type { Call } from "../calls.ts";
import { toWireEvent } from "../encode.ts";
import type { StreamEnd } from "../method.ts";
import { explain } from "../watch.ts";

export type Wish = {
  /** Prefixes of topics. */
  readonly topics: readonly string[];
  /** Absent: from now on. */
  readonly afterSequence: number | undefined;
};

/**
 * Begins with a marker: what comes after it has a larger sequence than the marker says, and whoever reads
 * the state now sees everything up to there.
 */
export async function watchFrom(plane: Plane, wish: Wish, call: Call): Promise<StreamEnd> {
  let current = 0;
  // It is looked at now, and told when all of it is durable.
  const looked = plane.read((state) => {
    current = state.lastBusSequence;
  });
  const afterSequence = wish.afterSequence ?? current;
  const wants = ({ busSequence, event }: Entry): boolean =>
    busSequence > afterSequence &&
    wish.topics.some((prefix) => topics[event.type].startsWith(prefix));
  let from: { readonly afterSequence?: number } = {};
  if (wish.afterSequence !== undefined) {
    const position = await plane.findOnBus(afterSequence);
    if (position.oldestBusSequence !== undefined) return tooFarBack(position.oldestBusSequence);
    from = position;
  }
  using watch = plane.watch({ ...from, wants, isTrusted: call.isTrusted });
  call.whenOver(() => watch.close());
  call.begin();
  await looked;
  await call.write(encodeMarker({ afterSequence, current }));
  const end = await pump(watch, afterSequence, call);
  // Only the plane knows what became of it: the bus is not where the watch stands.
  if (end.status !== "OUT_OF_RANGE") return end;
  const { oldestBusSequence = 0 } = await plane.findOnBus(0);
  return tooFarBack(oldestBusSequence);
}

async function pump(watch: Watch, afterSequence: number, call: Call): Promise<StreamEnd> {
  let previous = afterSequence;
  for (;;) {
    const { entries, end } = await watch.next();
    if (end) return explain(end);
    const frames = entries.map((entry) => {
      const framed = encodeWatched(entry, previous);
      previous = entry.busSequence;
      return framed;
    });
    await call.write(Buffer.concat(frames));
  }
}

function encodeMarker(marker: {
  readonly afterSequence: number;
  readonly current: number;
}): Buffer {
  const value = {
    afterSequence: BigInt(marker.afterSequence),
    currentSequence: BigInt(marker.current),
  };
  return frame(WatchResponse.encode({ message: { $case: "marker", value } }).finish());
}

function encodeWatched(entry: Entry, previous: number): Buffer {
  const value = {
    event: toWireEvent(entry.event, entry),
    previousSequence: BigInt(previous),
  };
  return frame(WatchResponse.encode({ message: { $case: "event", value } }).finish());
}

function tooFarBack(oldest: number): StreamEnd {
  return {
    status: "OUT_OF_RANGE",
    message: `the oldest event is ${oldest}`,
    trailers: { "oldest-sequence": String(oldest) },
  };
}
