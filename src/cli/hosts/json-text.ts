/**
 * JSON that people write, changed without being written anew: what is put in is put between what is there,
 * in its style, and comments, blanks, line ends and order stay. Comments and a comma too many are understood.
 * Of names that are there twice the last counts, as it does for who reads the file.
 */
import jsonc from "jsonc-parser";
import { limits } from "../limits.ts";

export type Path = readonly (string | number)[];

/** Why a text cannot be changed. The message says where, and nothing of what is in it. */
export class JsonTextError extends Error {
  override readonly name = "JsonTextError";
}

const byteOrderMark = "\ufeff";

export class JsonText {
  /** Without the mark that some editors put before everything. */
  readonly #text: string;
  readonly #mark: string;
  readonly #root: jsonc.Node | undefined;

  /** Throws a `JsonTextError`. An empty text has no value, and that is no mistake. */
  constructor(text: string) {
    this.#mark = text.startsWith(byteOrderMark) ? byteOrderMark : "";
    this.#text = text.slice(this.#mark.length);
    checkDepth(this.#text);
    const errors: jsonc.ParseError[] = [];
    this.#root = jsonc.parseTree(this.#text, errors, {
      allowTrailingComma: true,
      allowEmptyContent: true,
    });
    const [first] = errors;
    if (first) throw new JsonTextError(`is not valid JSON: ${placeOf(this.#text, first.offset)}`);
  }

  get text(): string {
    return this.#mark + this.#text;
  }

  /** Undefined if nothing is there. */
  valueAt(path: Path): unknown {
    const node = this.#nodeAt(path);
    return node && jsonc.getNodeValue(node);
  }

  /** At the end of the list at that path. What is missing on the way there is made. */
  append(path: Path, value: unknown): JsonText {
    const known = path.findLastIndex((_, index) => this.#nodeAt(path.slice(0, index + 1))) + 1;
    const node = this.#nodeAt(path.slice(0, known));
    const [key, ...rest] = path.slice(known);
    const whole = rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), [value]);
    if (!node)
      return this.#write(
        `${pretty(key === undefined ? [value] : { [key]: whole }, this.#style())}\n`,
      );
    if (key === undefined) {
      if (node.type !== "array") throw wrong(path, "a list");
      return this.#insert(node, undefined, value);
    }
    if (node.type !== "object") throw wrong(path.slice(0, known), "an object");
    return this.#insert(node, String(key), whole);
  }

  /** Without what is at that path; the same if nothing is. */
  remove(path: Path): JsonText {
    const found = this.#nodeAt(path);
    const child = found?.parent?.type === "property" ? found.parent : found;
    const container = child?.parent;
    if (!child || !container) return this;
    const siblings = container.children ?? [];
    const at = siblings.indexOf(child);
    const before = siblings[at - 1];
    const after = siblings[at + 1];
    if (before) return this.#cut(...this.#gapBefore(before, child));
    if (after) return this.#cut([child.offset, after.offset]);
    const inside = [container.offset + 1, endOf(container) - 1] as const;
    const left =
      this.#text.slice(inside[0], child.offset) + this.#text.slice(endOf(child), inside[1]);
    return this.#cut(/^[\s,]*$/.test(left) ? inside : [child.offset, endOf(child)]);
  }

  /**
   * Whether what is there may go: a list or an object with nothing in it, not even a comment, that hides no
   * other of its name.
   */
  isSpare(path: Path): boolean {
    const node = this.#nodeAt(path);
    if (!node || !/^(\[\s*\]|\{\s*\})$/.test(this.#text.slice(node.offset, endOf(node))))
      return false;
    const namesakes = node.parent?.parent?.children?.filter(
      (child) => child.type === "property" && nameOf(child) === path.at(-1),
    );
    return (namesakes ?? []).length <= 1;
  }

  #nodeAt(path: Path): jsonc.Node | undefined {
    return path.reduce<jsonc.Node | undefined>((node, step) => {
      if (typeof step === "number")
        return node?.type === "array" ? node.children?.[step] : undefined;
      if (node?.type !== "object") return undefined;
      return node.children?.findLast((child) => nameOf(child) === step)?.children?.[1];
    }, this.#root);
  }

  #insert(container: jsonc.Node, key: string | undefined, value: unknown): JsonText {
    const last = container.children?.at(-1);
    const style = this.#style();
    const name = key === undefined ? "" : `${JSON.stringify(key)}:${style.isFlat ? "" : " "}`;
    if (!last) {
      const outer = this.#indentAt(container.offset);
      const inner = outer + style.unit;
      const body = `${name}${pretty(value, style, inner)}`;
      const within = style.isFlat
        ? body
        : `${style.lineEnd}${inner}${body}${style.lineEnd}${outer}`;
      return this.#put([container.offset + 1, within]);
    }
    const { at, hasComma, isAfterComment } = this.#behind(last);
    const isInLine =
      !isAfterComment && !this.#text.slice(container.offset, last.offset).includes("\n");
    const gap = style.isFlat ? "" : " ";
    const indent = this.#indentAt(last.offset);
    const body = isInLine
      ? `${gap}${name}${pretty(value, { ...style, isFlat: true })}`
      : `${style.lineEnd}${indent}${name}${pretty(value, style, indent)}`;
    if (hasComma) return this.#put([at, body]);
    return at === endOf(last)
      ? this.#put([at, `,${body}`])
      : this.#put([endOf(last), ","], [at, body]);
  }

  /** Behind what belongs to the last child: a comma, and comments on its line. */
  #behind(last: jsonc.Node): { at: number; hasComma: boolean; isAfterComment: boolean } {
    const scanner = jsonc.createScanner(this.#text, false);
    scanner.setPosition(endOf(last));
    let at = endOf(last);
    let hasComma = false;
    let isAfterComment = false;
    for (;;) {
      const token = scanner.scan();
      const isComment =
        token === jsonc.SyntaxKind.LineCommentTrivia ||
        token === jsonc.SyntaxKind.BlockCommentTrivia;
      if (token === jsonc.SyntaxKind.CommaToken) hasComma = true;
      else if (isComment) isAfterComment = true;
      else if (token !== jsonc.SyntaxKind.Trivia) return { at, hasComma, isAfterComment };
      if (token !== jsonc.SyntaxKind.Trivia) at = scanner.getPosition();
    }
  }

  /** From one child to the end of the next, without the comments in between. */
  #gapBefore(before: jsonc.Node, child: jsonc.Node): readonly (readonly [number, number])[] {
    const scanner = jsonc.createScanner(this.#text, false);
    scanner.setPosition(endOf(before));
    const cuts: (readonly [number, number])[] = [];
    let from = endOf(before);
    while (scanner.getPosition() < child.offset) {
      const token = scanner.scan();
      if (token === jsonc.SyntaxKind.CommaToken) {
        cuts.push([scanner.getTokenOffset(), scanner.getPosition()]);
      } else if (
        token === jsonc.SyntaxKind.LineCommentTrivia ||
        token === jsonc.SyntaxKind.BlockCommentTrivia
      ) {
        from = scanner.getPosition();
      }
    }
    const isBare = from === endOf(before);
    return [...(isBare ? [] : cuts), [from, endOf(child)]];
  }

  #put(...insertions: readonly (readonly [at: number, text: string])[]): JsonText {
    const text = insertions.reduceRight(
      (whole, [at, part]) => whole.slice(0, at) + part + whole.slice(at),
      this.#text,
    );
    return this.#write(text);
  }

  #cut(...ranges: readonly (readonly [number, number])[]): JsonText {
    const text = ranges.reduceRight(
      (whole, [from, to]) => whole.slice(0, from) + whole.slice(to),
      this.#text,
    );
    return this.#write(text);
  }

  #write(text: string): JsonText {
    return new JsonText(this.#mark + text);
  }

  #style(): Style {
    const text = this.#text;
    const [, unit = "  "] = /\n([ \t]+)\S/.exec(text) ?? [];
    return {
      unit,
      lineEnd: text.includes("\r\n") ? "\r\n" : "\n",
      // One that is on one line stays there, unless there is nothing on it.
      isFlat: /[^\s{}]/.test(text) && !text.trim().includes("\n"),
    };
  }

  /** The blanks with which its line begins. */
  #indentAt(offset: number): string {
    const line = this.#text.slice(this.#text.lastIndexOf("\n", offset - 1) + 1, offset);
    return /^[ \t]*/.exec(line)?.[0] ?? "";
  }
}

type Style = { readonly unit: string; readonly lineEnd: string; readonly isFlat: boolean };

function pretty(value: unknown, { unit, lineEnd, isFlat }: Style, indent = ""): string {
  if (isFlat) return JSON.stringify(value);
  return JSON.stringify(value, null, unit).replaceAll("\n", `${lineEnd}${indent}`);
}

const opening = [jsonc.SyntaxKind.OpenBraceToken, jsonc.SyntaxKind.OpenBracketToken];
const closing = [jsonc.SyntaxKind.CloseBraceToken, jsonc.SyntaxKind.CloseBracketToken];

/** Before the text is parsed, which takes a call for each level. */
function checkDepth(text: string): void {
  const scanner = jsonc.createScanner(text, true);
  let depth = 0;
  for (let token = scanner.scan(); token !== jsonc.SyntaxKind.EOF; token = scanner.scan()) {
    if (opening.includes(token)) depth += 1;
    else if (closing.includes(token)) depth -= 1;
    if (depth <= limits.settingsDepthMax) continue;
    const place = placeOf(text, scanner.getTokenOffset());
    throw new JsonTextError(`is nested deeper than ${limits.settingsDepthMax} levels: ${place}`);
  }
}

function nameOf(property: jsonc.Node): unknown {
  return property.children?.[0]?.value;
}

function endOf({ offset, length }: jsonc.Node): number {
  return offset + length;
}

function wrong(path: Path, what: string): JsonTextError {
  return new JsonTextError(`has something other than ${what} at ${path.join(".") || "the top"}`);
}

function placeOf(text: string, offset: number): string {
  const lines = text.slice(0, offset).split("\n");
  return `line ${lines.length} column ${(lines.at(-1)?.length ?? 0) + 1}`;
}
