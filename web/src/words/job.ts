/**
 * What jobs say of themselves, as people read it. The daemon keeps no body that is not as ARCP has it, so that there is
 * one spelling to read; to the type they are unknown all the same.
 */
import {
  type Entry,
  type JobCost,
  type JobInfo,
  type JobProgress,
  readableAmount,
  type WorkEntry,
} from "tipstaff/client";
import { number } from "./time.ts";

const signs: Readonly<Record<string, string>> = { USD: "$", EUR: "€", GBP: "£" };

/** `$1.24`, `0.5 credits`. */
export function moneyOf(amount: string, currency: string): string {
  const [whole = "0", fraction] = readableAmount(amount, currency).split(".");
  const digits = fraction === undefined ? "" : `.${fraction}`;
  const sign = signs[currency];
  if (sign === undefined) return `${grouped(whole)}${digits} ${currency}`;
  const minus = whole.startsWith("-") ? "−" : "";
  return `${minus}${sign}${grouped(whole.replace("-", ""))}${digits}`;
}

function grouped(whole: string): string {
  const value = Number(whole);
  return Number.isSafeInteger(value) ? number(value) : whole;
}

/** What a job has cost in one currency. A part without information is empty. */
export function wordsOfCost({ currency, total, own, children, cap, reserved }: JobCost): {
  readonly spent: string;
  /** What it may spend. */
  readonly bound: string;
  /** `, $0.50 set aside`. */
  readonly aside: string;
  /** `, including $0.25 of delegated jobs`. */
  readonly parts: string;
} {
  const money = (amount: string): string => moneyOf(amount, currency);
  const isSome = (amount: string | undefined): amount is string => Number(amount ?? 0) > 0;
  const delegated = isSome(own)
    ? `including ${money(children ?? "0")} of delegated jobs`
    : "all of it by delegated jobs";
  return {
    spent: money(total),
    bound: cap === undefined ? "" : money(cap),
    aside: isSome(reserved) ? `, ${money(reserved)} set aside` : "",
    parts: isSome(children) ? `, ${delegated}` : "",
  };
}

export function shareOf(part: string, whole: string): number {
  const [of, all] = [Number(part), Number(whole)];
  return all > 0 ? of / all : of > 0 ? 1 : 0;
}

export function shareOfProgress({ current, total }: JobProgress): number | undefined {
  return total !== undefined && total > 0 ? Math.min(1, Math.max(0, current / total)) : undefined;
}

/** `3 of 10 pages`, `40 %`. */
export function wordsOfProgress({ current, total, units = "" }: JobProgress): string {
  const plain = (value: number): string => number(Math.round(value * 100) / 100);
  const what = units === "" || units === "percent" || units === "%" ? "" : ` ${units}`;
  if (units === "percent" || units === "%") return `${plain(current)} %`;
  return total === undefined
    ? `${plain(current)}${what}`
    : `${plain(current)} of ${plain(total)}${what}`;
}

/** Why nobody works on it yet, where its agent is named beside it; nothing, if somebody does. */
export function whyItWaits({ waiting }: JobInfo): string {
  if (!waiting) return "";
  const { workers } = waiting;
  if (workers === 0) return "none is connected";
  return workers === 1 ? "the only one is busy" : `all ${number(workers)} are busy`;
}

export type JobEntry = Entry & WorkEntry;

export function isJobEntry(entry: Entry): entry is JobEntry {
  return entry.type.startsWith("job.") && "id" in entry;
}

/** One line of what happened in a job. What belongs together is one line: a call and its result, pieces, progress. */
export type Line = {
  /** Of the entry that began it: stays the same while more is added. */
  readonly key: number;
  readonly atMs: number;
} & (
  | { readonly kind: "lifecycle"; readonly entry: JobEntry }
  | { readonly kind: "log"; readonly level: string; readonly text: string; readonly more: unknown }
  | { readonly kind: "thought"; readonly text: string }
  | { readonly kind: "status"; readonly phase: string; readonly text: string }
  | { readonly kind: "progress"; readonly progress: JobProgress; readonly times: number }
  | { readonly kind: "metric"; readonly name: string; readonly text: string }
  | {
      readonly kind: "tool";
      readonly tool: string;
      readonly args: unknown;
      /** Absent while it is under way. */
      readonly result?: ToolResult;
    }
  | { readonly kind: "delegate"; readonly agent: string; readonly childId: string }
  | { readonly kind: "question"; readonly word: string; readonly text: string }
  | { readonly kind: "problem"; readonly text: string; readonly code: string }
  /** Text of an answer that is being written. */
  | { readonly kind: "writing"; readonly text: string }
  | {
      readonly kind: "artifact";
      readonly name: string;
      readonly uri: string;
      readonly type: string;
      readonly bytes?: number;
    }
  | {
      readonly kind: "chunks";
      readonly count: number;
      readonly bytes: number;
      readonly isOver: boolean;
      readonly end: string;
    }
  | { readonly kind: "other"; readonly name: string; readonly body: unknown }
);

export type ToolResult = {
  readonly atMs: number;
  readonly value: unknown;
  readonly error?: { readonly code: string; readonly message: string };
};

/** Entries newest first become lines newest first. */
export function linesOf(entries: readonly JobEntry[]): readonly Line[] {
  const lines: Line[] = [];
  /** Where the call of that name stands. */
  const calls = new Map<string, number>();
  for (const entry of entries.toReversed()) {
    const line = lineOf(entry);
    const last = lines.at(-1);
    const body = fieldsOf(entry.body);
    if (line.kind === "progress" && last?.kind === "progress") {
      lines[lines.length - 1] = { ...line, key: last.key, times: last.times + 1 };
    } else if (line.kind === "writing" && last?.kind === "writing") {
      lines[lines.length - 1] = { ...last, text: last.text + line.text };
    } else if (line.kind === "status" && last?.kind === "question" && line.text === last.text) {
      // The question already says that the job waits.
    } else if (line.kind === "chunks" && last?.kind === "chunks") {
      lines[lines.length - 1] = {
        ...line,
        key: last.key,
        count: last.count + 1,
        bytes: last.bytes + line.bytes,
      };
    } else if (entry.kind === "tool_result") {
      const at = calls.get(callIdOf(body));
      const call = at === undefined ? undefined : lines[at];
      const result = resultOf(entry, body);
      if (at !== undefined && call?.kind === "tool") lines[at] = { ...call, result };
      else lines.push({ ...line, kind: "tool", tool: callIdOf(body), args: undefined, result });
    } else {
      if (entry.kind === "tool_call") calls.set(callIdOf(body), lines.length);
      // What was refused to be delegated is told as the result of a tool.
      if (line.kind === "delegate") calls.set(textOf(body["delegate_id"]), lines.length);
      lines.push(line);
    }
  }
  return lines.reverse();
}

function lineOf(entry: JobEntry): Line {
  const at = { key: entry.sequence, atMs: entry.atMs };
  if (entry.type !== "job.emitted") return { ...at, kind: "lifecycle", entry };
  const body = fieldsOf(entry.body);
  switch (entry.kind) {
    case "log":
      return {
        ...at,
        kind: "log",
        level: textOf(body["level"]).toLowerCase(),
        text: textOf(body["message"]),
        more: body["attributes"],
      };
    case "thought":
      return { ...at, kind: "thought", text: textOf(body["text"]) };
    case "status":
      return { ...at, kind: "status", phase: textOf(body["phase"]), text: textOf(body["message"]) };
    case "progress":
      return { ...at, kind: "progress", progress: progressOf(body), times: 1 };
    case "metric":
      return metricLine(at, entry, body);
    case "tool_call":
    case "tool_result":
      return { ...at, kind: "tool", tool: textOf(body["tool"]), args: body["args"] };
    case "delegate": {
      const childId = textOf(body["child_job_id"]);
      return { ...at, kind: "delegate", agent: textOf(body["agent"]), childId };
    }
    case "artifact":
    case "artifact_ref": {
      const size = body["size_bytes"] ?? body["byte_size"];
      return {
        ...at,
        kind: "artifact",
        name: textOf(body["name"]),
        uri: textOf(body["uri"]),
        type: textOf(body["mime_type"]) || textOf(body["content_type"]),
        ...(typeof size === "number" && { bytes: size }),
      };
    }
    case "error":
      return { ...at, kind: "problem", text: textOf(body["message"]), code: textOf(body["code"]) };
    case "text_delta":
      return { ...at, kind: "writing", text: textOf(body["text"]) };
    case "question":
      return { ...at, kind: "question", word: "asks", text: textOf(body["prompt"]) };
    case "scope_request":
      return { ...at, kind: "question", word: "asks for access", text: textOf(body["reason"]) };
    case "question_closed": {
      const by = textOf(body["by"]);
      const outcome = textOf(body["outcome"]).replaceAll("_", " ");
      const [word, text] = by === "" ? ["no answer", outcome] : ["answered by", by];
      return { ...at, kind: "question", word, text };
    }
    case "result_chunk": {
      const isOver = body["more"] !== true;
      const end = textOfChunk(body);
      return { ...at, kind: "chunks", count: 1, bytes: bytesOfChunk(body), isOver, end };
    }
    default:
      return { ...at, kind: "other", name: entry.kind ?? entry.type, body: entry.body };
  }
}

function metricLine(at: Pick<Line, "key" | "atMs">, { spent }: JobEntry, body: Fields): Line {
  const value = body["value"];
  const unit = textOf(body["unit"]);
  const [currency = "", amount = ""] = spent?.split(":") ?? [];
  const plain = typeof value === "number" ? number(value) : String(value);
  const name = textOf(body["name"]);
  const left = name === "cost.budget.remaining" ? moneyOf(String(value), unit) : undefined;
  const cost = spent === undefined ? left : moneyOf(amount, currency);
  return { ...at, kind: "metric", name, text: cost ?? `${plain} ${unit}`.trim() };
}

function resultOf(entry: JobEntry, body: Fields): ToolResult {
  const { atMs } = entry;
  const error = body["error"];
  if (error === undefined || error === null) {
    return { atMs, value: body["result"] ?? null };
  }
  const { code, message } = fieldsOf(error);
  return { atMs, value: null, error: { code: textOf(code), message: textOf(message) } };
}

function progressOf(body: Fields): JobProgress {
  const { current, total } = body;
  const [units, message] = [textOf(body["units"]), textOf(body["message"])];
  return {
    current: typeof current === "number" ? current : 0,
    ...(typeof total === "number" && { total }),
    ...(units !== "" && { units }),
    ...(message !== "" && { message }),
  };
}

/** A piece of a result as text; bytes that are none are shown as they came. */
export function textOfChunk(body: unknown): string {
  const { data, encoding } = fieldsOf(body);
  const text = textOf(data);
  if (encoding !== "base64") return text;
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return text;
  }
}

function bytesOfChunk({ data, encoding }: Fields): number {
  const text = textOf(data);
  // Four characters stand for three bytes, but for what fills up the last four.
  if (encoding === "base64") return Math.floor((text.replace(/=+$/, "").length * 3) / 4);
  return new TextEncoder().encode(text).length;
}

function callIdOf(body: Fields): string {
  return textOf(body["call_id"]);
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A value on one line, as short as it can be said. */
export function inline(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
