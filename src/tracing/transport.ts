/**
 * A transport whose frames are seen in traces (ARCP-181 to 183): a span for each one that is sent and for each one
 * that is received, and the context of the first in the frame, so that the second is below it wherever it is.
 */
import { type Context, ROOT_CONTEXT, SpanKind, type Tracer } from "@opentelemetry/api";
import type {
  CloseHandler,
  Frame,
  FrameHandler,
  Link,
  Malformed,
  Transport,
} from "../transport/index.ts";
import {
  isObject,
  isTraceId,
  type TraceHeaders,
  traceHeadersIn,
  traceHeadersKey,
  traceHeadersOf,
} from "../wire/arcp/index.ts";
import { attributesOf, typeOf } from "./attributes.ts";
import { activeContext, contextOf, headersOf, within } from "./spans.ts";

export type TracingOptions = {
  readonly tracer: Tracer;
  /** Before the type of the frame. `arcp.send` if absent. */
  readonly sendSpanName?: string;
  /** `arcp.recv` if absent. */
  readonly recvSpanName?: string;
};

/** The transport is the wrapper's from here on. */
export function withTracing(transport: Transport, options: TracingOptions): Transport {
  return new TracedTransport(transport, options);
}

class TracedTransport implements Transport {
  readonly #inner: Transport;
  readonly #options: TracingOptions;

  constructor(inner: Transport, options: TracingOptions) {
    this.#inner = inner;
    this.#options = options;
  }

  get link(): Link {
    return this.#inner.link;
  }

  get closed(): boolean {
    return this.#inner.closed;
  }

  get queuedBytes(): number {
    return this.#inner.queuedBytes;
  }

  get hasRoom(): boolean {
    return this.#inner.hasRoom;
  }

  send(frame: Frame): Promise<void> {
    return this.#sending(frame, (mark) => this.#inner.send(mark ? marked(frame, mark) : frame));
  }

  sendText(text: string): Promise<void> {
    const frame = readText(text);
    if (!frame) return this.#inner.sendText(text);
    return this.#sending(frame, (mark) =>
      this.#inner.sendText(mark ? markedText(text, frame, mark) : text),
    );
  }

  #sending(frame: Frame, send: (mark: Mark | undefined) => Promise<void>): Promise<void> {
    const { tracer, sendSpanName = "arcp.send" } = this.#options;
    const parent = activeContext(traceIdIn(frame)) ?? traceOf(frame);
    const attributes = attributesOf(frame, "out");
    const name = `${sendSpanName} ${typeOf(frame)}`;
    const span = tracer.startSpan(name, { kind: SpanKind.PRODUCER, attributes }, parent);
    const headers = headersOf(span.spanContext());
    const mark = headers && markFor(frame, headers, span.spanContext().traceId);
    if (mark) span.setAttribute("arcp.trace_id", mark.traceId);
    return within(span, parent, () => send(mark));
  }

  onFrame(handler: FrameHandler): void {
    const { tracer, recvSpanName = "arcp.recv" } = this.#options;
    this.#inner.onFrame((frame) => {
      const parent = parentOf(frame);
      const attributes = attributesOf(frame, "in");
      const name = `${recvSpanName} ${typeOf(frame)}`;
      const span = tracer.startSpan(name, { kind: SpanKind.CONSUMER, attributes }, parent);
      return within(span, parent, () => handler(frame));
    });
  }

  onMalformed(handler: (malformed: Malformed) => void): void {
    this.#inner.onMalformed(handler);
  }

  onClose(handler: CloseHandler): void {
    this.#inner.onClose(handler);
  }

  onFault(handler: (fault: unknown) => void): void {
    this.#inner.onFault(handler);
  }

  drained(): Promise<void> {
    return this.#inner.drained();
  }

  close(reason?: string, code?: number): Promise<void> {
    return this.#inner.close(reason, code);
  }
}

/** What a frame gets on its way. */
type Mark = { readonly traceId: string; readonly headers: TraceHeaders };

/** A trace id that the frame has is its own: it names the job's trace, which may be another (ARCP-183). */
function markFor(frame: Frame, headers: TraceHeaders, ownId: string): Mark {
  return { traceId: traceIdIn(frame) ?? ownId, headers };
}

function traceIdIn({ trace_id }: Frame): string | undefined {
  return typeof trace_id === "string" && trace_id !== "" ? trace_id : undefined;
}

function marked(frame: Frame, { traceId, headers }: Mark): Frame {
  const { trace_id: _, extensions, payload, ...head } = frame;
  const others = isObject(extensions) ? extensions : {};
  return {
    ...head,
    trace_id: traceId,
    extensions: { ...others, [traceHeadersKey]: headers },
    payload,
  };
}

/** Without printing the payload again, if the frame looks as our own printer leaves it. */
function markedText(text: string, frame: Frame, mark: Mark): string {
  const at = text.indexOf(',"payload":');
  const has = (name: string): boolean => Object.hasOwn(frame, name);
  const isOwnId = frame["trace_id"] === mark.traceId;
  // No object before the payload: what was found is the frame's own.
  const isPlain = at > 0 && text.lastIndexOf("{", at) === 0 && !has("extensions");
  if (!isPlain || has("trace_id") !== isOwnId) return JSON.stringify(marked(frame, mark));
  const traceId = isOwnId ? "" : `,"trace_id":${JSON.stringify(mark.traceId)}`;
  const extensions = JSON.stringify({ [traceHeadersKey]: mark.headers });
  return `${text.slice(0, at)}${traceId},"extensions":${extensions}${text.slice(at)}`;
}

/** Nothing if it is no frame: that is the transport's business, or the peer's. */
function readText(text: string): Frame | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Where it says that it was sent; else below the trace that it names, if it names one. */
function parentOf({ extensions, trace_id }: Frame): Context {
  const carried = isObject(extensions) ? traceHeadersIn(extensions) : undefined;
  return carried ? contextOf(carried) : traceOf({ trace_id });
}

/** Of a frame of which nothing is known but the trace that it names. */
function traceOf({ trace_id }: Frame): Context {
  if (typeof trace_id !== "string") return ROOT_CONTEXT;
  if (isTraceId(trace_id)) return contextOf(traceHeadersOf(trace_id));
  return contextOf({ traceparent: trace_id });
}
