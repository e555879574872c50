/**
 * What a job says, as people read it: a line for each thing that stays, and one line of how it stands just now. A tool
 * call and its result are one line. Knows no terminal: what is done with the lines is for who prints them.
 */
import { printable, printableLines, type Tone } from "../terminal/index.ts";
import { promptText } from "../wire/api/index.ts";
import { type BodyView, decodedBytes, isObject, type JsonObject } from "../wire/arcp/index.ts";
import { limits } from "./limits.ts";
import { answerWordOf } from "./question-words.ts";
import { bytesOf, forHowLong } from "./times.ts";

export type StoryEvent = {
  readonly kind: string;
  readonly body: unknown;
  /** Undefined for kinds that only their vendor knows. */
  readonly view: BodyView | undefined;
  readonly atMs: number;
};

export type Line = {
  readonly text: string;
  readonly tone: Tone | undefined;
  /** Of what fits on one line and need not be whole: what stands at its end and is. */
  readonly tail?: string;
  /** Only how it stood at that moment: where it is shown as it stands, this is left out. */
  readonly isPassing?: true;
};

export type Standing = {
  readonly progress: { readonly current: number; readonly total: number | undefined } | undefined;
  /** `42 of 100 pages`. */
  readonly amount: string;
  /** What it does, in its own words. */
  readonly doing: string;
};

type Call = { readonly text: string; readonly atMs: number };

export class JobStory {
  readonly #calls = new Map<string, Call>();
  #progress: (BodyView & { readonly kind: "progress" }) | undefined;
  #doing = "";
  #bytes = 0;
  /** The last, incomplete line of a text that the job is writing. */
  #written = "";
  #firstAtMs: number | undefined;
  #lastAtMs: number | undefined;

  /** From its first word to its last. */
  get elapsedMs(): number {
    return (this.#lastAtMs ?? 0) - (this.#firstAtMs ?? 0);
  }

  get startedAtMs(): number | undefined {
    return this.#firstAtMs;
  }

  take(event: StoryEvent): readonly Line[] {
    this.#firstAtMs ??= event.atMs;
    this.#lastAtMs = event.atMs;
    const { view, kind, body } = event;
    if (kind === textDelta && isObject(body)) return this.#takeText(textIn(body, "text"));
    return [...this.#endText(), ...(view ? this.#takeView(view, event) : [ownLine(kind, body)])];
  }

  #takeView(view: BodyView, { body, atMs }: StoryEvent): readonly Line[] {
    switch (view.kind) {
      case "log":
        return [logLine(view)];
      case "thought":
        return [beside(`thought ${words(view.text)}`)];
      case "status":
        return this.#takeStatus(view);
      case "progress":
        return this.#takeProgress(view);
      case "metric":
        return metricLines(view);
      case "tool_call": {
        const args = view.args === undefined ? "" : ` ${short(view.args)}`;
        const text = `${printable(view.tool)}${args}`;
        this.#calls.set(view.callId, { text, atMs });
        return [];
      }
      case "tool_result":
        return [this.#takeResult(view, atMs)];
      case "artifact_ref": {
        const { uri, contentType, byteSize } = view;
        const size = byteSize === undefined ? "" : bytesOf(byteSize);
        const name = isObject(body) ? textIn(body, "name") : "";
        const facts = [name, uri, contentType ?? "", size].map(printable);
        return [{ text: `▤ ${facts.filter(Boolean).join("  ")}`, tone: undefined }];
      }
      case "delegate": {
        const id = view.childJobId === undefined ? "" : `  ${printable(view.childJobId)}`;
        return [{ text: `↪ ${printable(view.agent)}${id}`, tone: undefined }];
      }
      case "result_chunk":
        this.#bytes += decodedBytes(view.data, view.encoding) ?? 0;
        this.#doing = `${bytesOf(this.#bytes)} of its result`;
        return [];
    }
  }

  /** Calls that never came back. */
  end(): readonly Line[] {
    const lines = [...this.#calls.values()].map(({ text }) => beside(`… ${text}`));
    this.#calls.clear();
    return [...this.#endText(), ...lines];
  }

  get standing(): Standing {
    const { current, total } = this.#progress ?? {};
    const call = [...this.#calls.values()].at(-1);
    return {
      progress: current === undefined ? undefined : { current, total },
      amount: amountOf(this.#progress),
      doing: call?.text ?? this.#doing,
    };
  }

  /** Returns the complete lines of the text. The incomplete last line is shown as what the job is doing. */
  #takeText(text: string): readonly Line[] {
    const whole = (this.#written + text).split("\n");
    this.#written = whole.pop() ?? "";
    const isLong = this.#written.length > limits.writtenLengthMax;
    const ended = isLong ? this.#endText() : [];
    this.#doing = printable(this.#written).slice(-shortCells);
    return [...whole.map(writtenLine), ...ended];
  }

  #endText(): readonly Line[] {
    const text = this.#written;
    this.#written = "";
    return text === "" ? [] : [writtenLine(text)];
  }

  #takeStatus({ phase, message }: BodyView & { readonly kind: "status" }): readonly Line[] {
    // That it runs is said by everything else.
    if (phase === "running" && message === undefined) {
      this.#doing = "";
      return [];
    }
    // The event of the question itself prints what the job asks.
    if (phase === "input_required" || phase === "auth_required") {
      this.#doing = `asks: ${words(message ?? "")}`;
      return [];
    }
    const text = [phase, ...(message === undefined ? [] : [message])].map(words).join(" · ");
    this.#doing = text;
    return [beside(`status  ${text}`)];
  }

  #takeProgress(view: BodyView & { readonly kind: "progress" }): readonly Line[] {
    this.#progress = view;
    if (view.message !== undefined) this.#doing = words(view.message);
    const message = view.message === undefined ? "" : ` · ${words(view.message)}`;
    return [{ ...beside(`progress ${amountOf(view)}${message}`), isPassing: true }];
  }

  #takeResult(view: BodyView & { readonly kind: "tool_result" }, atMs: number): Line {
    const { callId, error, result } = view;
    const call = this.#calls.get(callId);
    this.#calls.delete(callId);
    const text = call?.text ?? printable(callId);
    const took = call ? ` · ${duration(atMs - call.atMs)}` : "";
    if (error) {
      return {
        text: `✗ ${text}: ${printable(error.code)} ${words(error.message)}${took}`,
        tone: "bad",
      };
    }
    const answer = result === null ? "" : ` → ${short(result)}`;
    return { text: `✓ ${text}${answer}`, tone: undefined, tail: took };
  }
}

/** An error that does not end the job is printed as a log line with its code. */
function logLine({ level, message, attributes }: BodyView & { readonly kind: "log" }): Line {
  const code = level === "error" ? textIn(attributes ?? {}, "code") : "";
  const more = code === "" ? "" : ` (${printable(code)})`;
  return { text: `${level.padEnd(7)} ${words(message)}${more}`, tone: tones[level] };
}

/** The total cost of the job is printed elsewhere. */
function metricLines(view: BodyView & { readonly kind: "metric" }): readonly Line[] {
  const { name, value, unit } = view;
  if (name === "cost.budget.remaining" && unit !== undefined) return [];
  const line = beside(`metric  ${printable(name)} ${value}${unit ? ` ${printable(unit)}` : ""}`);
  const isCost = name.startsWith("cost.") && unit !== undefined;
  return [isCost ? { ...line, isPassing: true } : line];
}

/** The prefix of event kinds that ARCP does not define. */
const ownPrefix = "x-vendor.runctx.";
const textDelta = `${ownPrefix}text_delta`;

/** The line for an event that ARCP does not define: our own kinds in words, those of other vendors as JSON. */
function ownLine(kind: string, body: unknown): Line {
  const other = beside(`${printable(kind)} ${short(body)}`);
  if (!isObject(body)) return other;
  switch (kind) {
    case `${ownPrefix}question`: {
      const choices = listIn(body, "choices");
      const said = words(textIn(body, "prompt"));
      const beside = choices.length === 0 ? "" : ` (${printable(choices.join(" | "))})`;
      const wanted = { ...(choices.length > 0 && { choices }), schema: body["schema"] };
      const hint = answerHint(textIn(body, "question_id"), { kind: "input", ...wanted });
      return { text: `? asks: ${said}${beside}${hint}`, tone: "warn" };
    }
    case `${ownPrefix}scope_request`: {
      const writePrefix = textIn(body, "write_prefix");
      const scope = {
        read: listIn(body, "read_patterns"),
        ...(writePrefix === "" ? {} : { writePrefix }),
      };
      const said = words(promptText({ prompt: textIn(body, "reason"), scope }));
      const hint = answerHint(textIn(body, "request_id"), { kind: "scope" });
      return { text: `? ${said}${hint}`, tone: "warn" };
    }
    case `${ownPrefix}question_closed`: {
      const by = textIn(body, "by");
      const outcome = textIn(body, "outcome").replaceAll("_", " ");
      return beside(
        by === "" ? `? no answer: ${printable(outcome)}` : `? answered by ${printable(by)}`,
      );
    }
    default:
      return other;
  }
}

function answerHint(questionId: string, expected: Parameters<typeof answerWordOf>[0]): string {
  const id = printable(questionId.slice(-limits.shortIdLength));
  return `  tipstaff answer ${id} <${answerWordOf(expected)}>`;
}

function textIn(body: JsonObject, name: string): string {
  const value = body[name];
  return typeof value === "string" ? value : "";
}

function listIn(body: JsonObject, name: string): readonly string[] {
  const value = body[name];
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

function writtenLine(text: string): Line {
  return { text: `│ ${printable(text)}`, tone: undefined };
}

const tones: Readonly<Record<string, Tone>> = {
  trace: "dim",
  debug: "dim",
  info: "dim",
  warn: "warn",
  error: "bad",
  critical: "bad",
};

function beside(text: string): Line {
  return { text, tone: "dim" };
}

/** Lines stay lines, under the first. */
function words(text: string): string {
  return printableLines(text.trimEnd()).replaceAll("\n", "\n          ");
}

const shortCells = 60;

/** JSON in few words: what matters of a tool call fits on a line. */
function short(value: unknown): string {
  const text = printable(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
  return text.length <= shortCells ? text : `${text.slice(0, shortCells - 1)}…`;
}

function amountOf(progress: (BodyView & { readonly kind: "progress" }) | undefined): string {
  if (!progress) return "";
  const { current, total, units } = progress;
  const what = units === undefined ? "" : ` ${printable(units)}`;
  return `${rounded(current)}${total === undefined ? "" : ` of ${rounded(total)}`}${what}`;
}

function rounded(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** `340 ms`, `1.2 s`, `3 min`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  return ms < 20_000 ? `${(ms / 1_000).toFixed(1)} s` : forHowLong(ms);
}
