/**
 * Text in cells of a terminal, cut and wrapped to fit. Most texts are plain, with one cell for each
 * character: those are cut by counting, because for ten thousand rows looking at every letter takes longer
 * than all the rest.
 */
import { fit, widthOf } from "../terminal/index.ts";
import { limits } from "./limits.ts";

/** Text that is safe to print, and how many cells it takes. */
export type Cell = { readonly text: string; readonly cells: number };

/** A line of a task: the mark before it, and what it says. */
export type Line = { readonly mark: Cell; readonly body: Cell };

const plain = /^[\x20-\x7e]*$/;

export const empty: Cell = { text: "", cells: 0 };

export function cellOf(text: string): Cell {
  return { text, cells: widthOf(text) };
}

/** Its beginning. */
export function shorten(cell: Cell, room: number): Cell {
  const { text, cells } = cell;
  if (cells <= room) return cell;
  if (plain.test(text)) return { text: `${text.slice(0, room - 1)}…`, cells: room };
  return cellOf(fit(text, room));
}

/** Of an id the beginning and the end, which tell more than its middle. */
export function elide(cell: Cell, room: number): Cell {
  const { text, cells } = cell;
  if (cells <= room) return cell;
  const tailCells = Math.max(0, Math.floor((room - 1) / 2));
  if (plain.test(text)) {
    const tail = text.slice(text.length - tailCells);
    return { text: `${text.slice(0, room - 1 - tailCells)}…${tail}`, cells: room };
  }
  const characters = [...text];
  let tail = "";
  while (characters.length > 0) {
    const longer = (characters.pop() ?? "") + tail;
    if (widthOf(longer) > tailCells) break;
    tail = longer;
  }
  // A mark that lost its letter would sit on the ellipsis.
  const end = tail.replace(/^[\p{M}\u200d]+/u, "");
  return cellOf(fit(text, room - widthOf(end)) + end);
}

/** At blanks if it can; what goes on stands below where it began. */
export function wrap({ mark, body }: Line, room: number): readonly Line[] {
  const indent = Math.min(mark.cells, Math.floor(room / 3));
  const below = { text: " ".repeat(indent), cells: indent };
  const rooms = { first: room - mark.cells, rest: room - indent };
  const pieces = plain.test(body.text) ? cutPlain(body.text, rooms) : cutWide(body.text, rooms);
  return pieces.map((piece, index) => ({
    mark: index === 0 ? mark : below,
    body: cellOf(piece),
  }));
}

type Rooms = { readonly first: number; readonly rest: number };

/** So many pieces can be told to be too many. */
const piecesMax = limits.taskLinesMax + 1;

export function cutPlain(text: string, { first, rest }: Rooms): readonly string[] {
  const pieces: string[] = [];
  let start = 0;
  let room = first;
  while (text.length - start > room && pieces.length < piecesMax) {
    const blank = text.lastIndexOf(" ", start + room);
    const isWhole = blank > start;
    const end = isWhole ? blank : start + room;
    pieces.push(text.slice(start, end));
    start = isWhole ? end + 1 : end;
    room = rest;
  }
  return [...pieces, text.slice(start)];
}

export function cutWide(text: string, { first, rest }: Rooms): readonly string[] {
  const pieces: string[] = [];
  let piece = "";
  let width = 0;
  let room = first;
  const turn = (): void => {
    pieces.push(piece);
    piece = "";
    width = 0;
    room = rest;
  };
  for (const word of text.split(" ")) {
    if (pieces.length >= piecesMax) break;
    // With the blank before it, which a mark without a letter would widen.
    const own = widthOf(` ${word}`) - 1;
    if (piece !== "" && width + 1 + own > room) turn();
    if (piece !== "") {
      piece += " ";
      width += 1;
    }
    if (width + own <= room) {
      piece += word;
      width += own;
      continue;
    }
    // It has a line to itself and does not fit: it is cut where it must be.
    for (const character of word) {
      // What asks for the wide form of the character before it takes the cell that one lacked.
      const cells = character === "\ufe0f" ? 1 : widthOf(character);
      if (width + cells > room) turn();
      piece += character;
      width += cells;
    }
  }
  return [...pieces, piece];
}
