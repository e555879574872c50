export { begin, type Colour, colourOf, end, paint, type Tone } from "./colours.ts";
export { repaint } from "./frame.ts";
export { FullScreen, type FullScreenOptions, hasFullScreen, type Size } from "./full-screen.ts";
export { helpColumns, inTwoColumns, wrapWords } from "./help-text.ts";
export { type Key, keyNames } from "./keys.ts";
export { print, type Screen, say, screen } from "./output.ts";
export {
  fit,
  fitEnd,
  jsonOf,
  pad,
  printable,
  printableLines,
  widthOf,
} from "./text.ts";
