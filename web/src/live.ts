/**
 * One stream of everything that happens. It goes on where it was after a lost connection; if the log behind
 * it is another one, or too much was missed, the page looks at the state again. Lists are not folded from
 * entries: they are asked for again when an entry concerns them.
 */
import { batch, computed, signal } from "@preact/signals";
import { call, type Entry, type Overview, reasonOf, TipstaffError, watch } from "./api.ts";
import { nowMs, setClock } from "./clock.ts";
import { limits } from "./limits.ts";
import { forgetNames, learnAgent, learnName } from "./names.ts";
import { notify } from "./notices.ts";
import { Refresh } from "./refresh.ts";
import { route } from "./route.ts";
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

/** The job whose every word is of interest. */
export const followedJob = signal("");

/** What jobs say is much, and only the log shows all of it. */
const topics = computed<readonly string[]>(() => {
  if (route.value.view === "log") return [];
  const followed = followedJob.value;
  return [...quietTopics, ...(followed === "" ? [] : [`job/${followed}`])];
});

const quietTopics: readonly string[] = [
  "agent.",
  "ext.",
  "lease.",
  "leader.",
  "election.",
  "policy.",
  "task.",
  "observed.",
  "need.",
  "question.",
  "plane.",
  "job.accepted",
  "job.started",
  "job.cancelling",
  "job.orphaned",
  "job.reclaimed",
  "job.offered",
  "job.ended",
  "job.forgotten",
];

type Listener = (entries: readonly Entry[]) => void;
const listeners = new Set<Listener>();

/** Calls the listener with what happened, oldest first, a few times a second at most. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

let watching = new AbortController();
/** Aborted when something else is to be heard: the next stream goes on where this one was. */
let stream = new AbortController();
let sequence = 0;
/** How old the last entry was when it came, and when that was. */
let lag = { ms: 0, heardAtMs: 0 };
let retryMs: number = limits.retryMs;
let fallingAsleep: ReturnType<typeof setTimeout> | undefined;
/** Nobody looks, so there is no stream. */
let isAsleep = false;
let collected: Entry[] = [];
let isCollecting = false;

const overviewRefresh = new Refresh(refreshOverview);

export function startLive(): void {
  void begin();
  setInterval(() => overviewRefresh.request(), limits.overviewEveryMs);
  // A machine that slept comes back with a connection that only looks alive.
  window.addEventListener("online", () => overviewRefresh.request());
  document.addEventListener("visibilitychange", () => {
    clearTimeout(fallingAsleep);
    if (document.hidden) fallingAsleep = setTimeout(fallAsleep, limits.hiddenStreamMs);
    else if (isAsleep) void begin();
  });
  topics.subscribe(() => stream.abort());
}

function fallAsleep(): void {
  isAsleep = true;
  watching.abort();
}

/** Looks at the state, then follows what happens after it. */
async function begin(): Promise<void> {
  watching.abort();
  watching = new AbortController();
  isAsleep = false;
  const { signal } = watching;
  collected = [];
  try {
    const [seen, past, last] = await Promise.all([
      call("getOverview", {}, { signal }),
      call("listEntries", { type: newsTypes, limit: 100 }, { signal }),
      call("listEntries", { limit: 1 }, { signal }),
    ]);
    batch(() => {
      if (overview.value && overview.value.planeId !== seen.planeId) forgetNames();
      setClock(seen.nowMs);
      overview.value = seen;
      // They were asked at once, so either may know more; the stream begins after what all know.
      sequence = Math.min(seen.sequence, past.sequence);
      recent.value = past.rows.filter((entry) => entry.sequence <= sequence);
      lastEventAtMs.value = last.rows[0]?.atMs;
      past.rows.forEach(learnFrom);
      epoch.value += 1;
    });
    lag = { ms: 0, heardAtMs: 0 };
    while (!signal.aborted) await hear(seen.planeId, signal);
  } catch (fault) {
    if (signal.aborted) return;
    if (isOurs(fault)) notify(`The page cannot follow the daemon. ${reasonOf(fault)}`);
    beginAgain();
  }
}

/** One stream, until something else is to be heard. */
async function hear(planeId: string, until: AbortSignal): Promise<void> {
  const own = new AbortController();
  stream = own;
  const heard = await watch({
    afterSequence: sequence,
    planeId,
    topics: topics.peek(),
    signal: AbortSignal.any([until, own.signal]),
    onConnection: noteConnection,
  });
  try {
    for await (const entry of heard) receive(entry);
  } catch (fault) {
    if (until.aborted || !own.signal.aborted) throw fault;
  } finally {
    // Also past what was not told: whoever goes on from here need not go through it again.
    sequence = Math.max(sequence, heard.position ?? 0);
  }
}

/** Not when it is not reachable, or when what we knew is worth nothing any more: then beginning anew helps. */
function isOurs(fault: unknown): boolean {
  const isExpected =
    fault instanceof TipstaffError &&
    (fault.retryable || fault.code === "gap" || fault.code === "other_log");
  return !isExpected;
}

/** What is on the screen stays, and we try again, ever more seldom. */
function beginAgain(): void {
  watching.abort();
  connection.value = "lost";
  setTimeout(() => void begin(), retryMs);
  retryMs = Math.min(retryMs * 2, limits.retryMsMax);
}

function noteConnection({ isLive }: { readonly isLive: boolean }): void {
  if (isLive) retryMs = limits.retryMs;
  if (isLive && connection.value === "lost") {
    epoch.value += 1;
    overviewRefresh.request();
    void lookAtSession();
  }
  connection.value = isLive ? "live" : "lost";
}

function receive(entry: Entry): void {
  sequence = entry.sequence;
  lag = { ms: nowMs() - entry.atMs, heardAtMs: performance.now() };
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
  if ("job" in entry && entry.job) learnName(entry.id, entry.job.agent);
}

async function refreshOverview(): Promise<void> {
  if (connection.value !== "live") return;
  const { signal } = watching;
  try {
    const seen = await call("getOverview", {});
    const isOther = seen.planeId !== overview.value?.planeId;
    const isOld =
      lag.ms > limits.lagMsMax && performance.now() - lag.heardAtMs < limits.overviewEveryMs;
    const isFarBehind = isOld && seen.sequence - sequence > limits.entriesBehindMax;
    if (!isAsleep && (isOther || isFarBehind)) return await begin();
    setClock(seen.nowMs);
    overview.value = seen;
  } catch {
    // The stream finds out for itself unless it hangs: then this is how we notice.
    if (!signal.aborted) beginAgain();
  }
}
