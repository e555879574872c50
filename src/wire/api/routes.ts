/** Where each operation is: method and path below `/api/v1`. Names in braces are fields of its input. */
import type { OperationName } from "./types.ts";

export type Method = "GET" | "POST" | "PUT" | "DELETE";
export type Route = { readonly method: Method; readonly path: `/${string}` };

type Place = `/${string}` | `/${string} ${Exclude<Method, "GET">}`;

export const basePath = "/api/v1";

/** The path, and the method if it is not GET: a client carries all of them, so they are short. */
const places: Readonly<Record<OperationName, Place>> = {
  getOverview: "/overview",
  getAttention: "/attention",
  dismissNeed: "/attention/{kind}/dismiss POST",
  restoreNeed: "/attention/{kind}/restore POST",
  getTimeline: "/timeline",
  getStatus: "/status",
  listEntries: "/log",

  listAgents: "/agents",
  registerAgent: "/agents POST",
  getAgent: "/agents/{agentId}",
  heartbeat: "/agents/{agentId}/heartbeat POST",
  deregisterAgent: "/agents/{agentId} DELETE",
  withdraw: "/agents/{agentId}/withdraw POST",
  findAgents: "/find",

  listLeases: "/leases",
  getLease: "/leases/{taskId}",
  acquireLease: "/leases/{taskId}/acquire POST",
  renewLease: "/leases/{taskId}/renew POST",
  releaseLease: "/leases/{taskId}/release POST",
  checkToken: "/leases/{taskId}/check",

  listElections: "/elections",
  getElection: "/elections/{group}",
  campaign: "/elections/{group}/campaign POST",
  resign: "/elections/{group}/resign POST",

  listPolicies: "/policies",
  getPolicy: "/policies/{policyId}",
  setPolicy: "/policies/{policyId} PUT",
  deletePolicy: "/policies/{policyId} DELETE",
  checkPolicy: "/check",
  whoMay: "/who",

  listTasks: "/tasks",
  createTask: "/tasks POST",
  getTask: "/tasks/{taskId}",
  claimTask: "/claims POST",
  extendClaim: "/tasks/{taskId}/extend POST",
  completeTask: "/tasks/{taskId}/complete POST",
  failTask: "/tasks/{taskId}/fail POST",
  cancelTask: "/tasks/{taskId}/cancel POST",
  requeueTask: "/tasks/{taskId}/requeue POST",

  listJobs: "/jobs",
  submitJob: "/jobs POST",
  getJob: "/jobs/{jobId}",
  listJobEvents: "/jobs/{jobId}/events",
  cancelJob: "/jobs/{jobId}/cancel POST",

  listQuestions: "/questions",
  getQuestion: "/questions/{questionId}",
  answerQuestion: "/questions/{questionId}/answer POST",
  askQuestion: "/agents/{agentId}/questions POST",
  withdrawQuestion: "/agents/{agentId}/questions/{key} DELETE",

  openSession: "/session POST",
  getSession: "/session",
  createLink: "/links POST",
};

export const routes: Readonly<Record<OperationName, Route>> = /* @__PURE__ */ readPlaces();

function readPlaces(): Readonly<Record<OperationName, Route>> {
  const names = Object.keys(places) as OperationName[];
  return Object.fromEntries(names.map((name) => [name, routeOf(name)])) as Record<
    OperationName,
    Route
  >;
}

function routeOf(name: OperationName): Route {
  const [path, method = "GET"] = places[name].split(" ") as [Route["path"], Method?];
  return { method, path };
}

/** Server-sent events: every entry from a sequence on. */
export const eventsPath = "/api/v1/events";

export type Request = {
  readonly method: Method;
  /** With its query. */
  readonly path: string;
  /** Absent where the method has none. */
  readonly body?: Readonly<Record<string, unknown>>;
};

/** An operation and its input as a request. */
export function request(name: OperationName, input: object): Request {
  const { method, path } = routeOf(name);
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    const value = encodeURIComponent(String(rest.get(field)));
    rest.delete(field);
    return value;
  });
  if (method === "POST" || method === "PUT") {
    return { method, path: basePath + filled, body: Object.fromEntries(rest) };
  }
  const query = new URLSearchParams();
  for (const [field, value] of rest) {
    for (const one of Array.isArray(value) ? value : [value]) query.append(field, String(one));
  }
  const asked = query.size > 0 ? `?${query}` : "";
  return { method, path: basePath + filled + asked };
}
