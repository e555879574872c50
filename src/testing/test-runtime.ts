/** A runtime on a plane, in memory unless it is given a log, with one session to ask for jobs. */
import assert from "node:assert/strict";
import { type JobId, type Outcome, sessionId } from "../core/index.ts";
import type { Log } from "../log/index.ts";
import type { Plane } from "../plane/index.ts";
import type { Handler } from "../runtime/in-process.ts";
import { type JobRequest, Runtime, type RuntimeOptions } from "../runtime/runtime.ts";
import { openSession } from "./commands.ts";
import type { ManualClock } from "./manual-clock.ts";
import { openPlane } from "./test-plane.ts";

export class TestRuntime implements AsyncDisposable {
  readonly clock: ManualClock;
  readonly plane: Plane;
  readonly runtime: Runtime;
  #requests = 0;

  private constructor(plane: Plane, runtime: Runtime, clock: ManualClock) {
    this.plane = plane;
    this.runtime = runtime;
    this.clock = clock;
  }

  static async open({
    log,
    ...options
  }: Partial<RuntimeOptions> & { readonly log?: Log } = {}): Promise<TestRuntime> {
    const { plane, clock } = await openPlane(log && { log });
    const onFault = (fault: unknown): void => {
      throw fault;
    };
    let ids = 0;
    const newId = (kind: string): string => `${kind}_${++ids}`;
    const runtime = new Runtime({ plane, clock, newId, onFault, ...options });
    await plane.submit(openSession("ada"), { actor: "test" }, () => undefined);
    return new TestRuntime(plane, runtime, clock);
  }

  /** Until it has ended, whatever it came to. */
  async run(handler: Handler, request: Partial<JobRequest> = {}): Promise<Outcome> {
    using _agent = this.runtime.registerAgent("agent", handler);
    return await this.runtime.ending(this.ask(request));
  }

  ask(request: Partial<JobRequest> = {}): JobId {
    const { value, refusal } = this.runtime.ask({
      agent: "agent",
      input: "null",
      sessionId: sessionId("sess_ada"),
      principal: "ada",
      requestId: `request ${++this.#requests}`,
      traceId: "1".repeat(32),
      ...request,
    });
    if (refusal) assert.fail(refusal.message);
    return value.job.id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.runtime[Symbol.dispose]();
    await this.plane[Symbol.asyncDispose]();
  }
}

/** What a job came to, read; fails if it came to nothing. */
export function resultOf(outcome: Outcome): unknown {
  if (outcome.status !== "success") assert.fail(`${outcome.status}: ${outcome.failure.message}`);
  return outcome.result === undefined ? undefined : JSON.parse(outcome.result);
}
