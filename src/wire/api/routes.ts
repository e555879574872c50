/** Where each operation is: method and path below `/api/v1`. Names in braces are fields of its input. */
import type { OperationName } from "./types.ts";

export type Method = "GET" | "POST" | "PUT" | "DELETE";
export type Route = { readonly method: Method; readonly path: `/${string}` };

export const basePath = "/api/v1";

export const routes: Readonly<Record<OperationName, Route>> = {
  getOverview: { method: "GET", path: "/overview" },
  getAttention: { method: "GET", path: "/attention" },
  getTimeline: { method: "GET", path: "/timeline" },
  getStatus: { method: "GET", path: "/status" },
  listEntries: { method: "GET", path: "/log" },

  listAgents: { method: "GET", path: "/agents" },
  registerAgent: { method: "POST", path: "/agents" },
  getAgent: { method: "GET", path: "/agents/{agentId}" },
  heartbeat: { method: "POST", path: "/agents/{agentId}/heartbeat" },
  deregisterAgent: { method: "DELETE", path: "/agents/{agentId}" },
  withdraw: { method: "POST", path: "/agents/{agentId}/withdraw" },
  findAgents: { method: "GET", path: "/find" },

  listLeases: { method: "GET", path: "/leases" },
  getLease: { method: "GET", path: "/leases/{taskId}" },
  acquireLease: { method: "POST", path: "/leases/{taskId}/acquire" },
  renewLease: { method: "POST", path: "/leases/{taskId}/renew" },
  releaseLease: { method: "POST", path: "/leases/{taskId}/release" },
  checkToken: { method: "GET", path: "/leases/{taskId}/check" },

  listElections: { method: "GET", path: "/elections" },
  getElection: { method: "GET", path: "/elections/{group}" },
  campaign: { method: "POST", path: "/elections/{group}/campaign" },
  resign: { method: "POST", path: "/elections/{group}/resign" },

  listPolicies: { method: "GET", path: "/policies" },
  getPolicy: { method: "GET", path: "/policies/{policyId}" },
  setPolicy: { method: "PUT", path: "/policies/{policyId}" },
  deletePolicy: { method: "DELETE", path: "/policies/{policyId}" },
  checkPolicy: { method: "GET", path: "/check" },
  whoMay: { method: "GET", path: "/who" },

  listTasks: { method: "GET", path: "/tasks" },
  createTask: { method: "POST", path: "/tasks" },
  getTask: { method: "GET", path: "/tasks/{taskId}" },
  claimTask: { method: "POST", path: "/claims" },
  extendClaim: { method: "POST", path: "/tasks/{taskId}/extend" },
  completeTask: { method: "POST", path: "/tasks/{taskId}/complete" },
  failTask: { method: "POST", path: "/tasks/{taskId}/fail" },
  cancelTask: { method: "POST", path: "/tasks/{taskId}/cancel" },
  requeueTask: { method: "POST", path: "/tasks/{taskId}/requeue" },

  openSession: { method: "POST", path: "/session" },
  getSession: { method: "GET", path: "/session" },
  createLink: { method: "POST", path: "/links" },
};

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
  const { method, path } = routes[name];
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
