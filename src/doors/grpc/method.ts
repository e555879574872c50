/** Typed handlers as methods of the server: decode, handle, encode. */
import { decodeStrictly, type MessageType } from "../../wire/agentkeeper/index.ts";
import {
  frame,
  joinPieces,
  type Pieces,
  piecesOfBytes,
  type StatusName,
} from "../../wire/grpc/index.ts";
import { type DoorCode, grpcStatus } from "./errors.ts";
import { limits } from "./limits.ts";
import type { Method, ServerCall } from "./server.ts";

/** What generated code says of a method. */
export type Definition<Request, Response> = {
  readonly name: string;
  readonly requestType: MessageType<Request>;
  readonly responseType: MessageType<Response>;
};

/** A handler's answer: the reply, or why not. */
export type Answer<Response> =
  | { readonly value: Response; readonly refusal?: never }
  | {
      readonly refusal: { readonly code: DoorCode; readonly message: string };
      readonly value?: never;
    };

/** How a stream ends, if its caller does not end it. */
export type StreamEnd = {
  readonly status: StatusName;
  readonly message: string;
  /** What else goes along with the status. */
  readonly trailers?: Readonly<Record<string, string>>;
};

/** One message in, one out. A reply that callers could not read is refused instead. */
export function unary<Request, Response, Connection>(
  service: string,
  { name, requestType, responseType }: Definition<Request, Response>,
  handle: (request: Request, call: ServerCall<Connection>) => Promise<Answer<Response>>,
): Method<Connection> {
  const receive = async (bytes: Buffer, call: ServerCall<Connection>): Promise<void> => {
    const { message, problem } = decodeStrictly(requestType, bytes);
    if (problem !== undefined) return call.end("INVALID_ARGUMENT", problem);
    const { value, refusal } = await handle(message, call);
    if (refusal) return call.end(grpcStatus[refusal.code], refusal.message);
    const reply = responseType.encode(value).finish();
    if (reply.length <= limits.replyBytesMax) return call.reply(reply);
    call.end("RESOURCE_EXHAUSTED", tooLong(limits.replyBytesMax));
  };
  return { path: `/${service}/${name}`, isExchange: false, receive };
}

/** A unary method with a reply of up to megabytes, which is encoded as the caller reads it. */
export function unaryInPieces<Request, Response, Connection>(
  service: string,
  { name, requestType }: Definition<Request, Response>,
  handle: (request: Request, call: ServerCall<Connection>) => Promise<Answer<Pieces>>,
  { replyBytesMax }: { readonly replyBytesMax: number } = limits,
): Method<Connection> {
  const receive = async (bytes: Buffer, call: ServerCall<Connection>): Promise<void> => {
    const { message, problem } = decodeStrictly(requestType, bytes);
    if (problem !== undefined) return call.end("INVALID_ARGUMENT", problem);
    const { value, refusal } = await handle(message, call);
    if (refusal) return call.end(grpcStatus[refusal.code], refusal.message);
    if (value.length <= replyBytesMax) return call.replyInPieces(value);
    call.end("RESOURCE_EXHAUSTED", tooLong(replyBytesMax));
  };
  return { path: `/${service}/${name}`, isExchange: false, isLong: true, receive };
}

/** The same for a reply with a list: `field` names it. */
export function unaryList<Request, Response extends object, Connection>(
  service: string,
  definition: Definition<Request, Response>,
  field: ListField<Response>,
  handle: (request: Request, call: ServerCall<Connection>) => Promise<Answer<Response>>,
  options?: { readonly replyBytesMax: number },
): Method<Connection> {
  const { responseType } = definition;
  const blank = responseType.decode(new Uint8Array(0));
  const handleList = async (
    request: Request,
    call: ServerCall<Connection>,
  ): Promise<Answer<Pieces>> => {
    const { value, refusal } = await handle(request, call);
    if (refusal) return { refusal };
    // Messages of one type, one after another, are one message with all their rows.
    const rows = value[field] as readonly unknown[];
    const rowInPieces = (row: unknown): Pieces =>
      piecesOfBytes(responseType.encode({ ...blank, [field]: [row] }).finish());
    const rest = piecesOfBytes(responseType.encode({ ...value, [field]: [] }).finish());
    return { value: joinPieces([await rowsInPieces(rows, rowInPieces, call), rest]) };
  };
  return unaryInPieces(service, definition, handleList, options);
}

type ListField<Response> = {
  [Field in keyof Response]: Response[Field] extends readonly unknown[] ? Field : never;
}[keyof Response];

/** A long list is encoded twice, first only for its length, so that the encoded list need not be held in memory. */
export async function rowsInPieces<Row, Connection>(
  rows: readonly Row[],
  rowInPieces: (row: Row) => Pieces,
  call: ServerCall<Connection>,
): Promise<Pieces> {
  const first: Pieces[] = [];
  let length = 0;
  let lengthOfTurn = 0;
  for (const row of rows) {
    const pieces = rowInPieces(row);
    length += pieces.length;
    lengthOfTurn += limits.rowBytes + pieces.heldBytes;
    if (length <= limits.pieceBytes) first.push(pieces);
    if (lengthOfTurn <= limits.pieceBytes) continue;
    lengthOfTurn = 0;
    await call.peer.unread.turn();
  }
  if (first.length === rows.length) return joinPieces(first);
  return {
    length,
    heldBytes: rows.length * limits.rowBytes,
    *print() {
      for (const row of rows) yield* rowInPieces(row).print();
    },
  };
}

function tooLong(bytesMax: number): string {
  return `the reply would exceed ${bytesMax} bytes; ask for fewer items`;
}

/** One message in, many out: the handler writes them, and says how the stream ends. */
export function serverStream<Request, Response, Connection>(
  service: string,
  { name, requestType }: Definition<Request, Response>,
  handle: (request: Request, call: ServerCall<Connection>) => Promise<StreamEnd>,
): Method<Connection> {
  const receive = async (bytes: Buffer, call: ServerCall<Connection>): Promise<void> => {
    const { message, problem } = decodeStrictly(requestType, bytes);
    if (problem !== undefined) return call.end("INVALID_ARGUMENT", problem);
    const { status, message: reason, trailers } = await handle(message, call);
    call.end(status, reason, trailers);
  };
  return { path: `/${service}/${name}`, isExchange: false, receive };
}

/** Each message gets one answer, until the caller has no more. */
export function exchange<Request, Response, Connection>(
  service: string,
  { name, requestType, responseType }: Definition<Request, Response>,
  handle: (request: Request) => Response,
): Method<Connection> {
  const receive = async (bytes: Buffer, call: ServerCall<Connection>): Promise<void> => {
    const { message, problem } = decodeStrictly(requestType, bytes);
    if (problem !== undefined) return call.end("INVALID_ARGUMENT", problem);
    call.begin();
    await call.write(frame(responseType.encode(handle(message)).finish()));
  };
  return { path: `/${service}/${name}`, isExchange: true, receive };
}
