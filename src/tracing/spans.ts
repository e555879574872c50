/** Spans around pieces of work, and the way from trace context to headers and back. */
import {
  type Context,
  context,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import {
  printTraceparent,
  readTraceparent,
  type TraceHeaders,
  type TracePoint,
} from "../wire/arcp/index.ts";

/** Of a span; nothing if it belongs to no trace, because nobody traces. */
export function headersOf(span: SpanContext | undefined): TraceHeaders | undefined {
  if (!span || !isSpanContextValid(span)) return undefined;
  const { traceId, spanId, traceFlags: flags, traceState } = span;
  const tracestate = traceState?.serialize();
  return {
    traceparent: printTraceparent({ traceId, spanId, flags }),
    ...(tracestate && { tracestate }),
  };
}

/**
 * A context below the span that they name. Nothing of the active one is in it: whoever sent a frame within
 * this process may be active while another receives it.
 */
export function contextOf({ traceparent, tracestate }: TraceHeaders): Context {
  const point = readTraceparent(traceparent);
  return point ? below(point, tracestate) : ROOT_CONTEXT;
}

function below({ traceId, spanId, flags }: TracePoint, tracestate: string | undefined): Context {
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: flags,
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  });
}

/**
 * The active one, if its span is still there, or is of the trace that is meant. A loop that was started while some
 * frame was handled goes on in the context of that frame for as long as the connection lasts.
 */
export function activeContext(meant: string | undefined): Context | undefined {
  const span = trace.getActiveSpan();
  if (!span) return undefined;
  const { traceId, traceFlags, isRemote = false } = span.spanContext();
  const isRecorded = (traceFlags & TraceFlags.SAMPLED) !== 0;
  const hasEnded = isRecorded && !isRemote && !span.isRecording();
  return hasEnded && traceId !== meant ? undefined : context.active();
}

/** Runs it with the span active, and ends the span with it. What is thrown is noted, and goes on. */
export function within<Result>(span: Span, parent: Context, run: () => Result): Result {
  try {
    const result = context.with(trace.setSpan(parent, span), run);
    if (!isPromise(result)) {
      span.end();
      return result;
    }
    result.then(
      () => span.end(),
      (error: unknown) => fail(span, error),
    );
    return result;
  } catch (error) {
    fail(span, error);
    throw error;
  }
}

function fail(span: Span, error: unknown): void {
  const known = error instanceof Error ? error : new Error(String(error));
  span.recordException(known);
  span.setStatus({ code: SpanStatusCode.ERROR, message: known.message });
  span.end();
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    "then" in value &&
    typeof value.then === "function"
  );
}
