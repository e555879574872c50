/** Typed handlers as methods of the server: decode, handle, encode. */
import { decodeStrictly, type MessageType } from "../../wire/agentkeeper/index.ts";
import { frame, type StatusName } from "../../wire/grpc/index.ts";
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

type ReplyOptions = { readonly replyBytesMax: number; readonly isLong?: boolean };

/** One message in, one out. A reply that callers could not read is refused instead. */
export function unary<Request, Response, Connection>(
  service: string,
  { name, requestType, responseType }: Definition<Request, Response>,
  handle: (request: Request, call: ServerCall<Connection>) => Promise<Answer<Response>>,
  { replyBytesMax, isLong = false }: ReplyOptions = limits,
): Method<Connection> {
  const receive = async (bytes: Buffer, call: ServerCall<Connection>): Promise<void> => {
    const { message, problem } = decodeStrictly(requestType, bytes);
    if (problem !== undefined) return call.end("INVALID_ARGUMENT", problem);
    const { value, refusal } = await handle(message, call);
    if (refusal) return call.end(grpcStatus[refusal.code], refusal.message);
    const reply = responseType.encode(value).finish();
    if (reply.length <= replyBytesMax) return call.reply(reply);
    call.end("RESOURCE_EXHAUSTED", `the reply would exceed ${replyBytesMax} bytes; ask for fewer`);
  };
  return { path: `/${service}/${name}`, isExchange: false, isLong, receive };
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
