/**
 * Work that an agent has claimed. The claim is extended as long as nobody says how it ended; whoever works
 * past a lost claim is told so when it completes, because somebody else may have the task by then.
 */
import type { TaskDetail, Task as TaskInfo } from "../wire/api/index.ts";
import type { AgentContext } from "./agent.ts";
import { type Cancellable, readTtl } from "./calls.ts";
import { elapsedMs, type Moment, now } from "./deadline.ts";
import { hasCode, TipstaffError } from "./errors.ts";
import { Hold } from "./hold.ts";
import { limits } from "./limits.ts";
import { type Granted, readWait, standInLine } from "./line.ts";
import { encodePayload, Payload, type PayloadValue } from "./payload.ts";

export type ClaimOptions = Cancellable & {
  /** Only tasks of these types; any, if none is named. */
  readonly types?: readonly string[] | undefined;
  /** Stand in line while there is nothing: as long as it takes, or so many milliseconds. */
  readonly wait?: boolean | number | undefined;
};

/** Refusals that say that the claim is no longer ours. */
const gone = [
  "claim_lost",
  "task_not_claimed",
  "task_claimed_by_another",
  "task_not_found",
  "task_ended",
  "agent_dead",
  "agent_not_found",
] as const;

/** Undefined if there is nothing to do in time. */
export async function claimTask(
  context: AgentContext,
  { types, wait = false, signal }: ClaimOptions,
): Promise<ClaimedTask | undefined> {
  const { calls, agentId } = context;
  const { clock } = calls;
  const begun = now(clock);
  const waitMs = readWait(wait);
  for (;;) {
    const since = now(clock);
    const granted = await standInLine<TaskDetail>({
      clock,
      waitMs: Math.max(0, waitMs - elapsedMs(clock, begun)),
      signal: context.signalFor(signal),
      poll: async ({ waitMs, ...options }) => {
        const input = { agentId, ...(types ? { types } : {}), ...(waitMs > 0 ? { waitMs } : {}) };
        const attemptMs = waitMs + limits.attemptMs;
        return (await calls.call("claimTask", input, { ...options, attemptMs })).task;
      },
      withdraw: context.withdraw,
    });
    if (!granted) return undefined;
    const claimed = await freshen(context, granted, since, signal);
    if (claimed) return claimed;
  }
}

/** After a long wait, or a lost answer, nobody knows how much of its time is left: see `lease.ts`. */
async function freshen(
  context: AgentContext,
  granted: Granted<TaskDetail>,
  since: Moment,
  signal: AbortSignal | undefined,
): Promise<ClaimedTask | undefined> {
  const { calls, agentId } = context;
  const { value: task, key } = granted;
  const claimMs = readTtl(task.claimMs, "time of the claim");
  if (elapsedMs(calls.clock, since) < claimMs / limits.renewalsPerTtl) {
    return new ClaimedTask(context, granted, since);
  }
  const before = now(calls.clock);
  const { id: taskId, claimToken = "" } = task;
  try {
    await calls.call("extendClaim", { taskId, agentId, claimToken }, { signal });
    return new ClaimedTask(context, granted, before);
  } catch (error) {
    if (hasCode(error, ...gone)) return undefined;
    context.withdraw(key);
    throw error;
  }
}

/**
 * Claims one task after the other; ends with the signal's reason. Whoever asks for the next task, breaks
 * off or throws without having completed or failed the last one has failed it; if the signal has aborted
 * by then, the task is given back unharmed.
 */
export async function* claimTasks(
  context: AgentContext,
  { types, signal }: Omit<ClaimOptions, "wait">,
): AsyncGenerator<ClaimedTask, void, undefined> {
  // From the first task to the last: cancelled tasks are heard of without a new stream for each.
  const unfollow = context.news.follow({});
  try {
    for (;;) {
      const task = await claimTask(context, { types, signal, wait: true });
      if (!task) continue;
      try {
        yield task;
      } finally {
        if (signal?.aborted) task.giveBack();
        else await task[Symbol.asyncDispose]();
      }
    }
  } finally {
    unfollow();
  }
}

export class ClaimedTask implements AsyncDisposable {
  readonly id: string;
  readonly type: string;
  /** How often it was claimed, this time included. */
  readonly deliveries: number;
  readonly input: Payload;
  /** All that the daemon said of it when it was claimed. */
  readonly info: TaskInfo;
  readonly #context: AgentContext;
  readonly #claim: {
    readonly taskId: string;
    readonly agentId: string;
    readonly claimToken: string;
  };
  readonly #key: string;
  readonly #hold: Hold;
  readonly #letGo: () => void;
  #isSettled = false;

  constructor(context: AgentContext, granted: Granted<TaskDetail>, since: Moment) {
    const { input, output: _, ...info } = granted.value;
    const { calls, agentId, news } = context;
    this.#key = granted.key;
    const { id, claimToken = "" } = info;
    this.id = id;
    this.type = info.type;
    this.deliveries = info.deliveries;
    this.input = new Payload(input);
    this.info = info;
    this.#context = context;
    this.#claim = { taskId: id, agentId, claimToken };
    const claimMs = readTtl(info.claimMs, "time of the claim");
    this.#hold = new Hold({
      clock: calls.clock,
      since,
      ttlMs: claimMs,
      renew: async (signal, leftMs) => {
        const options = { signal, patienceMs: 0, attemptMs: leftMs / 2 };
        await calls.call("extendClaim", this.#claim, options);
        return claimMs;
      },
      finalCodes: gone,
      toLoss: (cause) => this.#lost(cause),
    });
    const unfollow = news.follow({
      hear: (entry) => {
        if (entry.type !== "task.cancelled" || entry.task.id !== id) return;
        this.#hold.lose(new TipstaffError("task_ended", "it was cancelled"));
      },
    });
    const release = context.adopt(this.#hold);
    this.#letGo = () => {
      unfollow();
      release();
    };
    // Whoever forgets a lost task leaves no listener behind.
    this.#hold.signal.addEventListener("abort", this.#letGo, { once: true });
  }

  /** Aborts when the claim is lost or the task was cancelled: somebody else may do the work now. */
  get signal(): AbortSignal {
    return this.#hold.signal;
  }

  /** Rejects with `claim_lost` if the task was not ours any more; then nothing was changed. */
  async complete(output?: PayloadValue, { signal }: Cancellable = {}): Promise<void> {
    const result = { output: encodePayload(output) };
    await this.#settle(() =>
      this.#context.calls.call("completeTask", { ...this.#claim, ...result }, { signal }),
    );
  }

  /** It is retried if it may be, at once or after a while; otherwise it is dead. */
  async fail(
    reason = "",
    { retryAfterMs, signal }: Cancellable & { readonly retryAfterMs?: number | undefined } = {},
  ): Promise<void> {
    const pause = retryAfterMs === undefined ? {} : { retryAfterMs };
    await this.#settle(() =>
      this.#context.calls.call("failTask", { ...this.#claim, reason, ...pause }, { signal }),
    );
  }

  /** Puts it back to where it was in the queue, as if it had never been claimed. */
  giveBack(): void {
    if (this.#isSettled) return;
    if (this.#hold.isHeld) this.#context.withdraw(this.#key);
    this.#end();
  }

  /** Fails the task if nobody said how it ended. Does not insist: a claim runs out. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isSettled || !this.#hold.isHeld) return this.#end();
    const reason = "the worker left it without completing or failing it";
    const { calls } = this.#context;
    const options = { patienceMs: limits.closingMs };
    const failing = () => calls.call("failTask", { ...this.#claim, reason }, options);
    await this.#settle(failing).catch(() => this.#end());
  }

  async #settle(call: () => Promise<unknown>): Promise<void> {
    if (this.#isSettled) {
      throw new TipstaffError("closed", `task ${this.id} has been settled already`);
    }
    try {
      await call();
    } catch (error) {
      if (!hasCode(error, ...gone)) throw error;
      this.#hold.lose(error);
      this.#end();
      throw this.#lost(error);
    }
    this.#end();
  }

  #end(): void {
    this.#isSettled = true;
    this.#hold.end();
    this.#letGo();
  }

  #lost(cause: unknown): TipstaffError {
    const why = cause instanceof Error ? cause.message : "its time was up before it was extended";
    const message = `the claim on task ${this.id} is lost: ${why}`;
    return new TipstaffError("claim_lost", message, { cause });
  }
}
