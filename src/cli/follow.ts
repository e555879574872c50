/**
 * The log as it grows, over server-sent events. A connection that ends is made again, after a pause that
 * grows, and goes on where it stopped. What cannot be gone on with is told: entries that are not kept any
 * more, or another log at the same place.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Entry, eventsPath } from "../wire/api/index.ts";
import { bearer, send } from "./daemon.ts";
import { Failure } from "./failure.ts";
import { limits } from "./limits.ts";
import type { Values } from "./table.ts";

export type Followed =
  | { readonly kind: "entry"; readonly entry: Entry }
  /** Begun, or begun again: the log goes up to `sequence` now. */
  | { readonly kind: "connected"; readonly sequence: number }
  | { readonly kind: "lost"; readonly message: string }
  /** What came after the last entry is not all there. */
  | { readonly kind: "gap"; readonly message: string };

export type FollowOptions = {
  /** Entries after this one; undefined: from now on. */
  readonly after: number | undefined;
  readonly topics: readonly string[];
  /** Whether to come back when the connection ends; else that is the end, or a failure before the first. */
  readonly isPatient: boolean;
  /** Ends it, as a connection ends. */
  readonly signal?: AbortSignal | undefined;
};

export async function* follow(
  values: Values,
  { after, topics, isPatient, signal }: FollowOptions,
): AsyncGenerator<Followed> {
  let position = after;
  let planeId: string | undefined;
  let pauseMs: number = limits.pauseMsMin;
  for (let isFirst = true; ; ) {
    let isStartingOver = false;
    try {
      for await (const { event, id, data } of messages(values, {
        after: position,
        topics,
        signal,
      })) {
        pauseMs = limits.pauseMsMin;
        if (event === "hello") {
          const hello = JSON.parse(data) as { readonly planeId: string; readonly sequence: number };
          if (planeId !== undefined && planeId !== hello.planeId) {
            // Its sequences mean nothing in this log.
            yield { kind: "gap", message: "another log is served here now; from its beginning" };
            planeId = hello.planeId;
            position = 0;
            isStartingOver = true;
            break;
          }
          planeId = hello.planeId;
          position ??= hello.sequence;
          yield { kind: "connected", sequence: hello.sequence };
          isFirst = false;
          continue;
        }
        if (event === "reset") {
          const { oldestSequence } = JSON.parse(data) as { readonly oldestSequence: number };
          const next = (position ?? 0) + 1;
          if (oldestSequence > next) {
            const message = `entries ${next} to ${oldestSequence - 1} are not kept any more`;
            yield { kind: "gap", message };
            // The stream would go on from now; what is still kept comes before that.
            position = oldestSequence - 1;
            isStartingOver = true;
            break;
          }
          yield {
            kind: "gap",
            message: `the log ends before entry ${next}; going on from its end`,
          };
        }
        if (event === "message") {
          yield { kind: "entry", entry: JSON.parse(data) as Entry };
        }
        if (/^\d+$/.test(id)) position = Number(id);
      }
      if (isStartingOver) continue;
      if (!isPatient) return;
      yield { kind: "lost", message: "the daemon ended the stream" };
    } catch (error) {
      const isGone =
        error instanceof Failure && /^(not_running|unreachable|unavailable)$/.test(error.code);
      if (!isGone || !isPatient || isFirst) throw error;
      yield { kind: "lost", message: error.message };
    }
    await sleep(pauseMs, undefined, signal ? { signal } : {});
    pauseMs = Math.min(limits.pauseMsMax, pauseMs * 2);
  }
}

type Message = { readonly event: string; readonly id: string; readonly data: string };

async function* messages(
  values: Values,
  { after, topics, signal }: Omit<FollowOptions, "isPatient">,
): AsyncGenerator<Message> {
  const query = new URLSearchParams(topics.map((topic) => ["topic", topic]));
  if (after !== undefined) query.set("after", String(after));
  const path = query.size > 0 ? `${eventsPath}?${query}` : eventsPath;
  const headers = { accept: "text/event-stream", ...bearer(values) };
  const response = await send(values, { path, headers, ...(signal ? { signal } : {}) });
  if (response.statusCode !== 200) {
    response.destroy();
    throw new Failure("unavailable", `the daemon answers ${response.statusCode} to a watch`, [
      "it may have too many watchers; tipstaff status counts them",
    ]);
  }
  response.socket.setTimeout(limits.silenceMsMax, () =>
    response.destroy(new Error("nothing was heard")),
  );
  response.setEncoding("utf8");
  let text = "";
  try {
    for await (const chunk of response) {
      text += chunk;
      const parts = text.split("\n\n");
      text = parts.pop() ?? "";
      if (text.length > limits.messageLengthMax) throw new Error("a message is too long");
      for (const part of parts) {
        const message = decodeMessage(part);
        if (message) yield message;
      }
    }
  } catch (cause) {
    // A fault in what we were given is one of ours, not of the connection.
    if (cause instanceof SyntaxError || cause instanceof TypeError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Failure("unreachable", `the connection broke (${why})`);
  }
}

/** Undefined for a comment, and for what only says when to come back. */
export function decodeMessage(part: string): Message | undefined {
  let event = "message";
  let id = "";
  const data: string[] = [];
  for (const line of part.split("\n")) {
    const [, field = "", value = ""] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (field === "event") event = value;
    if (field === "id") id = value;
    if (field === "data") data.push(value);
  }
  return data.length === 0 ? undefined : { event, id, data: data.join("\n") };
}
