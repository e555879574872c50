export { emittersDirectory } from "./writer/places.ts";
export { openWriter, runWriter, type WriterOptions } from "./writer/writer.ts";
