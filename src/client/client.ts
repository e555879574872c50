/** A daemon as a program sees it. Everything that is opened here is closed with it. */
import type {
  AgentDetail,
  Agent as AgentInfo,
  Answer,
  Election,
  FindHit,
  Found,
  Input,
  Lease as LeaseInfo,
  OperationName,
  Overview,
  Page,
  Policy,
  PolicyCheck,
  Question as QuestionInfo,
  Task as TaskInfo,
  TokenCheck,
  Who,
} from "../wire/api/index.ts";
import { type Agent, type RegisterOptions, register } from "./agent.ts";
import { type CallOptions, type Calls, type Cancellable, newKey } from "./calls.ts";
import { type ClaimedTask, type ClaimOptions, claimTasks } from "./claim.ts";
import { TipstaffError } from "./errors.ts";
import { limits } from "./limits.ts";
import { News } from "./news.ts";
import { encodePayload, Payload, type PayloadValue } from "./payload.ts";
import { Watch, type WatchOptions } from "./watch.ts";

/** What a list may be narrowed down by. Pages are fetched as they are needed. */
export type Filter<Name extends OperationName> = Omit<Input<Name>, "after" | "offset"> &
  Cancellable;

export type FindOptions = Cancellable & {
  /** Tools an agent must have. */
  readonly tools?: readonly string[] | undefined;
  readonly limit?: number | undefined;
};

export type CreateTask = Omit<Input<"createTask">, "input"> &
  Cancellable & {
    /** Bytes, or any value that JSON can say. */
    readonly input?: PayloadValue | undefined;
    /** Created again with the same key, it is the same task. */
    readonly key?: string | undefined;
  };

export type TaskDetail = Omit<Answer<"getTask">, "input" | "output"> & {
  readonly input: Payload;
  readonly output: Payload;
};

export type Question = {
  readonly subject: string;
  readonly action: string;
  readonly resource: string;
};

/** `reason` says why the model was not used although there is one. */
export type FindHits = readonly FindHit[] & Omit<Found, "hits">;

export class Client implements AsyncDisposable {
  readonly agents: AgentList;
  readonly leases: LeaseList;
  readonly elections: ElectionList;
  readonly policies: Policies;
  readonly tasks: Tasks;
  readonly questions: Questions;
  readonly #calls: Calls;
  readonly #news: News;
  readonly #agents = new Set<Agent>();

  constructor(calls: Calls) {
    this.#calls = calls;
    this.#news = new News(calls);
    this.agents = new AgentList(calls);
    this.leases = new LeaseList(calls);
    this.elections = new ElectionList(calls);
    this.policies = new Policies(calls);
    this.tasks = new Tasks(calls);
    this.questions = new Questions(calls);
  }

  get url(): string {
    return this.#calls.url;
  }

  /** What the daemon is, and how much is in it. */
  overview(options: Cancellable = {}): Promise<Overview> {
    return this.#calls.call("getOverview", {}, options);
  }

  /** Makes this process an agent until the block ends. */
  async register(options: RegisterOptions): Promise<Agent> {
    const onEnd = (agent: Agent): void => {
      this.#agents.delete(agent);
    };
    const agent = await register({ calls: this.#calls, news: this.#news, onEnd }, options);
    this.#agents.add(agent);
    return agent;
  }

  /** Agents that are alive and suit the words best, best first; and by what they were ranked. */
  async find(query: string, options: FindOptions = {}): Promise<FindHits> {
    const { tools, limit, signal } = options;
    const asked = { query, ...(tools ? { tool: tools } : {}), ...(limit ? { limit } : {}) };
    const { hits, ...how } = await this.#calls.call("findAgents", asked, { signal });
    return Object.assign([...hits], how);
  }

  /** What happens, as it happens, from now on or from any entry on. */
  watch(options: WatchOptions = {}): Watch {
    return new Watch(this.#calls, options);
  }

  /** Any operation of the API by its name. With a key it is safe to repeat. */
  call<Name extends OperationName>(
    name: Name,
    input: Input<Name>,
    options: CallOptions = {},
  ): Promise<Answer<Name>> {
    return this.#calls.call(name, input, options);
  }

  /** Agents leave, watches end, calls under way are given up. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#agents].map((agent) => agent[Symbol.asyncDispose]()));
    this.#news.close();
    this.#calls.close();
  }
}

class AgentList {
  readonly #calls: Calls;
  constructor(calls: Calls) {
    this.#calls = calls;
  }

  list({ signal, ...filter }: Filter<"listAgents"> = {}): AsyncGenerator<AgentInfo, void> {
    return rows((page) => this.#calls.call("listAgents", { ...filter, ...page }, { signal }));
  }

  get(agentId: string, options: Cancellable = {}): Promise<AgentDetail> {
    return this.#calls.call("getAgent", { agentId }, options);
  }
}

class LeaseList {
  readonly #calls: Calls;
  constructor(calls: Calls) {
    this.#calls = calls;
  }

  list({ signal, ...filter }: Filter<"listLeases"> = {}): AsyncGenerator<LeaseInfo, void> {
    return rows((page) => this.#calls.call("listLeases", { ...filter, ...page }, { signal }));
  }

  get(taskId: string, options: Cancellable = {}): Promise<LeaseInfo> {
    return this.#calls.call("getLease", { taskId }, options);
  }

  /** Whether this token holds the task now: for whoever guards what the lease is about. */
  check(taskId: string, token: bigint, options: Cancellable = {}): Promise<TokenCheck> {
    return this.#calls.call("checkToken", { taskId, token: String(token) }, options);
  }
}

class ElectionList {
  readonly #calls: Calls;
  constructor(calls: Calls) {
    this.#calls = calls;
  }

  list({ signal, ...filter }: Filter<"listElections"> = {}): AsyncGenerator<Election, void> {
    return rows((page) => this.#calls.call("listElections", { ...filter, ...page }, { signal }));
  }

  get(group: string, options: Cancellable = {}): Promise<Election> {
    return this.#calls.call("getElection", { group }, options);
  }
}

class Policies {
  readonly #calls: Calls;
  constructor(calls: Calls) {
    this.#calls = calls;
  }

  list({ signal, ...filter }: Filter<"listPolicies"> = {}): AsyncGenerator<Policy, void> {
    return rows((page) => this.#calls.call("listPolicies", { ...filter, ...page }, { signal }));
  }

  get(policyId: string, options: Cancellable = {}): Promise<Policy> {
    return this.#calls.call("getPolicy", { policyId }, options);
  }

  /** Makes it, or replaces the one with its id. */
  set({ id, ...rest }: Policy, options: Cancellable = {}): Promise<Policy> {
    return this.#calls.call("setPolicy", { policyId: id, ...rest }, options);
  }

  async delete(policyId: string, options: Cancellable = {}): Promise<void> {
    await this.#calls.call("deletePolicy", { policyId }, options);
  }

  /** Whether it is allowed, and which policy decided. */
  check(question: Question, options: Cancellable = {}): Promise<PolicyCheck> {
    return this.#calls.call("checkPolicy", question, options);
  }

  /** As `check`, with all policies that apply. */
  explain(question: Question, options: Cancellable = {}): Promise<PolicyCheck> {
    return this.#calls.call("checkPolicy", { ...question, explain: true }, options);
  }

  /** Who of the agents that are here may do it. */
  who(question: Omit<Question, "subject">, options: Cancellable = {}): Promise<Who> {
    return this.#calls.call("whoMay", question, options);
  }
}

class Tasks {
  readonly #calls: Calls;
  constructor(calls: Calls) {
    this.#calls = calls;
  }

  list({ signal, ...filter }: Filter<"listTasks"> = {}): AsyncGenerator<TaskInfo, void> {
    return rows((page) => this.#calls.call("listTasks", { ...filter, ...page }, { signal }));
  }

  create({ input, key = newKey(), signal, ...task }: CreateTask): Promise<TaskInfo> {
    const body = { ...task, input: encodePayload(input) };
    return this.#calls.call("createTask", body, { signal, key });
  }

  /** Claims one task after the other: see `claimTasks`. For several at once, run several loops. */
  claim(
    agent: Agent,
    options: Omit<ClaimOptions, "wait"> = {},
  ): AsyncGenerator<ClaimedTask, void, undefined> {
    return claimTasks(agent.context, options);
  }

  async get(taskId: string, options: Cancellable = {}): Promise<TaskDetail> {
    const { input, output, ...task } = await this.#calls.call("getTask", { taskId }, options);
    return { ...task, input: new Payload(input), output: new Payload(output) };
  }

  /** Whoever works on it is told. */
  cancel(taskId: string, options: Cancellable = {}): Promise<TaskInfo> {
    return this.#calls.call("cancelTask", { taskId }, options);
  }

  /** Gives a dead or cancelled task another chance. */
  requeue(taskId: string, options: Cancellable = {}): Promise<TaskInfo> {
    return this.#calls.call("requeueTask", { taskId }, options);
  }
}

/** What agents and jobs ask people. */
class Questions {
  readonly #calls: Calls;
  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** The open ones first. */
  list({ signal, ...filter }: Filter<"listQuestions"> = {}): AsyncGenerator<QuestionInfo, void> {
    return rows((page) => this.#calls.call("listQuestions", { ...filter, ...page }, { signal }));
  }

  get(questionId: string, options: Cancellable = {}): Promise<QuestionInfo> {
    return this.#calls.call("getQuestion", { questionId }, options);
  }

  /**
   * The first valid answer wins; a later one rejects with `question_closed`, and `error.question` says who was first.
   * `answer_invalid`: it is none of the choices, or not what the schema allows.
   */
  answer(
    questionId: string,
    answer: unknown,
    { signal, by }: Cancellable & { readonly by?: string | undefined } = {},
  ): Promise<QuestionInfo> {
    const said = { questionId, answer, ...(by === undefined ? {} : { by }) };
    return this.#calls.call("answerQuestion", said, { signal, key: newKey() });
  }
}

type NextPage = { readonly limit?: number; readonly after?: string };

/** Row by row, page by page. Each goes on after the last row seen, whatever came or went meanwhile. */
async function* rows<Row>(ask: (page: NextPage) => Promise<Page<Row>>): AsyncGenerator<Row, void> {
  let page: NextPage | undefined = { limit: limits.pageRows };
  while (page) {
    const { rows, next }: Page<Row> = await ask(page);
    if (!Array.isArray(rows)) throw new TipstaffError("bad_answer", "the daemon sent no rows");
    yield* rows;
    page = next === undefined ? undefined : { limit: limits.pageRows, after: next };
  }
}
