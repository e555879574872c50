/**
 * The fields of a JSON object, asked for one by one. Whatever is not as asked is noted, the first thing
 * only, by its path and what it should have been; nothing of what was there is repeated. Reading goes on
 * with a stand-in, so that a reader is a straight line and the verdict comes at its end (`done`).
 * A `null` is the same as nothing (ARCP-7), and fields that nobody asks for are nobody's business (ARCP-8).
 */
import { isInteger, isObject, type JsonObject, type Problem, problemAt } from "../work/json.ts";
import { limits } from "./limits.ts";
import { readTimestamp } from "./timestamps.ts";

export {
  isDeeper,
  isInteger,
  isObject,
  isTooDeep,
  type JsonObject,
  type Problem,
  problemAt,
} from "../work/json.ts";

export type Read<Value> =
  | { readonly value: Value; readonly problem?: never }
  | { readonly problem: Problem; readonly value?: never };

type Length = { readonly max?: number };
type Range = { readonly min: number };

export class Fields {
  readonly #object: JsonObject;
  readonly #path: string;
  readonly #found: { problem?: Problem };

  constructor(object: JsonObject, path: string, found: { problem?: Problem } = {}) {
    this.#object = object;
    this.#path = path;
    this.#found = found;
  }

  done<Value>(value: Value): Read<Value> {
    const { problem } = this.#found;
    return problem ? { problem } : { value };
  }

  note(name: string, expectation: string): void {
    this.#found.problem ??= problemAt(this.#pathOf(name), expectation);
  }

  has(name: string): boolean {
    return this.any(name) !== undefined;
  }

  /** Whatever is there; `null` is nothing. */
  any(name: string): unknown {
    return this.#object[name] ?? undefined;
  }

  text(name: string, length: Length = {}): string {
    return this.optionalText(name, length) ?? this.#missing(name, textOf(length), "");
  }

  /** A text that is there has at least one character. */
  optionalText(name: string, length: Length = {}): string | undefined {
    const value = this.any(name);
    if (value === undefined) return undefined;
    if (typeof value === "string" && value !== "" && value.length <= maxOf(length)) return value;
    this.note(name, textOf(length));
    return undefined;
  }

  /** What is said to people: may be empty, and is cut where it is too long. */
  words(name: string): string | undefined {
    const value = this.any(name);
    if (value === undefined) return undefined;
    if (typeof value === "string") return cutWords(value);
    this.note(name, "a text");
    return undefined;
  }

  integer(name: string, range: Range): number {
    return this.optionalInteger(name, range) ?? this.#missing(name, integerOf(range), range.min);
  }

  optionalInteger(name: string, { min }: Range): number | undefined {
    const value = this.any(name);
    if (value === undefined) return undefined;
    if (isInteger(value) && value >= min) return value;
    this.note(name, integerOf({ min }));
    return undefined;
  }

  flag(name: string): boolean | undefined {
    const value = this.any(name);
    if (value === undefined || typeof value === "boolean") return value;
    this.note(name, "true or false");
    return undefined;
  }

  texts(name: string): readonly string[] | undefined {
    const value = this.any(name);
    if (value === undefined) return undefined;
    if (isTexts(value)) return value;
    this.note(name, `a list of at most ${limits.listLengthMax} short texts`);
    return undefined;
  }

  /** Fields of an object inside; without it, none, and that is noted. */
  inside(name: string): Fields {
    return this.optionalInside(name) ?? this.#missing(name, "an object", this.#at(name, {}));
  }

  optionalInside(name: string): Fields | undefined {
    const value = this.object(name);
    return value && this.#at(name, value);
  }

  /** What one of several objects inside is read as, by its own path. */
  within<Value>(name: string, object: JsonObject, read: (fields: Fields) => Value): Value {
    return read(this.#at(name, object));
  }

  object(name: string): JsonObject | undefined {
    const value = this.any(name);
    if (value === undefined || isObject(value)) return value;
    this.note(name, "an object");
    return undefined;
  }

  /** Milliseconds since 1970, where the time matters. */
  time(name: string): number | undefined {
    const value = this.any(name);
    if (value === undefined) return undefined;
    const atMs = typeof value === "string" ? readTimestamp(value) : undefined;
    if (atMs === undefined) this.note(name, "a time such as 2026-05-13T19:42:13.020Z");
    return atMs;
  }

  /** Where the time only informs, a wrong one is no reason to refuse a message (ARCP-4). */
  timeIfReadable(name: string): number | undefined {
    const value = this.any(name);
    return typeof value === "string" ? readTimestamp(value) : undefined;
  }

  #at(name: string, object: JsonObject): Fields {
    return new Fields(object, this.#pathOf(name), this.#found);
  }

  #pathOf(name: string): string {
    return `${this.#path}.${name}`;
  }

  #missing<Value>(name: string, expectation: string, standIn: Value): Value {
    this.note(name, expectation);
    return standIn;
  }
}

export function cutWords(text: string): string {
  return text.length <= limits.wordsLengthMax ? text : text.slice(0, limits.wordsLengthMax);
}

function isTexts(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.length <= limits.listLengthMax &&
    value.every((each) => typeof each === "string" && each.length <= limits.nameLengthMax)
  );
}

function maxOf({ max = limits.nameLengthMax }: Length): number {
  return max;
}

function textOf(length: Length): string {
  return `a text of 1 to ${maxOf(length)} characters`;
}

function integerOf({ min }: Range): string {
  return `an integer, ${min} or more`;
}
