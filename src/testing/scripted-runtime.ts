/**
 * An ARCP runtime that says what a test tells it to, in whatever form: how published runtimes differ can be
 * shown without having them.
 */
import assert from "node:assert/strict";
import { pairMemoryTransports, type Transport } from "../transport/index.ts";
import {
  type Envelope,
  type FrameHead,
  type JsonObject,
  printEnvelope,
  printId,
  readEnvelope,
  ulid,
} from "../wire/arcp/index.ts";
import { settled } from "./manual-time.ts";

const atMs = Date.UTC(2026, 4, 13);

/** What it answers a hello with; nothing, if undefined. */
export type Greeting = {
  readonly type: string;
  readonly payload: JsonObject;
  readonly id?: string;
};

export type ScriptedOptions = {
  readonly isPython?: boolean;
  readonly welcome?: JsonObject;
  /** The first hello is number 1. */
  readonly greet?: (
    hello: Envelope,
    count: number,
    runtime: ScriptedRuntime,
  ) => Greeting | undefined;
};

export class ScriptedRuntime {
  readonly received: Envelope[] = [];
  readonly sessionId: string = printId("session", ulid(atMs, 1n));
  readonly #options: ScriptedOptions;
  #transport: Transport | undefined;
  #ids = 10n;
  #helloes = 0;
  #seq = 0;
  isReachable = true;

  constructor(options: ScriptedOptions = {}) {
    this.#options = options;
  }

  /** For the client: a new link each time. */
  readonly dial = async (): Promise<Transport> => {
    if (!this.isReachable) throw new Error("nobody is there");
    const [ours, theirs] = pairMemoryTransports();
    this.#transport = ours;
    ours.onFrame((frame) => {
      const { envelope } = readEnvelope(frame);
      assert(envelope, "the client sent what is no frame");
      this.received.push(envelope);
      if (envelope.type === "session.hello") this.#greet(envelope);
    });
    ours.onClose(() => {});
    return theirs;
  };

  get transport(): Transport {
    assert(this.#transport, "nobody has called");
    return this.#transport;
  }

  get helloes(): readonly Envelope[] {
    return this.ofType("session.hello");
  }

  ofType(type: string): readonly Envelope[] {
    return this.received.filter((envelope) => envelope.type === type);
  }

  /** The last frame of this type that has come, once what is under way has come. */
  async last(type: string): Promise<Envelope> {
    await settled();
    const envelope = this.ofType(type).at(-1);
    assert(envelope, `no ${type} has come`);
    return envelope;
  }

  /** Resolves when the client has it. */
  async say(type: string, payload: JsonObject, head: Partial<FrameHead> = {}): Promise<void> {
    const id = this.#newId();
    const { sessionId } = this;
    await this.transport.send(printEnvelope({ id, type, sessionId, ...head }, payload));
    await settled();
  }

  /** As it is, whatever it is. */
  async sayRaw(frame: JsonObject): Promise<void> {
    await this.transport.send(frame);
    await settled();
  }

  /** The next number of the session. */
  nextSeq(): number {
    this.#seq += 1;
    return this.#seq;
  }

  async accept(submit: Envelope, jobId: string, more: JsonObject = {}): Promise<void> {
    const payload = { job_id: jobId, agent: "a", lease: {}, request_id: submit.id, ...more };
    await this.say("job.accepted", payload, { jobId });
  }

  async event(jobId: string, text: string, eventSeq: number = this.nextSeq()): Promise<void> {
    const payload = { kind: "thought", ts: "2026-05-13T00:00:00Z", body: { text } };
    await this.say("job.event", payload, { jobId, eventSeq });
  }

  async result(jobId: string, result: unknown, eventSeq: number = this.nextSeq()): Promise<void> {
    const payload = { final_status: "success", result, completed_at: "2026-05-13T00:00:00Z" };
    await this.say("job.result", payload, { jobId, eventSeq });
  }

  async error(code: string, message: string, more: JsonObject = {}): Promise<void> {
    await this.say("session.error", { code, message, retryable: false, ...more });
  }

  /** Without a farewell. */
  async drop(): Promise<void> {
    await this.transport.close();
    await settled();
  }

  welcome(count: number = this.#helloes, more: JsonObject = {}): Greeting {
    const { isPython = false, welcome } = this.#options;
    const features = ["heartbeat", "ack", "list_jobs", "subscribe", "result_chunk"];
    return {
      type: "session.welcome",
      payload: {
        runtime: { name: "scripted", version: "1" },
        session_id: this.sessionId,
        resume_token: `${isPython ? "rtk" : "rt"}_${count}`,
        resume_window_sec: 60,
        capabilities: { encodings: ["json"], features, agents: ["a"] },
        ...welcome,
        ...more,
      },
    };
  }

  #greet(hello: Envelope): void {
    this.#helloes += 1;
    const { greet } = this.#options;
    const greeting = greet ? greet(hello, this.#helloes, this) : this.welcome();
    if (!greeting) return;
    const { session_id: said } = greeting.payload;
    const sessionId = typeof said === "string" ? said : this.sessionId;
    const head = { id: greeting.id ?? this.#newId(), type: greeting.type, sessionId };
    this.transport.send(printEnvelope(head, greeting.payload)).catch(() => {});
  }

  #newId(): string {
    this.#ids += 1n;
    const bare = ulid(atMs, this.#ids);
    return this.#options.isPython ? bare : printId("envelope", bare);
  }
}
