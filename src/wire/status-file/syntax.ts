/**
 * Where a text stops being JSON. Engines quote what they could not read, and a file that is a link to a
 * secret would come out in a warning: we name the place and what was expected there, and nothing else.
 * Only called when `JSON.parse` has refused; what it accepts and what this accepts is the same.
 */
import { limits } from "./limits.ts";

export type SyntaxProblem =
  | { readonly expected: string; readonly offset: number; readonly isTooDeep?: never }
  | { readonly isTooDeep: true };

/** Undefined if there is nothing wrong with it. */
export function findSyntaxProblem(text: string): SyntaxProblem | undefined {
  const scan = new Scan(text);
  try {
    scan.document();
    return undefined;
  } catch (cause) {
    if (cause instanceof Stop) return cause.problem;
    throw cause;
  }
}

/** `<what>: line <L> column <C> (char <offset>)`, in code points; lines and columns count from 1. */
export function printPlace(what: string, text: string, offset: number): string {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  const line = before.split("\n").length;
  const column = codePoints(before.slice(lineStart)) + 1;
  return `${what}: line ${line} column ${column} (char ${codePoints(before)})`;
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

class Stop extends Error {
  readonly problem: SyntaxProblem;

  constructor(problem: SyntaxProblem) {
    super("not JSON");
    this.problem = problem;
  }
}

const blanks = /[ \t\n\r]*/y;
const numbers = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const words = /true|false|null/y;
/** Everything up to a quote, a backslash or a raw control character. */
const inString = /[^"\\\u0000-\u001f]*/y;
const escapes = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** One pass, one step for each sort of value. A step that cannot go on throws where it stands. */
class Scan {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): void {
    if (this.#text.startsWith("\ufeff")) this.#stop("unexpected byte order mark");
    this.#value();
    if (this.#at < this.#text.length) this.#stop("unexpected text after the value");
  }

  /** With the blanks around it. */
  #value(): void {
    this.#skip(blanks);
    const first = this.#text[this.#at];
    if (first === "{") this.#object();
    else if (first === "[") this.#array();
    else if (first === '"') this.#string();
    else if (!this.#skip(numbers) && !this.#skip(words)) this.#stop("expected a value");
    this.#skip(blanks);
  }

  #object(): void {
    this.#enter();
    this.#skip(blanks);
    if (!this.#take("}")) {
      do {
        this.#skip(blanks);
        if (this.#text[this.#at] !== '"') this.#stop("expected a name in double quotes");
        this.#string();
        this.#skip(blanks);
        if (!this.#take(":")) this.#stop("expected a colon");
        this.#value();
      } while (this.#take(","));
      if (!this.#take("}")) this.#stop("expected a comma or a closing brace");
    }
    this.#depth--;
  }

  #array(): void {
    this.#enter();
    this.#skip(blanks);
    if (!this.#take("]")) {
      do {
        this.#value();
      } while (this.#take(","));
      if (!this.#take("]")) this.#stop("expected a comma or a closing bracket");
    }
    this.#depth--;
  }

  #string(): void {
    const start = this.#at;
    this.#at++;
    for (;;) {
      this.#skip(inString);
      if (this.#take('"')) return;
      if (this.#at === this.#text.length) this.#stop("string without an end", start);
      if (this.#text[this.#at] !== "\\") this.#stop("control character in a string");
      if (!this.#skip(escapes)) this.#stop("unknown escape in a string");
    }
  }

  #enter(): void {
    this.#at++;
    if (++this.#depth > limits.depthMax) throw new Stop({ isTooDeep: true });
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }

  #stop(expected: string, offset: number = this.#at): never {
    throw new Stop({ expected, offset });
  }
}
