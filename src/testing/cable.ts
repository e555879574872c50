/**
 * What lies between a worker and the runtime, in the hands of a test: frames pass one by one when the test says
 * so, or by themselves; either end may notice that it is cut while the other does not.
 */
import type { ProgramLink, WorkerProgram } from "../client/worker/worker-program.ts";
import type { AttachedWorker, RemoteWorkers } from "../runtime/remote/remote-workers.ts";
import type { JsonObject } from "../wire/arcp/index.ts";

type Passing = readonly [type: string, payload: string];

export class Cable {
  /** Of what was refused, the codes. */
  readonly refused: string[] = [];
  /** Types of the frames that passed, without the prefix that all have. */
  readonly passed: string[] = [];
  readonly #up: Passing[] = [];
  readonly #down: Passing[] = [];
  readonly #runtimeEnd: AttachedWorker;
  readonly #workerEnd: ProgramLink;
  #isFlowing: boolean;
  #isUpCut = false;
  #isDownCut = false;
  #isWelcome = false;

  constructor(
    workers: RemoteWorkers,
    program: WorkerProgram,
    {
      principal = "worker",
      isFlowing = true,
      ...more
    }: {
      readonly principal?: string;
      readonly isFlowing?: boolean;
      readonly canReturn?: boolean;
    } = {},
  ) {
    this.#isFlowing = isFlowing;
    const link = { sessionId: "sess_worker", principal, ...more };
    this.#runtimeEnd = workers.attach({
      ...link,
      send: (type, payload) => this.#put(this.#down, type, payload),
    });
    this.#workerEnd = program.connect((type, payload) => this.#put(this.#up, type, payload), {
      onWelcome: () => {
        this.#isWelcome = true;
      },
      onRefused: (code) => this.refused.push(code),
    });
  }

  get isWelcome(): boolean {
    return this.#isWelcome;
  }

  /** Both ends think that it holds. */
  get isWhole(): boolean {
    return !this.#isUpCut && !this.#isDownCut;
  }

  /** Frames under way. */
  get queued(): number {
    return this.#up.length + this.#down.length;
  }

  flow(isFlowing: boolean): void {
    this.#isFlowing = isFlowing;
    if (isFlowing) setImmediate(() => this.#drain());
  }

  /** Lets one frame pass. */
  pass(direction: "up" | "down"): boolean {
    const passing = (direction === "up" ? this.#up : this.#down).shift();
    if (!passing) return false;
    const [type, text] = passing;
    const isCut = direction === "up" ? this.#isUpCut : this.#isDownCut;
    if (isCut) return true;
    this.passed.push(type.replace("x-vendor.tipstaff.worker.", ""));
    (direction === "up" ? this.#runtimeEnd : this.#workerEnd).receive(type, JSON.parse(text));
    return true;
  }

  /** What is under way is lost. An end that does not notice goes on sending into the void. */
  cut(ends: { readonly runtime: boolean; readonly worker: boolean } = both): void {
    this.#up.length = 0;
    this.#down.length = 0;
    if (ends.runtime && !this.#isUpCut) {
      this.#isUpCut = true;
      this.#runtimeEnd.detached();
    }
    if (ends.worker && !this.#isDownCut) {
      this.#isDownCut = true;
      this.#workerEnd.lost();
    }
  }

  #put(queue: Passing[], type: string, payload: JsonObject): void {
    if (this.#isUpCut || this.#isDownCut) return;
    queue.push([type, JSON.stringify(payload)]);
    if (this.#isFlowing) setImmediate(() => this.#drain());
  }

  #drain(): void {
    while (this.#isFlowing && (this.pass("up") || this.pass("down"))) {
      // Until nothing is under way.
    }
  }
}

const both = { runtime: true, worker: true } as const;
