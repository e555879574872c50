/** An event of a job as an application gets it. */
import {
  type BodyView,
  type Envelope,
  type JobEvent,
  type JsonObject,
  normaliseBody,
} from "../../wire/arcp/index.ts";

export class ReceivedEvent {
  readonly jobId: string;
  readonly kind: string;
  /** As it came; it informs, and may be nonsense. */
  readonly ts: string | undefined;
  /** As it came (ARCP-122). */
  readonly body: unknown;
  /** Its place among the events of the session. */
  readonly eventSeq: number | undefined;
  readonly traceId: string | undefined;
  readonly extensions: JsonObject | undefined;
  /** How many events before this one were dropped, because nobody came for them (ARCP-210). */
  readonly droppedBefore: number;
  readonly #event: JobEvent;
  readonly #envelope: Envelope;
  #view: { readonly value: BodyView | undefined } | undefined;

  constructor(event: JobEvent, envelope: Envelope, droppedBefore = 0) {
    this.#event = event;
    this.#envelope = envelope;
    const { ts } = envelope.payload;
    this.jobId = event.jobId;
    this.kind = event.kind;
    this.ts = typeof ts === "string" ? ts : undefined;
    this.body = event.body;
    this.eventSeq = envelope.eventSeq;
    this.traceId = envelope.traceId;
    this.extensions = envelope.extensions;
    this.droppedBefore = droppedBefore;
  }

  /** The body in one spelling, whoever sent it; undefined for kinds that only their vendor knows. */
  get view(): BodyView | undefined {
    this.#view ??= { value: normaliseBody(this.kind, this.body) };
    return this.#view.value;
  }

  afterDropped(count: number): ReceivedEvent {
    return new ReceivedEvent(this.#event, this.#envelope, count);
  }
}
