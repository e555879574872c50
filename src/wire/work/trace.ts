/** Positions in a trace, as the headers of W3C's Trace Context print them. */

export type TraceHeaders = { readonly traceparent: string; readonly tracestate?: string };

/** The parts of a `traceparent`. */
export type TracePoint = {
  readonly traceId: string;
  readonly spanId: string;
  /** One byte, of which the lowest bit says that the trace is recorded. */
  readonly flags: number;
};

export function printTraceparent({ traceId, spanId, flags }: TracePoint): string {
  return `00-${traceId}-${spanId}-${(flags & 255).toString(16).padStart(2, "0")}`;
}

/**
 * Headers for a trace of which only the id is known: below a span that nobody has, the same one for all who know no
 * more. It counts as recorded, because whoever named a trace wants to see it.
 */
export function traceHeadersOf(traceId: string): TraceHeaders {
  const [first, second] = [traceId.slice(0, 16), traceId.slice(16)];
  const spanId = /^0+$/.test(second) ? first : second;
  return { traceparent: printTraceparent({ traceId, spanId, flags: 1 }) };
}
