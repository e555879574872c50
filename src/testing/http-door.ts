/**
 * A real HTTP door over a plane in this process, and a caller of its API. Every answer is held to what
 * the API's document says of it: status, fields and codes.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request as ask, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { findAsked, refuse } from "../core/index.ts";
import {
  Credentials,
  type HttpDoor,
  type HttpDoorOptions,
  Metrics,
  openHttpDoor,
  Timeline,
} from "../doors/http/index.ts";
import { type Log, MemoryLog } from "../log/index.ts";
import { Plane } from "../plane/index.ts";
import { WorkView } from "../views/index.ts";
import {
  type Answer,
  type ErrorBody,
  type Input,
  type OperationName,
  request,
} from "../wire/api/index.ts";
import { errorSchema, operations, refusalsOf, statusOf } from "../wire/openapi/index.ts";
import { submitJob } from "./commands.ts";
import { ManualClock } from "./manual-clock.ts";

export type TestDoorOptions = Partial<Omit<HttpDoorOptions, "submitJob">> & {
  /** Undefined: nobody takes jobs. */
  readonly submitJob?: HttpDoorOptions["submitJob"] | undefined;
  readonly log?: Log;
  readonly clock?: ManualClock;
};

export type Asked = {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
};
export type Answered = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
};

export type CallOptions = {
  /** The `Idempotency-Key`. */
  readonly key?: string;
  /** Null: none. By default, the right one. */
  readonly token?: string | null;
  readonly signal?: AbortSignal;
};

export type Called<Value> =
  | { readonly value: Value; readonly error?: never }
  | { readonly error: ErrorBody["error"]; readonly value?: never };

export const testToken = "secret";

export async function openTestDoor(options: TestDoorOptions = {}): Promise<TestDoor> {
  const { log = new MemoryLog(), clock = new ManualClock(), ...given } = options;
  const faults: unknown[] = [];
  const onFault = (fault: unknown): void => {
    faults.push(fault);
  };
  const work = new WorkView();
  const plane = await Plane.open({ log, clock, views: [work], onFault });
  const about = { version: "1.2.3", planeId: "plane-1", startedAtMs: 0, pid: 42, isKept: false };
  const { submitJob: taker = takeJobs(plane), ...rest } = given;
  const isTaking = !("submitJob" in given) || given.submitJob !== undefined;
  const door = await openHttpDoor(plane, {
    places: [{ host: "127.0.0.1", port: 0 }],
    about: () => about,
    metrics: testMetrics(),
    timeline: new Timeline(() => clock.nowMs()),
    credentials: new Credentials(testToken),
    find: (question) => findByTools(plane, question),
    ranking: () => ({ ranking: "table" }),
    lookAround: async () => [],
    lookClosely: (seen) => seen,
    work,
    ...(isTaking ? { submitJob: taker } : {}),
    isReady: () => true,
    onFault,
    ...rest,
  });
  return new TestDoor({ plane, clock, door, faults, line: countLine(plane) });
}

/** How many wait for something. */
type Line = { size: number };

function countLine(plane: Plane): Line {
  const line = { size: 0 };
  const wait = plane.wait.bind(plane);
  plane.wait = async (command, caller, look, options) => {
    const waiting = wait(command, caller, look, options);
    line.size += 1;
    try {
      return await waiting;
    } finally {
      line.size -= 1;
    }
  };
  return line;
}

/** Takes what is asked of `echo@1`, and lets it wait. */
function takeJobs(plane: Plane): NonNullable<HttpDoorOptions["submitJob"]> {
  let count = 0;
  return async ({ agent, ...asked }) => {
    const [name, version = "1"] = agent.split("@");
    const refusal =
      name !== "echo"
        ? refuse("skill_not_found", `nobody offers ${agent}`)
        : version !== "1"
          ? refuse("skill_version_not_found", `nobody offers ${agent}`)
          : undefined;
    count += 1;
    const {
      sessionId: _,
      requestId: __,
      traceId: ___,
      ...bare
    } = submitJob(`job_${count}`, "local");
    const job = { ...bare, ...asked, agent: refusal ?? { name: "echo@1" } };
    const outcome = await plane.submit(
      job,
      { actor: "test" },
      ({ jobs }, [event]) => (event?.type === "job.accepted" && event.job) || findAsked(jobs, job),
    );
    if (outcome.refusal) return outcome;
    assert(outcome.value);
    return { value: { job: outcome.value } };
  };
}

let metrics: Metrics | undefined;

/** They observe the whole process: one for all doors. */
function testMetrics(): Metrics {
  metrics ??= new Metrics({ methods: [] });
  return metrics;
}

/** Agents that are alive and have the tools, newest first. */
function findByTools(
  plane: Plane,
  { tools, limit }: Parameters<HttpDoorOptions["find"]>[0],
): ReturnType<HttpDoorOptions["find"]> {
  return plane.read(({ registry }) => ({
    hits: [...registry.agents.values()]
      .filter(({ liveness }) => liveness === "alive")
      .filter(({ card }) => tools.every((tool) => card.tools.includes(tool)))
      .slice(-limit)
      .reverse()
      .map(({ id }) => ({ agentId: id, score: 0.5, matched: [] })),
    ranking: "table",
  }));
}

export class TestDoor implements AsyncDisposable {
  readonly plane: Plane;
  readonly clock: ManualClock;
  readonly door: HttpDoor;
  /** What the door and the plane said was wrong with us. */
  readonly faults: readonly unknown[];
  readonly #line: Line;

  constructor(
    parts: Pick<TestDoor, "plane" | "clock" | "door" | "faults"> & { readonly line: Line },
  ) {
    this.plane = parts.plane;
    this.clock = parts.clock;
    this.door = parts.door;
    this.faults = parts.faults;
    this.#line = parts.line;
  }

  /** Resolves when so many stand in line. */
  async waiting(count: number): Promise<void> {
    while (this.#line.size !== count) await new Promise(setImmediate);
  }

  get port(): number {
    const [place] = this.door.places;
    assert(place && "port" in place);
    return place.port;
  }

  /** A request as it is, and its whole answer. */
  async ask(method: string, path: string, asked: Asked = {}): Promise<Answered> {
    const incoming = await this.open(method, path, asked);
    let text = "";
    for await (const chunk of incoming.setEncoding("utf8")) text += chunk;
    return { status: incoming.statusCode ?? 0, headers: incoming.headers, text };
  }

  /** The beginning of an answer. */
  async open(method: string, path: string, asked: Asked = {}): Promise<IncomingMessage> {
    const { headers = {}, body, signal } = asked;
    const setHost = headers["Host"] === undefined;
    const where = { host: "127.0.0.1", port: this.port, agent: false, setHost };
    const asking = ask({ ...where, method, path, headers, ...(signal ? { signal } : {}) });
    asking.end(body);
    const [incoming]: IncomingMessage[] = await once(asking, "response");
    assert(incoming);
    return incoming;
  }

  /** Calls an operation, and holds its answer to the document. */
  async call<Name extends OperationName>(
    name: Name,
    input: Input<Name>,
    { key, token = testToken, signal }: CallOptions = {},
  ): Promise<Called<Answer<Name>>> {
    const { method, path, body } = request(name, input);
    const headers = {
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...(key === undefined ? {} : { "Idempotency-Key": key }),
      ...(body ? { "Content-Type": "application/json" } : {}),
    };
    const asked = { headers, ...(body ? { body: JSON.stringify(body) } : {}) };
    const answered = await this.ask(method, path, { ...asked, ...(signal ? { signal } : {}) });
    return hold(name, answered);
  }

  /** Calls an operation that must be carried out. */
  async done<Name extends OperationName>(
    name: Name,
    input: Input<Name>,
    options?: CallOptions,
  ): Promise<Answer<Name>> {
    const { value, error } = await this.call(name, input, options);
    assert(!error, `${name}: ${error?.code} ${error?.message}`);
    return value;
  }

  /** Calls an operation that must be refused. */
  async refused<Name extends OperationName>(
    name: Name,
    input: Input<Name>,
    options?: CallOptions,
  ): Promise<ErrorBody["error"]> {
    const { error } = await this.call(name, input, options);
    assert(error, `${name} was not refused`);
    return error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.door[Symbol.asyncDispose]();
    await this.plane[Symbol.asyncDispose]();
  }
}

/** What an operation answered, if it is what the document says that it answers. */
export function hold<Name extends OperationName>(
  name: Name,
  { status, headers, text }: Answered,
): Called<Answer<Name>> {
  const operation = operations[name];
  const said: unknown = JSON.parse(text);
  assert.match(headers["content-type"] ?? "", /^application\/json\b/);
  if (status < 300) {
    assert.equal(status, operation.status ?? 200);
    const value = operation.answer.parse(said);
    // What the schema does not know it would have left out.
    assert.deepEqual(value, said, `${name} answers as its schema says`);
    return { value };
  }
  const body = errorSchema.parse(said);
  assert.deepEqual(body, said);
  const { error } = body;
  assert.equal(status, statusOf[error.code], error.code);
  assert(refusalsOf(name).includes(error.code), `${name} does not name ${error.code}`);
  return { error };
}
