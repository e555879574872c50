/** A job as a command follows it: its frames as they came, and what to do when somebody presses ctrl-c. */
import type {
  ARCPClient,
  JobDone,
  JobHandle,
  JsonObject,
  ReceivedEvent,
} from "../../client/arcp/index.ts";
import { exits } from "../exits.ts";

/** The payload of the frame that ended each job, as it came. */
export class Endings {
  readonly #payloads = new Map<string, JsonObject>();

  constructor(client: ARCPClient) {
    for (const type of ["job.result", "job.error"]) {
      client.on(type, ({ jobId, payload }) => {
        if (jobId !== undefined) this.#payloads.set(jobId, payload);
      });
    }
  }

  of(jobId: string): JsonObject | undefined {
    return this.#payloads.get(jobId);
  }
}

/** An event as one line of JSON (ARCP-226). */
export function lineOf({ kind, ts, body, eventSeq }: ReceivedEvent): JsonObject {
  return { kind, ts, body, event_seq: eventSeq };
}

/** A streamed result in its place: a text, or bytes as base64. */
export async function withResult(job: JobHandle, done: JobDone): Promise<JsonObject> {
  if (done.result_id === undefined) return { ...done };
  const { final_status, ...rest } = done;
  const whole = await job.collectChunks();
  return { final_status, result: typeof whole === "string" ? whole : base64Of(whole), ...rest };
}

function base64Of(bytes: Uint8Array): JsonObject {
  return { encoding: "base64", data: Buffer.from(bytes).toString("base64") };
}

/** Asks for the end of a job. Answers whether there was one to ask for: a runtime says nothing of those that ended. */
export async function askToEnd(
  client: ARCPClient,
  jobId: string,
  reason: string | undefined,
): Promise<boolean> {
  const job = await client.subscribe(jobId);
  if (!/^(?:pending|running)$/.test(job.currentStatus)) return false;
  const ended = job.done.then(
    () => undefined,
    () => undefined,
  );
  await Promise.race([client.cancelJob(jobId, { reason }), ended]);
  return true;
}

/** The first ctrl-c asks, the second ends the process. */
export class Interruption implements Disposable {
  #isAsked = false;
  readonly #onSignal: () => void;

  /** `leave`: what there is to say before the process ends. */
  constructor(ask: () => void, leave: () => void = () => undefined) {
    this.#onSignal = () => {
      if (this.#isAsked) {
        leave();
        process.exit(exits.interrupted);
      }
      this.#isAsked = true;
      ask();
    };
    process.on("SIGINT", this.#onSignal);
  }

  get isAsked(): boolean {
    return this.#isAsked;
  }

  [Symbol.dispose](): void {
    process.off("SIGINT", this.#onSignal);
  }
}
