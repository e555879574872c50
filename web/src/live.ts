/**
 * One stream of everything that happens. It goes on where it was after a lost connection; if the log behind
 * it is another one, or too much was missed, the page looks at the state again. Lists are not folded from
 * entries: they are asked for again when an entry concerns them.
 */
import { batch, signal } from "@preact/signals";
import { call, type Entry, eventsAddress, type Overview } from "./api.ts";
import { setClock } from "./clock.ts";
import { limits } from "./limits.ts";
import { forgetNames, learnAgent } from "./names.ts";
import { Refresh } from "./refresh.ts";
import { lookAtSession } from "./session.ts";
import { isNews, newsTypes } from "./words/sentence.ts";

export type Connection = "connecting" | "live" | "lost";

export const connection = signal<Connection>("connecting");
export const overview = signal<Overview | undefined>(undefined);
/** The newest first, without what only goes on. */
export const recent = signal<readonly Entry[]>([]);
export const lastEventAtMs = signal<number | undefined>(undefined);
/** Moves when everything that was asked for may be out of date. */
export const epoch = signal(0);

type Listener = (entries: readonly Entry[]) => void;
const listeners = new Set<Listener>();

/** Calls the listener with what happened, oldest first, a few times a second at most. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

let source: EventSource | undefined;
let sequence = 0;
let retryMs: number = limits.retryMs;
let collected: Entry[] = [];
let isCollecting = false;

const overviewRefresh = new Refresh(refreshOverview);

export function startLive(): void {
  void begin();
  setInterval(() => overviewRefresh.request(), limits.overviewEveryMs);
  // A machine that slept comes back with a connection that only looks alive.
  window.addEventListener("online", () => overviewRefresh.request());
}

/** Looks at the state, then follows what happens after it. */
async function begin(): Promise<void> {
  source?.close();
  source = undefined;
  collected = [];
  try {
    const [seen, past] = await Promise.all([
      call("getOverview", {}),
      call("listEntries", { type: newsTypes, limit: 100 }),
    ]);
    batch(() => {
      if (overview.value && overview.value.planeId !== seen.planeId) forgetNames();
      setClock(seen.nowMs);
      overview.value = seen;
      // Both were asked at once, so either may know more; the stream begins after what both know.
      sequence = Math.min(seen.sequence, past.sequence);
      recent.value = past.rows.filter((entry) => entry.sequence <= sequence);
      lastEventAtMs.value = recent.value[0]?.atMs;
      past.rows.forEach(learnFrom);
      epoch.value += 1;
    });
    follow();
  } catch {
    lose(() => void begin());
  }
}

function follow(): void {
  const stream = new EventSource(eventsAddress(sequence));
  source = stream;
  stream.addEventListener("hello", (message) => {
    const hello = JSON.parse(message.data) as { planeId: string; sequence: number };
    const isOther = hello.planeId !== overview.value?.planeId || hello.sequence < sequence;
    if (isOther || hello.sequence - sequence > limits.entriesBehindMax) {
      void begin();
      return;
    }
    retryMs = limits.retryMs;
    if (connection.value === "lost") {
      epoch.value += 1;
      overviewRefresh.request();
      void lookAtSession();
    }
    connection.value = "live";
  });
  stream.addEventListener("at", (message) => {
    sequence = Math.max(sequence, Number(message.lastEventId) || 0);
  });
  stream.addEventListener("reset", () => void begin());
  stream.addEventListener("message", (message) => receive(JSON.parse(message.data) as Entry));
  stream.addEventListener("error", () => {
    if (stream === source) lose(follow);
  });
}

/** What is on the screen stays, and we try again, ever more seldom. */
function lose(again: () => void): void {
  source?.close();
  source = undefined;
  connection.value = "lost";
  setTimeout(again, retryMs);
  retryMs = Math.min(retryMs * 2, limits.retryMsMax);
}

function receive(entry: Entry): void {
  if (entry.sequence <= sequence) return;
  sequence = entry.sequence;
  learnFrom(entry);
  collected.push(entry);
  if (collected.length > limits.entriesBehindMax) collected.splice(0, collected.length / 2);
  if (isCollecting) return;
  isCollecting = true;
  setTimeout(tell, limits.collectMs);
}

function tell(): void {
  isCollecting = false;
  const entries = collected;
  if (entries.length === 0) return;
  collected = [];
  batch(() => {
    lastEventAtMs.value = entries.at(-1)?.atMs;
    const newest = entries.filter(isNews).slice(-limits.recentEntriesMax).reverse();
    recent.value = [...newest, ...recent.value].slice(0, limits.recentEntriesMax);
    for (const listener of listeners) listener(entries);
  });
  overviewRefresh.request();
}

function learnFrom(entry: Entry): void {
  if ("agent" in entry) learnAgent(entry.agent);
}

async function refreshOverview(): Promise<void> {
  if (connection.value !== "live") return;
  try {
    const seen = await call("getOverview", {});
    if (seen.planeId !== overview.value?.planeId) return await begin();
    setClock(seen.nowMs);
    overview.value = seen;
  } catch {
    // The stream finds out for itself unless it hangs: then this is how we notice.
    if (connection.value === "live") lose(follow);
  }
}
