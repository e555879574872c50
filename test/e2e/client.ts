/**
 * An AgentKeeper client over @grpc/grpc-js: a peer that shares nothing with our server but the
 * generated codecs. One connection each, and one attempt for each call, so that a test knows what it
 * asked for and what it was told.
 */
import {
  type ClientReadableStream,
  credentials,
  Client as GrpcClient,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import {
  type AcquireLeaseResponse,
  type AgentInfo,
  type CampaignResponse,
  type ClaimTaskResponse,
  type CreateTaskResponse,
  ElectionServiceDefinition,
  EntitlementsServiceDefinition,
  type Event,
  type GetAgentResponse,
  type GetTaskResponse,
  LeaseServiceDefinition,
  type ListPoliciesResponse,
  type ListTasksResponse,
  type MessageType,
  type Policy,
  type RegisterResponse,
  RegistryServiceDefinition,
  type RenewLeaseResponse,
  type SetPolicyResponse,
  TaskServiceDefinition,
  TaskStatus,
  type Timestamp,
} from "../../src/wire/agentkeeper/index.ts";
import { patienceMs } from "./processes.ts";

/** What a caller can know of its call. */
export type Reply<Response> =
  | { readonly type: "done"; readonly value: Response }
  /** The server said no: nothing changed. */
  | { readonly type: "refused"; readonly code: Code; readonly message: string }
  /** No answer, or none that tells: it may have taken effect once, or not. */
  | { readonly type: "unknown"; readonly code: Code; readonly message: string };

export type Code = keyof typeof status;

const refusals = new Set<Code>([
  "INVALID_ARGUMENT",
  "NOT_FOUND",
  "PERMISSION_DENIED",
  "FAILED_PRECONDITION",
  "RESOURCE_EXHAUSTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
]);

type Method<Request, Response> = {
  readonly name: string;
  readonly requestType: MessageType<Request>;
  readonly responseType: MessageType<Response>;
};
type Service = { readonly fullName: string };

const registry = RegistryServiceDefinition;
const leases = LeaseServiceDefinition;
const elections = ElectionServiceDefinition;
const entitlements = EntitlementsServiceDefinition;
const tasks = TaskServiceDefinition;

export class KeeperClient implements Disposable {
  readonly #client: GrpcClient;

  constructor(address: string) {
    this.#client = new GrpcClient(address, credentials.createInsecure(), {
      // Else all clients of this process share one connection.
      "grpc.use_local_subchannel_pool": 1,
      "grpc.enable_retries": 0,
    });
  }

  register(
    name: string,
    { tools = [], ttlSeconds = 3_600 }: { tools?: readonly string[]; ttlSeconds?: number } = {},
  ): Promise<Reply<RegisterResponse>> {
    const metadata = new Map([["made-by", name]]);
    const card = { name, description: "", version: "1", capabilities: [], tools, metadata };
    return this.#call(registry, registry.methods.register, { card, ttlSeconds });
  }

  heartbeat(agentId: string): Promise<Reply<unknown>> {
    return this.#call(registry, registry.methods.heartbeat, { agentId });
  }

  deregister(agentId: string): Promise<Reply<unknown>> {
    return this.#call(registry, registry.methods.deregister, { agentId });
  }

  getAgent(agentId: string): Promise<Reply<GetAgentResponse>> {
    return this.#call(registry, registry.methods.getAgent, { agentId });
  }

  acquire(
    taskId: string,
    agentId: string,
    ttlSeconds: number,
  ): Promise<Reply<AcquireLeaseResponse>> {
    const request = { taskId, agentId, ttlSeconds };
    return this.#call(leases, leases.methods.acquireLease, request);
  }

  renew(
    taskId: string,
    agentId: string,
    token: bigint,
    ttlSeconds: number,
  ): Promise<Reply<RenewLeaseResponse>> {
    const request = { taskId, agentId, token: { value: token }, ttlSeconds };
    return this.#call(leases, leases.methods.renewLease, request);
  }

  release(taskId: string, agentId: string, token: bigint): Promise<Reply<unknown>> {
    const request = { taskId, agentId, token: { value: token } };
    return this.#call(leases, leases.methods.releaseLease, request);
  }

  campaign(group: string, agentId: string): Promise<Reply<CampaignResponse>> {
    return this.#call(elections, elections.methods.campaign, { group, agentId });
  }

  resign(group: string, agentId: string): Promise<Reply<unknown>> {
    return this.#call(elections, elections.methods.resign, { group, agentId });
  }

  setPolicy(policy: Policy): Promise<Reply<SetPolicyResponse>> {
    return this.#call(entitlements, entitlements.methods.setPolicy, { policy });
  }

  deletePolicy(id: string): Promise<Reply<unknown>> {
    return this.#call(entitlements, entitlements.methods.deletePolicy, { id });
  }

  listPolicies(subjectPrefix = ""): Promise<Reply<ListPoliciesResponse>> {
    return this.#call(entitlements, entitlements.methods.listPolicies, { subjectPrefix });
  }

  createTask(
    type: string,
    {
      input = "",
      requiredTools = [],
      maxRetries = 0,
      ttlSeconds = 3_600,
    }: {
      input?: string | Buffer;
      requiredTools?: readonly string[];
      maxRetries?: number;
      ttlSeconds?: number;
    } = {},
  ): Promise<Reply<CreateTaskResponse>> {
    const request = { type, input: Buffer.from(input), requiredTools, maxRetries, ttlSeconds };
    return this.#call(tasks, tasks.methods.createTask, request);
  }

  /** Waits for a task as long as the server lets it. */
  claimTask(agentId: string): Promise<Reply<ClaimTaskResponse>> {
    return this.#call(tasks, tasks.methods.claimTask, { agentId }, Number.POSITIVE_INFINITY);
  }

  completeTask(taskId: string, agentId: string, output: string): Promise<Reply<unknown>> {
    const request = { taskId, agentId, output: Buffer.from(output) };
    return this.#call(tasks, tasks.methods.completeTask, request);
  }

  failTask(taskId: string, agentId: string, reason: string): Promise<Reply<unknown>> {
    return this.#call(tasks, tasks.methods.failTask, { taskId, agentId, reason });
  }

  getTask(taskId: string): Promise<Reply<GetTaskResponse>> {
    return this.#call(tasks, tasks.methods.getTask, { taskId });
  }

  listTasks(): Promise<Reply<ListTasksResponse>> {
    return this.#call(tasks, tasks.methods.listTasks, { status: TaskStatus.UNSPECIFIED });
  }

  /** Every published event whose topic starts with one of these; all, if there are none. */
  watch(...topics: readonly string[]): EventWatch {
    const { name, requestType, responseType } = registry.methods.watch;
    return new EventWatch(
      this.#client.makeServerStreamRequest(
        `/${registry.fullName}/${name}`,
        (request) => bytesOf(requestType, request),
        (bytes) => responseType.decode(bytes),
        { topics },
      ),
    );
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }

  #call<Request, Response>(
    { fullName }: Service,
    { name, requestType, responseType }: Method<Request, Response>,
    request: Request,
    timeoutMs: number = patienceMs,
  ): Promise<Reply<Response>> {
    return new Promise((resolve) => {
      this.#client.makeUnaryRequest(
        `/${fullName}/${name}`,
        (value: Request) => bytesOf(requestType, value),
        (bytes) => responseType.decode(bytes),
        request,
        { deadline: timeoutMs === Number.POSITIVE_INFINITY ? timeoutMs : Date.now() + timeoutMs },
        (error, value) => resolve(error || !value ? failed(error) : { type: "done", value }),
      );
    });
  }
}

/** The events of one watch, as they come. */
export class EventWatch implements Disposable {
  readonly events: Event[] = [];
  /** Resolves with the server's headers: from then on nothing is missed. */
  readonly began: Promise<void>;
  /** How the stream ended, if we did not end it. */
  readonly ended: Promise<{ readonly code: Code; readonly message: string }>;
  readonly #stream: ClientReadableStream<Event>;

  constructor(stream: ClientReadableStream<Event>) {
    this.#stream = stream;
    stream.on("data", (event: Event) => this.events.push(event));
    // Every end that is not ours is also reported as an error.
    stream.on("error", () => {});
    this.ended = new Promise((resolve) => {
      stream.once("status", ({ code, details }) =>
        resolve({ code: nameOf(code), message: details }),
      );
    });
    this.began = new Promise((resolve) => stream.once("metadata", () => resolve()));
  }

  [Symbol.dispose](): void {
    this.#stream.cancel();
  }
}

/** What was asked for must have been done. */
export function done<Response>(reply: Reply<Response>): Response {
  if (reply.type === "done") return reply.value;
  throw new Error(`${reply.type} with ${reply.code}: ${reply.message}`);
}

/** The code of a call that must have been refused. */
export function refusal(reply: Reply<unknown>): Code {
  if (reply.type === "refused") return reply.code;
  throw new Error(`it was not refused: ${reply.type}`);
}

export function millis(timestamp: Timestamp | undefined): number {
  if (!timestamp) throw new Error("a timestamp is missing");
  return Number(timestamp.seconds) * 1_000 + timestamp.nanos / 1_000_000;
}

export type { AgentInfo, Event, Policy };

function failed(error: ServiceError | null): Reply<never> {
  const code = nameOf(error?.code ?? status.UNKNOWN);
  const message = error?.details ?? "no answer";
  return { type: refusals.has(code) ? "refused" : "unknown", code, message };
}

function nameOf(code: number): Code {
  const name = status[code];
  return name !== undefined && name in status ? (name as Code) : "UNKNOWN";
}

function bytesOf<Message>(type: MessageType<Message>, message: Message): Buffer {
  return Buffer.from(type.encode(message).finish());
}
