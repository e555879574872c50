/** A span around each attempt of a job (ARCP-185). It is handed to the runtime, which calls it and knows nothing of it. */
import { type Span, SpanKind, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import { type TraceHeaders, traceHeadersOf } from "../wire/arcp/index.ts";
import { contextOf, headersOf, within } from "./spans.ts";

/** What is told of a job: the runtime's own has more. */
export type TracedJob = {
  readonly id: string;
  readonly agent: string;
  readonly sessionIds: readonly string[];
  readonly traceId: string;
  /** Where in a trace it was asked for, if that was told. */
  readonly trace?: TraceHeaders;
  readonly attempt: number;
};

/** In codes of the protocol, as clients are told. */
export type Ended = {
  readonly status: string;
  readonly failure?: { readonly code: string; readonly message: string };
};

export type AroundJob = (
  job: TracedJob,
  run: (trace?: () => TraceHeaders) => Promise<Ended>,
) => Promise<void>;

/** Below the span in which the job was asked for, or in the job's trace if that is not known. */
export function jobSpans(tracer: Tracer): AroundJob {
  return async (job, run) => {
    const asked = job.trace ?? traceHeadersOf(job.traceId);
    const parent = contextOf(asked);
    const [sessionId] = job.sessionIds;
    const attributes = {
      "arcp.job_id": job.id,
      "arcp.agent": job.agent,
      ...(sessionId !== undefined && { "arcp.session_id": sessionId }),
      "arcp.trace_id": job.traceId,
      "arcp.attempt": job.attempt,
    };
    const span = tracer.startSpan(
      `arcp.job ${job.agent}`,
      { kind: SpanKind.INTERNAL, attributes },
      parent,
    );
    // An agent may have spans of its own: what it asks for within one is asked for from there.
    const current = (): TraceHeaders =>
      headersOf(trace.getActiveSpan()?.spanContext()) ?? headersOf(span.spanContext()) ?? asked;
    await within(span, parent, async () => describe(span, await run(current)));
  };
}

function describe(span: Span, { status, failure }: Ended): void {
  span.setAttribute("arcp.final_status", status);
  if (failure) span.setAttribute("arcp.error.code", failure.code);
  // Being cancelled is no error of anyone's.
  if (failure && status !== "cancelled") {
    span.setStatus({ code: SpanStatusCode.ERROR, message: failure.message });
  }
}
