/**
 * What is sent to the terminal: only lines that are not there already. The escape sequences are those that
 * every terminal of the last decades shares, so that nothing needs to be looked up; the two newer ones are
 * ignored where they are not known.
 */
/**
 * Turns one screen into another; undefined is one of which nobody knows what is on it. A line leaves the last
 * column free: what follows it can then be erased after it was written, which does not flicker, and no
 * terminal has to decide whether it wraps.
 */
export function repaint(before: readonly string[] | undefined, after: readonly string[]): string {
  const changed = after.flatMap((line, index) =>
    line === before?.[index] ? [] : [`\x1b[${index + 1};1H${line}\x1b[K`],
  );
  const lines = before ? changed : [clearScreen, ...changed];
  return lines.length === 0 ? "" : `${beginFrame}${lines.join("")}${endFrame}`;
}

/** All of it, over what is there: nothing is cleared first, so that nothing flickers. */
export function paintOver(lines: readonly string[]): string {
  const text = lines.map((line) => `${line}\x1b[K`).join("\r\n");
  return `${beginFrame}\x1b[H${text}\x1b[J${endFrame}`;
}

/** Synchronised output: the terminal shows all of it at once. */
const beginFrame = "\x1b[?2026h";
const endFrame = "\x1b[?2026l";

const clearScreen = "\x1b[0m\x1b[H\x1b[2J";

/** Another screen beside the one people work on. Asked for twice, some forget where the cursor was. */
export const enterScreen = "\x1b[?1049h";
/** No cursor, and lines that never wrap. */
export const prepareScreen = "\x1b[?25l\x1b[?7l";
export const leaveScreen = "\x1b[?2026l\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
