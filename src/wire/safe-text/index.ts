export { printable, unsafe } from "./safe-text.ts";
