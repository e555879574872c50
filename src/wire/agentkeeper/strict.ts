/**
 * Decoding as a protocol must: bytes that are not a message of the type, or text that is not UTF-8,
 * are refused instead of repaired.
 */
import { BinaryReader, type BinaryWriter } from "@bufbuild/protobuf/wire";
import { isWellFormed } from "./well-formed.ts";

/** What the generated code has for each message. */
export interface MessageType<Message> {
  readonly $type: string;
  encode(message: Message, writer?: BinaryWriter): BinaryWriter;
  decode(input: BinaryReader | Uint8Array, length?: number): Message;
}

/** Why bytes are no message, for the caller to read. */
export type BytesProblem = string;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const decodeUtf8 = (bytes: Uint8Array): string => utf8.decode(bytes);

export function decodeStrictly<Message>(
  type: MessageType<Message>,
  bytes: Uint8Array,
):
  | { readonly message: Message; readonly problem?: never }
  | { readonly problem: BytesProblem; readonly message?: never } {
  if (!isWellFormed(type.$type, bytes)) return { problem: "the message does not decode" };
  try {
    return { message: type.decode(new BinaryReader(bytes, decodeUtf8)) };
  } catch (cause) {
    const isText = cause instanceof TypeError;
    return { problem: isText ? "a text is not valid UTF-8" : "the message does not decode" };
  }
}
