/** `tipstaff/tracing`: needs `@opentelemetry/api`, which nothing else of the package loads. */
export { type AroundJob, type Ended, jobSpans, type TracedJob } from "./jobs.ts";
export { type TracingOptions, withTracing } from "./transport.ts";
