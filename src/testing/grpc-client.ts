/**
 * What tests of the AgentKeeper door lean on: a real door in this process, an independent client for it
 * (@grpc/grpc-js with our generated codecs), and a bare HTTP/2 connection for bytes that no proper
 * client would send.
 */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type OutgoingHttpHeaders,
  type Settings,
} from "node:http2";
import {
  Client,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import { describe } from "../core/index.ts";
import { type Find, type GrpcDoorOptions, openGrpcDoor } from "../doors/grpc/index.ts";
import { type Log, MemoryLog } from "../log/index.ts";
import { type Clock, keepTime, Plane } from "../plane/index.ts";
import { FindView } from "../views/index.ts";
import {
  type AcquireLeaseRequest,
  type AcquireLeaseResponse,
  AgentInfo,
  type CampaignRequest,
  type CampaignResponse,
  type CheckPolicyRequest,
  type CheckPolicyResponse,
  type ClaimTaskRequest,
  type ClaimTaskResponse,
  type CompleteTaskRequest,
  type CompleteTaskResponse,
  type CreateTaskRequest,
  type CreateTaskResponse,
  type DeletePolicyRequest,
  type DeletePolicyResponse,
  type DeregisterRequest,
  type DeregisterResponse,
  ElectionServiceDefinition,
  ElectionState,
  EntitlementsServiceDefinition,
  type Event,
  type FailTaskRequest,
  type FailTaskResponse,
  type FindRequest,
  type FindResponse,
  type GetAgentRequest,
  type GetAgentResponse,
  type GetTaskRequest,
  type GetTaskResponse,
  type HeartbeatRequest,
  type HeartbeatResponse,
  Lease,
  LeaseServiceDefinition,
  type ListPoliciesRequest,
  type ListPoliciesResponse,
  type ListTasksRequest,
  type ListTasksResponse,
  type MessageType,
  Policy,
  type RegisterRequest,
  type RegisterResponse,
  RegistryServiceDefinition,
  type ReleaseLeaseRequest,
  type ReleaseLeaseResponse,
  type RenewLeaseRequest,
  type RenewLeaseResponse,
  type ResignRequest,
  type ResignResponse,
  type SetPolicyRequest,
  type SetPolicyResponse,
  Task,
  TaskServiceDefinition,
  type WatchElectionRequest,
  type WatchRequest,
} from "../wire/agentkeeper/index.ts";
import {
  frame,
  type HealthCheckRequest,
  type HealthCheckResponse,
  HealthDefinition,
  type StatusName,
  statusNumbers,
  Unframer,
} from "../wire/grpc/index.ts";
import { ManualClock } from "./manual-clock.ts";

export type CallOptions = {
  /** Sent along as `grpc-timeout`. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly metadata?: Readonly<Record<string, string>>;
};

/** Fields that are left out are empty, as on the wire. Rejects with a `StatusError`. */
export type Call<Request, Response> = (
  request: Partial<Request>,
  options?: CallOptions,
) => Promise<Response>;

export type OpenStream<Request, Response> = (request: Partial<Request>) => Stream<Response>;

/** A method of a service, as generated code describes it, with the name of its service. */
export type MethodAt<Request, Response> = {
  readonly path: string;
  readonly requestType: MessageType<Request>;
  readonly responseType: MessageType<Response>;
};

/** How a call ended that did not end well. */
export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly status: StatusName;

  constructor(status: StatusName, message: string) {
    super(message);
    this.status = status;
  }
}

const registry = RegistryServiceDefinition;
const leases = LeaseServiceDefinition;
const elections = ElectionServiceDefinition;
const entitlements = EntitlementsServiceDefinition;
const tasks = TaskServiceDefinition;

/** All 22 methods, over one HTTP/2 connection of its own. */
export class GrpcClient implements Disposable {
  readonly #client: Client;

  constructor(port: number) {
    this.#client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
      "grpc.use_local_subchannel_pool": 1,
      "grpc.enable_retries": 0,
      "grpc.max_receive_message_length": -1,
      "grpc.max_send_message_length": -1,
    });
  }

  readonly register: Call<RegisterRequest, RegisterResponse> = this.unary(
    at(registry, registry.methods.register),
  );
  readonly heartbeat: Call<HeartbeatRequest, HeartbeatResponse> = this.unary(
    at(registry, registry.methods.heartbeat),
  );
  readonly deregister: Call<DeregisterRequest, DeregisterResponse> = this.unary(
    at(registry, registry.methods.deregister),
  );
  readonly getAgent: Call<GetAgentRequest, GetAgentResponse> = this.unary(
    at(registry, registry.methods.getAgent),
  );
  readonly find: Call<FindRequest, FindResponse> = this.unary(at(registry, registry.methods.find));
  readonly watch: OpenStream<WatchRequest, Event> = this.stream(
    at(registry, registry.methods.watch),
  );
  readonly acquireLease: Call<AcquireLeaseRequest, AcquireLeaseResponse> = this.unary(
    at(leases, leases.methods.acquireLease),
  );
  readonly renewLease: Call<RenewLeaseRequest, RenewLeaseResponse> = this.unary(
    at(leases, leases.methods.renewLease),
  );
  readonly releaseLease: Call<ReleaseLeaseRequest, ReleaseLeaseResponse> = this.unary(
    at(leases, leases.methods.releaseLease),
  );
  readonly campaign: Call<CampaignRequest, CampaignResponse> = this.unary(
    at(elections, elections.methods.campaign),
  );
  readonly resign: Call<ResignRequest, ResignResponse> = this.unary(
    at(elections, elections.methods.resign),
  );
  readonly watchElection: OpenStream<WatchElectionRequest, Event> = this.stream(
    at(elections, elections.methods.watchElection),
  );
  readonly setPolicy: Call<SetPolicyRequest, SetPolicyResponse> = this.unary(
    at(entitlements, entitlements.methods.setPolicy),
  );
  readonly deletePolicy: Call<DeletePolicyRequest, DeletePolicyResponse> = this.unary(
    at(entitlements, entitlements.methods.deletePolicy),
  );
  readonly listPolicies: Call<ListPoliciesRequest, ListPoliciesResponse> = this.unary(
    at(entitlements, entitlements.methods.listPolicies),
  );
  readonly checkPolicy: Call<CheckPolicyRequest, CheckPolicyResponse> = this.unary(
    at(entitlements, entitlements.methods.checkPolicy),
  );
  readonly createTask: Call<CreateTaskRequest, CreateTaskResponse> = this.unary(
    at(tasks, tasks.methods.createTask),
  );
  readonly claimTask: Call<ClaimTaskRequest, ClaimTaskResponse> = this.unary(
    at(tasks, tasks.methods.claimTask),
  );
  readonly completeTask: Call<CompleteTaskRequest, CompleteTaskResponse> = this.unary(
    at(tasks, tasks.methods.completeTask),
  );
  readonly failTask: Call<FailTaskRequest, FailTaskResponse> = this.unary(
    at(tasks, tasks.methods.failTask),
  );
  readonly getTask: Call<GetTaskRequest, GetTaskResponse> = this.unary(
    at(tasks, tasks.methods.getTask),
  );
  readonly listTasks: Call<ListTasksRequest, ListTasksResponse> = this.unary(
    at(tasks, tasks.methods.listTasks),
  );

  /**
   * Resolves when the server has handled all that was sent before on this connection, and all that it sent before has
   * arrived: a connection keeps the order. Its answer does not wait for the log, so it comes also while that is held.
   * Two round trips, because what the first makes the server do may be sent behind its answer.
   */
  async fence(): Promise<void> {
    for (let trip = 0; trip < 2; trip += 1) await this.#checkHealth({});
  }

  readonly #checkHealth: Call<HealthCheckRequest, HealthCheckResponse> = this.unary(
    at(HealthDefinition, HealthDefinition.methods.check),
  );

  /** Any unary method. */
  unary<Request, Response>(method: MethodAt<Request, Response>): Call<Request, Response> {
    const { path, requestType, responseType } = method;
    return (request, { timeoutMs, signal, metadata = {} } = {}) => {
      const { promise, resolve, reject } = Promise.withResolvers<Response>();
      const sent = new Metadata();
      for (const [name, value] of Object.entries(metadata)) sent.set(name, value);
      const call = this.#client.makeUnaryRequest(
        path,
        (message: Request) => printed(requestType, message),
        (bytes: Buffer) => responseType.decode(bytes),
        completed(requestType, request),
        sent,
        timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs },
        (error: ServiceError | null, reply?: Response) => {
          if (error) reject(asStatus(error));
          else if (reply !== undefined) resolve(reply);
          else reject(new Error("neither a reply nor an error"));
        },
      );
      signal?.addEventListener("abort", () => call.cancel());
      return withPatience(promise, path, () => call.cancel());
    };
  }

  /** Any server stream. */
  stream<Request, Response>(method: MethodAt<Request, Response>): OpenStream<Request, Response> {
    const { path, requestType, responseType } = method;
    return (request) =>
      new Stream(
        this.#client.makeServerStreamRequest(
          path,
          (message: Request) => printed(requestType, message),
          (bytes: Buffer) => responseType.decode(bytes),
          completed(requestType, request),
        ),
      );
  }

  close(): void {
    this.#client.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

export type StreamEnd = { readonly status: StatusName; readonly message: string };

/** What a server sends on one stream. Whoever opens it cancels it. */
export class Stream<Message> implements Disposable {
  readonly #call: ClientReadableStream<Message>;
  readonly #waiting: Message[] = [];
  readonly #wakers = new Set<() => void>();
  readonly #begun: Promise<void>;
  readonly #ended: Promise<StreamEnd>;
  #end: StreamEnd | undefined;

  constructor(call: ClientReadableStream<Message>) {
    this.#call = call;
    call.on("data", (message: Message) => {
      this.#waiting.push(message);
      this.#stir();
    });
    // What an error says is also in the status.
    call.on("error", () => {});
    this.#ended = new Promise((resolve) => {
      call.once("status", ({ code, details }) => {
        this.#end = { status: statusName(code), message: details };
        this.#stir();
        resolve(this.#end);
      });
    });
    this.#begun = new Promise((resolve, reject) => {
      call.once("metadata", () => resolve());
      this.#ended.then(({ status, message }) => reject(new StatusError(status, message)), reject);
    });
    this.#begun.catch(() => {});
  }

  /** Resolves when the server's headers are there; rejects if it ends without. */
  get begun(): Promise<void> {
    return withPatience(this.#begun, "headers");
  }

  /** How the stream ended. */
  get ended(): Promise<StreamEnd> {
    return withPatience(this.#ended, "the end of a stream");
  }

  /** The next message. Rejects if the stream has ended, or nothing comes for so long. */
  async next(patienceMs = 2_000): Promise<Message> {
    const givesUpAtMs = performance.now() + patienceMs;
    for (;;) {
      const message = this.#waiting.shift();
      if (message !== undefined) return message;
      if (this.#end) throw new StatusError(this.#end.status, this.#end.message);
      const leftMs = givesUpAtMs - performance.now();
      if (leftMs <= 0) throw new Error(`nothing came within ${patienceMs} ms`);
      await this.#change(leftMs);
    }
  }

  /** The next so many messages. */
  async take(count: number): Promise<readonly Message[]> {
    const messages: Message[] = [];
    while (messages.length < count) messages.push(await this.next());
    return messages;
  }

  /** What has arrived and was not taken. */
  get waiting(): readonly Message[] {
    return this.#waiting;
  }

  /** Stops reading, so that the server cannot send more than the window allows. */
  pause(): void {
    this.#call.pause();
  }

  resume(): void {
    this.#call.resume();
  }

  cancel(): void {
    this.#call.cancel();
  }

  [Symbol.dispose](): void {
    this.cancel();
  }

  async #change(patienceMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wakers.add(resolve);
    const timer = setTimeout(resolve, patienceMs);
    await promise;
    clearTimeout(timer);
    this.#wakers.delete(resolve);
  }

  #stir(): void {
    for (const wake of this.#wakers) wake();
  }
}

/** A server that does not answer must fail a test, not hang it. No call of a test may take this long. */
const patienceMs = 20_000;

async function withPatience<Value>(
  promise: Promise<Value>,
  what: string,
  giveUp?: () => void,
): Promise<Value> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new Error(`${what} did not come within ${patienceMs} ms`));
    giveUp?.();
  }, patienceMs);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The status of a call, "OK" if it was carried out. Any other failure is thrown on. */
export async function statusOf(call: Promise<unknown>): Promise<StatusName> {
  return (await refusalOf(call))?.status ?? "OK";
}

/** Why a call was refused; undefined if it was not. */
export async function refusalOf(call: Promise<unknown>): Promise<StatusError | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
}

export function at<Request, Response>(
  { fullName }: { readonly fullName: string },
  method: {
    readonly name: string;
    readonly requestType: MessageType<Request>;
    readonly responseType: MessageType<Response>;
  },
): MethodAt<Request, Response> {
  const { name, requestType, responseType } = method;
  return { path: `/${fullName}/${name}`, requestType, responseType };
}

function completed<Request>(type: MessageType<Request>, given: Partial<Request>): Request {
  return { ...type.decode(new Uint8Array()), ...given };
}

function printed<Message>(type: MessageType<Message>, message: Message): Buffer {
  return Buffer.from(type.encode(message).finish());
}

export type Payload = {
  readonly agent?: AgentInfo;
  readonly lease?: Lease;
  readonly election?: ElectionState;
  readonly policy?: Policy;
  readonly task?: Task;
};

/** What an event carries, read by its type, as SDKs do it: what follows the last slash. */
export function payloadOf({ payload }: Event): Payload {
  assert(payload, "the event carries nothing");
  const { typeUrl, value } = payload;
  assert(typeUrl.startsWith("type.googleapis.com/agentkeeper.v1."), typeUrl);
  switch (typeUrl.slice(typeUrl.lastIndexOf(".") + 1)) {
    case "AgentInfo":
      return { agent: AgentInfo.decode(value) };
    case "Lease":
      return { lease: Lease.decode(value) };
    case "ElectionState":
      return { election: ElectionState.decode(value) };
    case "Policy":
      return { policy: Policy.decode(value) };
    case "Task":
      return { task: Task.decode(value) };
    default:
      throw new Error(`unknown payload ${typeUrl}`);
  }
}

function asStatus(error: ServiceError): StatusError {
  return new StatusError(statusName(error.code), error.details);
}

function statusName(code: number): StatusName {
  for (const [name, number] of Object.entries(statusNumbers)) {
    if (number === code) return name as StatusName;
  }
  throw new Error(`${code} is no status`);
}

export type BareReply = {
  readonly httpStatus: number;
  /** Absent if the stream ended without. */
  readonly status: StatusName | undefined;
  readonly message: string;
  readonly messages: readonly Buffer[];
  readonly headers: Readonly<Record<string, unknown>>;
};

/** HTTP/2 without a gRPC client on top: any path, any headers, any bytes. */
export class BareConnection implements Disposable {
  readonly #session: ClientHttp2Session;

  private constructor(session: ClientHttp2Session) {
    this.#session = session;
  }

  static async open(port: number, settings: Settings = {}): Promise<BareConnection> {
    const session = connect(`http://127.0.0.1:${port}`, { settings });
    session.on("error", () => {});
    await once(session, "remoteSettings");
    return new BareConnection(session);
  }

  get session(): ClientHttp2Session {
    return this.#session;
  }

  /** Headers as gRPC wants them, unless told otherwise; what is sent and when it ends is up to you. */
  begin(path: string, headers: OutgoingHttpHeaders = {}): ClientHttp2Stream {
    const stream = this.#session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    });
    stream.on("error", () => {});
    return stream;
  }

  /** Sends a body as it is and collects the answer. */
  async send(path: string, body: Uint8Array, headers?: OutgoingHttpHeaders): Promise<BareReply> {
    const stream = this.begin(path, headers);
    stream.end(body);
    return await collect(stream);
  }

  /** Sends one message, framed. */
  async call(path: string, message: Uint8Array): Promise<BareReply> {
    return await this.send(path, frame(message));
  }

  close(): void {
    this.#session.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** Resolves when the server's headers are there. */
export async function headersOf(stream: ClientHttp2Stream): Promise<void> {
  await withPatience(once(stream, "response"), "headers", () => stream.destroy());
}

/** Everything the server answers on a stream, until it is closed. */
export async function collect(stream: ClientHttp2Stream): Promise<BareReply> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const unframer = new Unframer(2 ** 31);
  const messages: Buffer[] = [];
  let headers: Readonly<Record<string, unknown>> = {};
  let trailers: Readonly<Record<string, unknown>> = {};
  stream.on("response", (received) => {
    headers = received;
  });
  stream.on("trailers", (received) => {
    trailers = received;
  });
  stream.on("data", (chunk: Buffer) => {
    const found = unframer.push(chunk);
    assert(Array.isArray(found), `the server sent a broken frame: ${found}`);
    messages.push(...found);
  });
  stream.on("close", resolve);
  await withPatience(promise, "the end of an answer", () => stream.destroy());
  const all = { ...headers, ...trailers };
  const code = all["grpc-status"];
  return {
    httpStatus: Number(headers[":status"] ?? 0),
    status: code === undefined ? undefined : statusName(Number(code)),
    message: decodeURIComponent(String(all["grpc-message"] ?? "")),
    messages,
    headers: all,
  };
}

export type TestDoorOptions = {
  readonly clock?: Clock;
  readonly log?: Log;
  /** In place of the real one. */
  readonly find?: Find;
  /** Handed to the door as they are. */
  readonly door?: Partial<GrpcDoorOptions>;
};

export interface TestDoor extends AsyncDisposable {
  readonly plane: Plane;
  /** Stands still until it is moved, unless another clock was given. */
  readonly clock: ManualClock;
  readonly port: number;
  /** The paths that were called, in order. */
  readonly calls: readonly string[];
  /** What went wrong on our side. Closing fails if a test leaves any here. */
  readonly faults: unknown[];
  /** Closed with the door. */
  connect(): GrpcClient;
  /** A client whose connection is no longer new, so that nothing it sends is held back. */
  connectWarm(): Promise<GrpcClient>;
  bare(): Promise<BareConnection>;
  /** Equal for equal states. Soft facts, such as the time of a heartbeat, are left out. */
  hashState(): Promise<string>;
  /** Ends the door only: the plane goes on. */
  closeDoor(): Promise<void>;
}

/** A plane in memory and its AgentKeeper door on a free port of this machine. */
export async function openTestDoor(options: TestDoorOptions = {}): Promise<TestDoor> {
  await using opened = new AsyncDisposableStack();
  const clock = new ManualClock();
  const faults: unknown[] = [];
  const calls: string[] = [];
  const find = new FindView();
  const log = options.log ?? new MemoryLog();
  const plane = opened.use(
    await Plane.open({
      log,
      clock: options.clock ?? clock,
      views: [find],
      onFault: (fault) => faults.push(fault),
    }),
  );
  const stopping = new AbortController();
  const timekeeping = keepTime(plane, options.clock ?? clock, stopping.signal);
  opened.defer(async () => {
    stopping.abort();
    await timekeeping;
  });
  const door = opened.use(
    await openGrpcDoor({
      plane,
      find: options.find ?? ((question) => find.search(question).hits.map((hit) => hit.agentId)),
      about: { version: "test", planeId: log.id, startedAtMs: 0, isKept: log.isKept },
      places: [{ host: "127.0.0.1", port: 0 }],
      onCall: (path) => calls.push(path),
      onFault: (fault) => faults.push(fault),
      ...options.door,
    }),
  );
  const [place] = door.places;
  assert(place && "port" in place);
  const { port } = place;
  const connect = (): GrpcClient => closing.use(new GrpcClient(port));
  const closing = opened.move();
  return {
    plane,
    clock,
    port,
    calls,
    faults,
    connect,
    connectWarm: async () => {
      const client = connect();
      await client.find({});
      await new Promise((resolve) => setTimeout(resolve, 30));
      return client;
    },
    bare: async () => closing.use(await BareConnection.open(port)),
    hashState: async () => hash("sha256", await plane.read(describe)),
    closeDoor: async () => door[Symbol.asyncDispose](),
    [Symbol.asyncDispose]: async () => {
      await closing.disposeAsync();
      assert.deepEqual(faults, [], "the door must not fail through a fault of ours");
    },
  };
}
