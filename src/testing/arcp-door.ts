/** The ARCP door over memory transports, with a clock that is moved by hand, and peers that say what they are told to. */
import assert from "node:assert/strict";
import { type Handler, JobContext } from "../arcp-context.ts";
import { type ArcpDoor, type ArcpDoorOptions, openArcpDoor } from "../doors/arcp/index.ts";
import { type Log, MemoryLog } from "../log/index.ts";
import type { Plane } from "../plane/index.ts";
import type { AgentOptions, Provisioner, Runtime } from "../runtime/index.ts";
import { type Link, pairMemoryTransports, type Transport } from "../transport/index.ts";
import { features, type JsonObject } from "../wire/arcp/index.ts";
import { openWork, type WorkOptions } from "../work.ts";
import type { ManualClock } from "./manual-clock.ts";
import { openPlane, turns } from "./test-plane.ts";

export type Told = {
  readonly type: string;
  readonly id: string;
  readonly session_id?: string;
  readonly job_id?: string;
  readonly event_seq?: number;
  readonly trace_id?: string;
  readonly payload: Payload;
};

/** Of every frame there is. A test asks for what its frame should have; what is not there is undefined. */
type Payload = {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly details: {
    readonly path?: string;
    readonly type?: string;
    readonly existing_job_id?: string;
    readonly original_code?: string;
  };
  readonly request_id?: string;
  readonly session_id: string;
  readonly resume_token: string;
  readonly heartbeat_interval_sec: number;
  readonly resume_window_sec: number;
  readonly runtime: unknown;
  readonly capabilities: { readonly features: readonly string[]; readonly agents: unknown };
  readonly job_id: string;
  readonly parent_job_id: string | null;
  readonly delegate_id: string;
  readonly budget: unknown;
  readonly credentials: readonly {
    readonly id: string;
    readonly scheme: string;
    readonly value: string;
    readonly endpoint: string;
  }[];
  readonly trace_id: string;
  readonly agent: string;
  readonly lease: unknown;
  readonly lease_constraints: unknown;
  readonly accepted_at: string;
  readonly completed_at: string;
  readonly result_size: number;
  readonly jobs: readonly ListedJob[];
  readonly next_cursor: string | null;
  readonly current_status: string;
  readonly replayed: boolean;
  readonly subscribed_from: number;
  readonly kind: string;
  readonly body: {
    readonly message?: string;
    readonly phase?: string;
    readonly text?: string;
    readonly data?: string;
    readonly encoding?: "utf8" | "base64";
    readonly chunk_seq?: number;
    readonly current?: number;
    readonly name?: string;
    readonly child_job_id?: string;
    readonly delegate_id?: string;
    readonly call_id?: string;
    readonly error?: { readonly code: string };
  };
  readonly final_status: string;
  readonly result: unknown;
  readonly result_id: string;
  readonly nonce: string;
  readonly sent_at: string;
  readonly ping_nonce: string;
  readonly you: number;
};

type ListedJob = {
  readonly job_id: string;
  readonly agent: string;
  readonly status: string;
  readonly budget: unknown;
  readonly parent_job_id: string | null;
  readonly created_at: string;
  readonly submitted_at: string;
  readonly last_event_seq: number;
};

export type HelloParts = {
  readonly token?: string;
  readonly features?: readonly string[];
  readonly resume?: JsonObject;
  readonly dialect?: "spec" | "python";
};

export type SceneOptions = Partial<ArcpDoorOptions> & {
  readonly provisioner?: Provisioner;
  readonly onRuntime?: Partial<WorkOptions>;
};

export class DoorScene implements AsyncDisposable {
  readonly plane: Plane;
  readonly clock: ManualClock;
  readonly runtime: Runtime;
  readonly door: ArcpDoor;
  readonly faults: unknown[] = [];
  readonly log: Log;
  readonly #dispose: () => Promise<void>;

  private constructor(
    opened: Awaited<ReturnType<typeof openPlane>>,
    log: Log,
    { provisioner, onRuntime, ...options }: SceneOptions,
  ) {
    const { plane, clock } = opened;
    this.plane = plane;
    this.clock = clock;
    this.log = log;
    this.#dispose = async () => await opened[Symbol.asyncDispose]();
    const onFault = (fault: unknown): void => void this.faults.push(fault);
    const work = openWork(plane, {
      clock,
      ...(provisioner && { provisioner }),
      onFault,
      ...onRuntime,
    });
    this.runtime = work.runtime;
    this.door = openArcpDoor({
      plane,
      clock,
      runtime: this.runtime,
      name: { name: "test", version: "1.0.0" },
      verify: (token) => (token.startsWith("of ") ? { principal: token.slice(3) } : undefined),
      features,
      vendorHandlers: new Map(),
      onFault,
      ...options,
    });
  }

  static async open(
    options: SceneOptions & { readonly log?: Log; readonly clock?: ManualClock } = {},
  ): Promise<DoorScene> {
    const { log = new MemoryLog(), clock, ...rest } = options;
    const opened = await openPlane({ log, ...(clock && { clock }) });
    return new DoorScene(opened, log, rest);
  }

  agent(name: string, handler: Handler, options?: AgentOptions): void {
    this.runtime.registerAgentWith((parts) => new JobContext(parts), name, handler, options);
  }

  /** As if it were over another link, if that is said. */
  connect(link?: Link): Peer {
    const [ours, theirs] = pairMemoryTransports();
    this.door.accept(link ? linked(ours, link) : ours);
    return new Peer(theirs);
  }

  async hello({ link, ...parts }: HelloParts & { readonly link?: Link } = {}): Promise<Peer> {
    const peer = this.connect(link);
    await peer.hello(parts);
    return peer;
  }

  /** Time goes by in ten steps, and what falls due happens. */
  async pass(ms: number): Promise<void> {
    for (let step = 0; step < 10; step += 1) {
      this.clock.leap(ms / 10);
      this.plane.tick();
      await turns(6);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.door[Symbol.asyncDispose]();
    this.runtime[Symbol.dispose]();
    await this.#dispose();
    assert.deepEqual(this.faults, []);
  }
}

function linked(transport: Transport, link: Link): Transport {
  return {
    link,
    get closed() {
      return transport.closed;
    },
    get hasRoom() {
      return transport.hasRoom;
    },
    get queuedBytes() {
      return transport.queuedBytes;
    },
    send: (frame) => transport.send(frame),
    sendText: (text) => transport.sendText(text),
    drained: () => transport.drained(),
    onFrame: (handler) => transport.onFrame(handler),
    onMalformed: (handler) => transport.onMalformed(handler),
    onClose: (handler) => transport.onClose(handler),
    onFault: (handler) => transport.onFault(handler),
    close: (reason, code) => transport.close(reason, code),
  };
}

const bareId = "01HZZZZZZZZZZZZZZZZZZZZZZZ";

/** No two requests have the same id, whoever sends them. */
let requests = 0;

export class Peer {
  readonly transport: Transport;
  readonly told: Told[] = [];
  closing: { readonly code: number; readonly reason: string } | undefined;

  constructor(transport: Transport) {
    this.transport = transport;
    transport.onFrame((frame) => void this.told.push(frame as unknown as Told));
    transport.onClose((_, closing) => {
      this.closing = closing;
    });
  }

  get isClosed(): boolean {
    return this.closing !== undefined;
  }

  get welcome(): Told {
    const welcome = this.told.find(({ type }) => type === "session.welcome");
    assert(welcome, `no welcome, but ${JSON.stringify(this.told)}`);
    return welcome;
  }

  get sessionId(): string {
    return this.welcome.session_id ?? "";
  }

  async hello(parts: HelloParts = {}): Promise<void> {
    const { token = "of ada", features: offered = features, resume, dialect } = parts;
    const payload = {
      client: { name: "peer", version: "1.0.0" },
      auth: { scheme: "bearer", token },
      capabilities: { features: offered, ...(dialect === "python" && { agents: [] }) },
      ...(resume && { resume }),
    };
    const id = dialect === "python" ? bareId : "hello";
    await this.transport.send({ arcp: "1.1", id, type: "session.hello", payload });
    await turns(6);
  }

  /** What a hello says to go on after a number. */
  resumeAfter(last_event_seq: number): JsonObject {
    const { session_id, resume_token } = this.welcome.payload;
    return { session_id, resume_token, last_event_seq };
  }

  /** Answers the id of the request. */
  async send(type: string, payload: JsonObject = {}, more: JsonObject = {}): Promise<string> {
    requests += 1;
    const id = `r${requests}`;
    await this.transport.send({ arcp: "1.1", id, type, ...more, payload });
    return id;
  }

  /** Answers what came for it, once everything has happened that can happen now. */
  async ask(type: string, payload: JsonObject = {}, more: JsonObject = {}): Promise<Told> {
    const id = await this.send(type, payload, more);
    const find = (): Told | undefined => this.told.find(({ payload }) => payload.request_id === id);
    // A connection that took long lets others run before its next frame.
    for (let tries = 0; tries < 100 && !find(); tries += 1) await turns(6);
    await turns(6);
    const answer = find();
    assert(answer, `no answer to ${type}, but ${this.types.join(" ")}`);
    return answer;
  }

  async submit(agent: string, more: JsonObject = {}): Promise<Told> {
    return await this.ask("job.submit", { agent, ...more });
  }

  get types(): readonly string[] {
    return this.told.map(({ type }) => type);
  }

  /** Frames with a number, each in a few words. */
  get story(): readonly string[] {
    return this.told.flatMap((frame) =>
      frame.event_seq === undefined ? [] : `${frame.event_seq} ${wordsOf(frame)}`,
    );
  }

  of(type: string): readonly Told[] {
    return this.told.filter((frame) => frame.type === type);
  }

  async drop(): Promise<void> {
    await this.transport.close();
    await turns(6);
  }
}

function wordsOf({ type, payload }: Told): string {
  switch (type) {
    case "job.event": {
      const { kind, body } = payload;
      return `${kind} ${body.message ?? body.phase ?? body.text ?? body.data ?? body.current ?? body.name ?? ""}`.trim();
    }
    case "job.result":
      return `result ${JSON.stringify(payload.result ?? payload.result_id)}`;
    default:
      return `${payload.final_status} ${payload.code}`;
  }
}
