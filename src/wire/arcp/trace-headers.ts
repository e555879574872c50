/**
 * Where in a trace something was asked for, as W3C's Trace Context writes it: the values of the two headers that
 * HTTP has for it. A frame carries them in its extensions (ARCP-183).
 */
import { printTraceparent, type TraceHeaders, type TracePoint } from "../work/trace.ts";
import { isObject, type JsonObject } from "./fields.ts";
import { traceContextFrom } from "./ids.ts";
import { limits } from "./limits.ts";

export {
  printTraceparent,
  type TraceHeaders,
  type TracePoint,
  traceHeadersOf,
} from "../work/trace.ts";

export const traceHeadersKey = "x-vendor.opentelemetry.tracecontext";

/** Flags may be any, and a later version may say more: what is known of it is read. */
export function readTraceparent(text: string): TracePoint | undefined {
  const { traceId, parentSpanId: spanId } = traceContextFrom(text) ?? {};
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, flags: Number.parseInt(text.slice(flagsAt, flagsAt + 2), 16) };
}

const flagsAt = "00-".length + 32 + "-".length + 16 + "-".length;

/** Of a frame. */
export function traceHeadersIn(extensions: JsonObject | undefined): TraceHeaders | undefined {
  return readTraceHeaders(extensions?.[traceHeadersKey]);
}

/** What is no header is as good as nothing: it goes on into requests of HTTP. */
export function readTraceHeaders(carried: unknown): TraceHeaders | undefined {
  if (!isObject(carried)) return undefined;
  const { traceparent, tracestate } = carried;
  const point = typeof traceparent === "string" ? readTraceparent(traceparent) : undefined;
  if (!point) return undefined;
  const isState =
    typeof tracestate === "string" &&
    tracestate.length <= limits.tracestateLengthMax &&
    /^[\x20-\x7e]+$/.test(tracestate);
  return { traceparent: printTraceparent(point), ...(isState && { tracestate }) };
}
