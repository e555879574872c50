/** The two watches: a feed of the plane, cut to what was asked for, as a stream. */
import { type Event, type GroupName, type Term, topics } from "../../core/index.ts";
import type { Entry } from "../../log/index.ts";
import type { Plane, Watch, WatchEnd } from "../../plane/index.ts";
import type { Connection } from "./connection.ts";
import { encodeEntry, encodeEvent } from "./encode.ts";
import type { StreamEnd } from "./method.ts";
import type { ServerCall } from "./server.ts";

/** `prefixes` of topics; an event is given once, however many match. */
export async function watchTopics(
  plane: Plane,
  prefixes: readonly string[],
  call: ServerCall<Connection>,
): Promise<StreamEnd> {
  const wants = ({ busSequence, event }: Entry): boolean => {
    if (busSequence === 0) return false;
    const topic = topics[event.type];
    return prefixes.some((prefix) => topic.startsWith(prefix));
  };
  // Watching begins before anything is awaited: headers received mean that it has begun.
  using watch = plane.watch({ wants, isTrusted: call.isTrusted });
  call.whenOver(() => watch.close());
  call.begin();
  return await pump(watch, call);
}

/**
 * The changes of leader of one group. If someone on this connection campaigned and a change came since,
 * the latest change is told first.
 */
export async function watchElection(
  plane: Plane,
  group: GroupName,
  call: ServerCall<Connection>,
): Promise<StreamEnd> {
  const { knownTerms } = call.connection;
  let told: Term | undefined;
  const wants = ({ event }: Entry): boolean =>
    event.type === "leader.changed" &&
    event.group === group &&
    (told === undefined || event.term > told);
  using watch = plane.watch({ wants, isTrusted: call.isTrusted });
  call.whenOver(() => watch.close());
  call.begin();
  // What is looked at now may not be durable yet: then the watch is about to be offered it as well.
  const missed = await plane.read((state) => {
    const election = state.elections.groups.get(group);
    if (!election || !knownTerms.isBehind(group, election.term)) return undefined;
    told = election.term;
    return election;
  });
  if (missed) {
    const { term, leader, changedAtMs, busSequence } = missed;
    const changed = { type: "leader.changed", group, term, changedAtMs } as const;
    const event: Event = leader === undefined ? changed : { ...changed, leader };
    knownTerms.raise(group, term);
    await call.write(encodeEvent(event, { busSequence, atMs: changedAtMs }));
  }
  return await pump(watch, call);
}

async function pump(watch: Watch, call: ServerCall<Connection>): Promise<StreamEnd> {
  for (;;) {
    const { entries, end } = await watch.next();
    if (end) return explain(end);
    // What nobody is left to be told must not count as known.
    if (call.isOver) return explain({ code: "closed" });
    for (const { event } of entries) {
      if (event.type === "leader.changed") {
        call.connection.knownTerms.raise(event.group, event.term);
      }
    }
    const [first] = entries;
    const frames = first && entries.length === 1 ? encodeEntry(first) : join(entries);
    await call.write(frames);
  }
}

/** What came in one commit goes out in one write. */
function join(entries: readonly Entry[]): Buffer {
  return Buffer.concat(entries.map(encodeEntry));
}

export function explain(end: WatchEnd): StreamEnd {
  switch (end.code) {
    case "closed":
      return { status: "CANCELLED", message: "" };
    case "unavailable":
      return { status: "UNAVAILABLE", message: "the daemon is shutting down" };
    case "limit_reached":
      return {
        status: "RESOURCE_EXHAUSTED",
        message: "too many watches are open; close one, or send the token if you did not",
      };
    case "lagged":
      return { status: "RESOURCE_EXHAUSTED", message: "events were read too slowly; watch again" };
    case "out_of_range":
      return { status: "OUT_OF_RANGE", message: `the oldest event is ${end.oldestSequence}` };
  }
}
