/**
 * A job of ours, from the moment it is asked for: ctrl-c cancels it. Before it is accepted there is nothing to cancel
 * yet, and whoever went away then would not know whether it runs; so the wait for it goes on, and the wish is kept.
 */
import type { ARCPClient, JobHandle, SubmitOptions } from "../../client/arcp/index.ts";
import { printable, say } from "../../terminal/index.ts";
import { Interruption } from "./following.ts";

export class Submission implements Disposable {
  readonly interruption: Interruption;
  readonly #client: ARCPClient;
  readonly #asked = new AbortController();
  #job: JobHandle | undefined;

  /** `list`: the command that shows whether the job is there, for who left before that was known. */
  constructor(client: ARCPClient, list: string) {
    this.#client = client;
    this.interruption = new Interruption(
      () => this.#ask(),
      () => {
        if (!this.#job) say(`left before the job was accepted; it may run: ${list} shows it\n`);
      },
    );
  }

  /** Aborted by the first ctrl-c. */
  get cancelling(): AbortSignal {
    return this.#asked.signal;
  }

  /** Rejects as the client's does. A job that is not wanted any more when it is accepted is asked to end first. */
  async submit(options: SubmitOptions): Promise<JobHandle> {
    const job = await this.#client.submit(options);
    this.#job = job;
    if (this.interruption.isAsked) say(`${await this.#cancelLate(job)}\n`);
    return job;
  }

  /** From here on, ctrl-c ends the process. */
  [Symbol.dispose](): void {
    this.interruption[Symbol.dispose]();
  }

  #ask(): void {
    this.#asked.abort();
    if (!this.#job) {
      say("the job is not accepted yet, and cancelled when it is; ctrl-c again leaves it\n");
      return;
    }
    // How it ends is heard in any case.
    this.#cancel(this.#job).catch(() => undefined);
  }

  async #cancelLate(job: JobHandle): Promise<string> {
    const jobId = printable(job.jobId);
    try {
      await this.#cancel(job);
      return `${jobId} was accepted, and is asked to end`;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return `${jobId} was accepted, and cannot be cancelled: ${printable(why)}`;
    }
  }

  #cancel({ jobId }: JobHandle): Promise<void> {
    return this.#client.cancelJob(jobId, { reason: "cancelled with ctrl-c" });
  }
}
