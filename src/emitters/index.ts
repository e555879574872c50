export { emittersDirectory } from "./writer/places.ts";
export {
  type DaemonWriterOptions,
  openWriter,
  runWriter,
  type WriterOptions,
} from "./writer/writer.ts";
