/** What another executable of this package shares with the command line: how text gets to a terminal. */
export { print, say } from "./terminal.ts";
export { fit, jsonOf, printable, widthOf } from "./text.ts";
export { version } from "./version.ts";
