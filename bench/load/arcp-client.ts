/**
 * The load generator of the ARCP bench: a WebSocket, frames written by hand, and as little reading as will do.
 * It is no client: it knows what the bench's agents say, counts it, and fails at the first frame that is out
 * of order or unexpected. It speaks neither dialect in particular, so that every runtime takes it.
 */
import { once } from "node:events";
import { WebSocket } from "ws";

export type JobsLoad = {
  readonly jobs: number;
  readonly seconds: number;
  readonly durationsMs: readonly number[];
};

/** The parts of a frame that somebody looks at. */
type Frame = {
  readonly type: string;
  readonly job_id?: string;
  readonly event_seq?: number;
  readonly payload: {
    readonly job_id?: string;
    readonly request_id?: string;
    readonly kind?: string;
    readonly code?: string;
    readonly message?: string;
    readonly final_status?: string;
  };
};

const typeKey = Buffer.from('"type":"');
const logKind = Buffer.from('"kind":"log"');
const letterV = "v".charCodeAt(0);
/** Every so many events one is read whole, to see whether the counting is right. */
const sampleEvents = 1_024;

/** One connection and one session. */
export class RawSession implements Disposable {
  readonly #socket: WebSocket;
  readonly #failed = Promise.withResolvers<never>();
  #heard: (frame: Frame) => void = () => {};
  /** Where the type of a frame begins: the same in all frames, since ids are of one length. */
  #typeAt = -1;
  #submits = 0;
  #lastEnded = "";
  /** How many numbers the session has given out, and how many log events were among them. */
  #numbered = 0;
  #logEvents = 0;

  static async open(url: string): Promise<RawSession> {
    const options = { perMessageDeflate: false, skipUTF8Validation: true } as const;
    const socket = new WebSocket(url, options);
    await once(socket, "open");
    const session = new RawSession(socket);
    const welcome = session.#next("session.welcome");
    socket.send(
      `{"arcp":"1.1","id":"${idOf(0)}","type":"session.hello","payload":{"client":{"name":"bench","version":"1.0.0"},"auth":{"scheme":"bearer","token":"bench-token"},"capabilities":{"encodings":["json"],"features":["subscribe"]}}}`,
    );
    await welcome;
    return session;
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    // Whoever waits hears of it.
    this.#failed.promise.catch(() => {});
    const fail = (reason: string): void => this.#failed.reject(new Error(reason));
    socket.on("error", (error) => fail(error.message));
    socket.on("close", (code) => fail(`the connection was closed with ${code}`));
    socket.on("message", (data) => {
      try {
        this.#take(data as Buffer);
      } catch (error) {
        this.#failed.reject(error);
      }
    });
  }

  get logEvents(): number {
    return this.#logEvents;
  }

  /** Keeps so many jobs under way for so long, then awaits those that are. */
  async runJobs(
    agent: string,
    { inFlight, seconds }: { readonly inFlight: number; readonly seconds: number },
  ): Promise<JobsLoad> {
    const durationsMs: number[] = [];
    const startedMs = new Map<string, number>();
    const requests = new Map<string, number>();
    const { promise, resolve } = Promise.withResolvers<void>();
    const beganMs = performance.now();
    const submit = (): void => {
      requests.set(this.#submit(agent, { a: 1 }), performance.now());
    };
    this.#heard = (frame) => {
      if (frame.type === "job.accepted") {
        const { request_id = "", job_id = "" } = frame.payload;
        const sentMs = requests.get(request_id);
        if (sentMs === undefined) throw new Error(`nobody asked for ${request_id}`);
        requests.delete(request_id);
        startedMs.set(job_id, sentMs);
      } else if (frame.type === "job.result") {
        const nowMs = performance.now();
        const sentMs = startedMs.get(frame.job_id ?? "");
        if (sentMs === undefined) throw new Error(`${frame.job_id} was not accepted`);
        startedMs.delete(frame.job_id ?? "");
        durationsMs.push(nowMs - sentMs);
        if (nowMs - beganMs < seconds * 1_000) submit();
        else if (startedMs.size + requests.size === 0) resolve();
      }
    };
    for (let number = 0; number < inFlight; number++) submit();
    await Promise.race([promise, this.#failed.promise]);
    return {
      jobs: durationsMs.length,
      seconds: (performance.now() - beganMs) / 1_000,
      durationsMs,
    };
  }

  /** Resolves with the id of the job when it is accepted. */
  async submit(agent: string, input: unknown): Promise<string> {
    this.#submit(agent, input);
    const { payload } = await this.#next("job.accepted");
    return payload.job_id ?? "";
  }

  async subscribe(jobId: string): Promise<void> {
    this.#socket.send(
      `{"arcp":"1.1","id":"${idOf(++this.#submits)}","type":"job.subscribe","job_id":"${jobId}","payload":{"job_id":"${jobId}","history":false}}`,
    );
    await this.#next("job.subscribed");
  }

  /** Resolves when a job has ended well, which may have come together with its acceptance. */
  async ended(jobId: string): Promise<void> {
    if (this.#lastEnded !== jobId) await this.#next("job.result", jobId);
  }

  /** A reader that no longer reads. */
  stopReading(): void {
    this.#socket.pause();
  }

  readOn(): void {
    this.#socket.resume();
  }

  [Symbol.dispose](): void {
    this.#socket.removeAllListeners("close");
    this.#socket.terminate();
  }

  #submit(agent: string, input: unknown): string {
    const id = idOf(++this.#submits);
    this.#socket.send(
      `{"arcp":"1.1","id":"${id}","type":"job.submit","payload":{"agent":"${agent}","input":${JSON.stringify(input)}}}`,
    );
    return id;
  }

  async #next(type: string, jobId?: string): Promise<Frame> {
    const { promise, resolve } = Promise.withResolvers<Frame>();
    this.#heard = (frame) => {
      if (frame.type === type && (jobId === undefined || frame.job_id === jobId)) resolve(frame);
    };
    return await Promise.race([promise, this.#failed.promise]);
  }

  #take(data: Buffer): void {
    // The sixth letter of `job.event` is that of no other type.
    const isEvent = data[this.#typeAt + 5] === letterV;
    if (isEvent && ++this.#numbered % sampleEvents !== 0) {
      if (data.indexOf(logKind) !== -1) this.#logEvents += 1;
      return;
    }
    const frame = JSON.parse(data.toString()) as Frame;
    if (this.#typeAt === -1) this.#typeAt = data.indexOf(typeKey) + typeKey.length;
    if (frame.event_seq !== undefined) {
      if (!isEvent) this.#numbered += 1;
      if (frame.event_seq !== this.#numbered) {
        throw new Error(`number ${frame.event_seq} came where ${this.#numbered} was due`);
      }
    }
    if (frame.type === "job.event" && frame.payload.kind === "log") this.#logEvents += 1;
    const { code, message, final_status = "success" } = frame.payload;
    if (frame.type.endsWith(".error") || final_status !== "success") {
      throw new Error(`${frame.type} ${code ?? final_status}: ${message ?? ""}`);
    }
    if (frame.type === "job.result") this.#lastEnded = frame.job_id ?? "";
    this.#heard(frame);
  }
}

/** In the form of a ULID, which everybody takes. */
function idOf(number: number): string {
  return `msg_01JZ0000000000${String(number).padStart(12, "0")}`;
}
