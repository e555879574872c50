/**
 * The runtime's side of one connection: which frames are let in when, and what is answered to those that are
 * not. What a message means is not known here; who says it is decided elsewhere, between `open` and
 * `accepted`. Inputs are stepped in the order of their arrival.
 */
import { catalogue, isForRuntime, isMessageType } from "./catalogue.ts";
import { type Dialect, type DialectOption, dialectOfHello } from "./dialect.ts";
import { type Envelope, type ReadEnvelope, readEnvelope } from "./envelope.ts";
import { type ErrorPayload, printError } from "./errors.ts";
import { isObject, type JsonObject } from "./fields.ts";
import { isId } from "./ids.ts";
import { limits } from "./limits.ts";
import { type Hello, readFarewell, readHello, readPing } from "./requests.ts";
import { isOptional, isVendorName } from "./vendor.ts";
import { protocolVersion } from "./version.ts";

export type Connection =
  /** Nothing was said yet. Ends with the first frame, or at the deadline. */
  | { readonly phase: "awaiting"; readonly deadlineMs: number; readonly standInId: string }
  /** A hello is being looked at. Ends with `accepted` or `rejected`. */
  | { readonly phase: "opening"; readonly sessionId: string }
  /** The welcome was sent. Ends with a farewell, too much nonsense, or the transport. */
  | { readonly phase: "accepted"; readonly sessionId: string; readonly malformedInRow: number }
  /** The transport is being closed; whatever still arrives is dropped. */
  | { readonly phase: "closing" };

export type Input =
  /** A frame as the transport had it: any value, or nothing at all where bytes were no JSON. */
  | { readonly type: "frame"; readonly frame: unknown }
  /** The hello was good; the welcome is on its way. */
  | { readonly type: "accepted"; readonly sessionId: string }
  /** The hello was not. */
  | { readonly type: "rejected"; readonly error: ErrorPayload; readonly requestId: string }
  | { readonly type: "time"; readonly nowMs: number };

export type Effect =
  /** Verify who it is, then step with `accepted` or `rejected`. */
  | {
      readonly type: "open";
      readonly envelope: Envelope;
      readonly hello: Hello;
      readonly dialect: Dialect;
    }
  /** Of the catalogue, for a runtime, and of this session. */
  | { readonly type: "handle"; readonly envelope: Envelope }
  /** Whoever registered for this type gets it; if nobody did, see `unhandledVendor`. */
  | { readonly type: "vendor"; readonly envelope: Envelope }
  | { readonly type: "pong"; readonly nonce: string }
  /** Send a `session.error`; its envelope has this session id, though there may be no such session (ARCP-9). */
  | {
      readonly type: "refuse";
      readonly sessionId: string;
      readonly error: ErrorPayload;
      readonly requestId: string | undefined;
    }
  /** The session goes on without this connection. `reply`: send `session.closed` first. */
  | { readonly type: "leave"; readonly reply: boolean; readonly reason: string | undefined }
  | { readonly type: "close"; readonly code: number; readonly reason: string };

export type Step = { readonly connection: Connection; readonly effects: readonly Effect[] };

/** `standInId`: a session id that was minted for errors before there is a session, and registered nowhere. */
export function startConnection(nowMs: number, standInId: string): Connection {
  return { phase: "awaiting", deadlineMs: nowMs + limits.helloMs, standInId };
}

export function stepConnection(
  connection: Connection,
  input: Input,
  options: { readonly dialect?: DialectOption } = {},
): Step {
  switch (input.type) {
    case "frame":
      return stepFrame(connection, input.frame, options.dialect);
    case "accepted":
      if (connection.phase !== "opening") return unchanged(connection);
      return {
        connection: { phase: "accepted", sessionId: input.sessionId, malformedInRow: 0 },
        effects: [],
      };
    case "rejected":
      if (connection.phase !== "opening") return unchanged(connection);
      return ended(refusal(connection.sessionId, input.error, input.requestId), closeRefused);
    case "time":
      if (connection.phase !== "awaiting" || input.nowMs < connection.deadlineMs) {
        return unchanged(connection);
      }
      return ended({ type: "close", code: 1008, reason: "no hello in time" });
  }
}

/** What to do with a vendor's message that nobody registered for (ARCP-191). */
export function unhandledVendor(envelope: Envelope, sessionId: string): readonly Effect[] {
  if (isOptional(envelope.extensions)) return [];
  return [refuseType(envelope, sessionId, "there is no handler for this type")];
}

const closeRefused: Effect = { type: "close", code: 1008, reason: "refused" };

function stepFrame(connection: Connection, frame: unknown, option?: DialectOption): Step {
  switch (connection.phase) {
    case "awaiting":
      return stepFirst(connection.standInId, frame, option);
    case "opening": {
      const { envelope, id } = readEnvelope(frame);
      const error = invalid("nothing may be said between the hello and the welcome");
      return {
        connection,
        effects: [refusal(connection.sessionId, error, envelope?.id ?? id)],
      };
    }
    case "accepted":
      return stepAccepted(connection, readEnvelope(frame));
    case "closing":
      return unchanged(connection);
  }
}

/** Only a hello opens a session, and there is no second try on this connection (ARCP-14, 18, 36). */
function stepFirst(standInId: string, frame: unknown, option?: DialectOption): Step {
  const { envelope, problem, id } = readEnvelope(frame);
  if (problem) {
    const supported = problem.kind === "version" ? { supported: [protocolVersion] } : undefined;
    return ended(refusal(standInId, invalid(problem.message, supported), id), closeRefused);
  }
  const isHello = envelope.type === "session.hello" || envelope.type === "session.resume";
  if (!isHello) {
    const error = invalid("type must be session.hello in the first frame");
    return ended(refusal(standInId, error, envelope.id), closeRefused);
  }
  const sessionId = askedSessionId(envelope) ?? standInId;
  const hello = readHello(envelope);
  if (hello.problem) {
    const { code, message, path } = hello.problem;
    const details = code === "INVALID_REQUEST" ? { path } : undefined;
    const error = printError({ code, message, details });
    return ended(refusal(sessionId, error, envelope.id), closeRefused);
  }
  const dialect = dialectOfHello(envelope, option);
  return {
    connection: { phase: "opening", sessionId },
    effects: [{ type: "open", envelope, hello: hello.value, dialect }],
  };
}

/** Of a resume, whatever else is wrong with it. */
function askedSessionId({ type, payload }: Envelope): string | undefined {
  const { resume } = payload;
  const point = type === "session.resume" ? payload : isObject(resume) ? resume : {};
  return isId(point["session_id"]) ? point["session_id"] : undefined;
}

type Accepted = Extract<Connection, { readonly phase: "accepted" }>;

function stepAccepted(connection: Accepted, { envelope, problem, id }: ReadEnvelope): Step {
  const { sessionId } = connection;
  if (problem) return stepMalformed(connection, problem.message, id);
  const settled =
    connection.malformedInRow === 0 ? connection : { ...connection, malformedInRow: 0 };
  // Absent is fine: the connection already says which session it is.
  if (envelope.sessionId !== undefined && envelope.sessionId !== sessionId) {
    const error = invalid("session_id must be the one of this connection's session");
    return { connection: settled, effects: [refusal(sessionId, error, envelope.id)] };
  }
  return stepMessage(settled, envelope);
}

/** Answered, and forgiven, but not for ever (ARCP-12). */
function stepMalformed(connection: Accepted, message: string, id: string | undefined): Step {
  const malformedInRow = connection.malformedInRow + 1;
  const refused = refusal(connection.sessionId, invalid(message), id);
  if (malformedInRow < limits.malformedFramesMax) {
    return { connection: { ...connection, malformedInRow }, effects: [refused] };
  }
  return ended(refused, { type: "close", code: 1008, reason: "too many malformed frames" });
}

function stepMessage(connection: Accepted, envelope: Envelope): Step {
  const { sessionId } = connection;
  const only = (effect: Effect): Step => ({ connection, effects: [effect] });
  const { type } = envelope;
  if (isVendorName(type)) return only({ type: "vendor", envelope });
  if (!isForRuntime(type)) {
    const words = isMessageType(type) ? "this type is for clients" : "there is no such type";
    return only(refuseType(envelope, sessionId, words));
  }
  switch (type) {
    case "session.hello":
    case "session.resume":
      return only(refuseType(envelope, sessionId, "the session is open already"));
    case "session.ping": {
      const ping = readPing(envelope);
      if (ping.value) return only({ type: "pong", nonce: ping.value.nonce });
      return only(refusal(sessionId, invalid(ping.problem.message), envelope.id));
    }
    case "session.bye":
    case "session.close": {
      const { reason } = readFarewell(envelope);
      return ended(
        { type: "leave", reply: catalogue[type].answeredBy.length > 0, reason },
        { type: "close", code: 1000, reason: "" },
      );
    }
    default:
      return only({ type: "handle", envelope });
  }
}

function refuseType(envelope: Envelope, sessionId: string, words: string): Effect {
  return refusal(sessionId, invalid(words, { type: envelope.type }), envelope.id);
}

function refusal(sessionId: string, error: ErrorPayload, requestId: string | undefined): Effect {
  return { type: "refuse", sessionId, error, requestId };
}

function invalid(message: string, details?: JsonObject): ErrorPayload {
  return printError({ code: "INVALID_REQUEST", message, details });
}

function ended(...effects: readonly Effect[]): Step {
  return { connection: { phase: "closing" }, effects };
}

function unchanged(connection: Connection): Step {
  return { connection, effects: [] };
}
