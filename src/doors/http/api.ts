/** The API's routes: who is speaking, then the input checked, then the operation, then its answer. */
import { performance } from "node:perf_hooks";
import type { Context, Hono } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import type * as z from "zod";
import { basePath, type OperationName, type Route, routes } from "../../wire/api/index.ts";
import { inputSchemaOf, openApiDocument, operations } from "../../wire/openapi/index.ts";
import { type Credentials, cookieName, pageHeader } from "./credentials.ts";
import { decodeKey, decodeQuery, readBody } from "./decode.ts";
import type { Env } from "./door.ts";
import { errorBody, httpStatus } from "./errors.ts";
import {
  type ApiRefusal,
  type Call,
  type Handlers,
  handlersOf,
  type OperationParts,
} from "./operations.ts";

export function addApi(app: Hono<Env>, parts: OperationParts): void {
  const handlers = handlersOf(parts);
  const document = openApiDocument({ version: parts.about().version });
  app.get(`${basePath}/openapi.json`, (context) => context.json(document));
  for (const name of namesOf(routes)) {
    const route = routes[name];
    const path = basePath + route.path.replaceAll(/\{(\w+)\}/g, ":$1");
    const answer = answerer(name, route, handlers, parts);
    app.on(route.method, path, answer);
  }
}

function answerer(
  name: OperationName,
  { method, path }: Route,
  handlers: Handlers,
  { credentials, timeline }: OperationParts,
): (context: Context<Env>) => Promise<Response> {
  const operation = operations[name];
  const properties = inputSchemaOf(name).properties ?? {};
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, field]) => field ?? "");
  const isOpen = method === "GET" || name === "openSession";
  const hasBody = method === "POST" || method === "PUT";

  return async (context) => {
    const startedMs = performance.now();
    const mayWrite = isTrusted(context, credentials);
    if (!isOpen && !mayWrite) return refuse(context, tokenRequired);
    const given = hasBody
      ? await readBody(context)
      : decodeQuery(context.req.queries(), properties);
    if (given.refusal) return refuse(context, given.refusal);
    const fields = inPath.map((field) => [field, context.req.param(field) ?? ""] as const);
    const clash = fields.find(([field]) => Object.hasOwn(given.value, field));
    if (clash) return refuse(context, invalid(`${clash[0]}: is in the path already`));
    const read = operation.input.safeParse({ ...given.value, ...Object.fromEntries(fields) });
    if (!read.success) return refuse(context, invalid(firstProblem(read.error)));
    const key = decodeKey(operation.hasKey ? context.req.header("Idempotency-Key") : undefined);
    if (key.refusal) return refuse(context, key.refusal);
    const call: Call = {
      caller: { actor: "local" },
      signal: context.req.raw.signal,
      mayWrite,
      ...(key.value === undefined ? {} : { key: key.value }),
    };
    // The input was read by the schema of the same operation.
    const handle = handlers[name] as (
      input: unknown,
      call: Call,
    ) => ReturnType<Handlers[OperationName]>;
    const { value, refusal } = await handle(read.data, call);
    timeline.observeCall(performance.now() - startedMs);
    if (refusal) return refuse(context, refusal);
    if (name === "openSession") openSession(context, credentials);
    return context.json(value, operation.status ?? 200);
  };
}

/** By the token, or as a page of ours that came by a link. */
function isTrusted(context: Context<Env>, credentials: Credentials): boolean {
  if (credentials.hasToken(context.req.header("Authorization"))) return true;
  const cookie = getCookie(context, cookieName);
  const key = context.req.header(pageHeader);
  return cookie !== undefined && key !== undefined && credentials.isPage({ cookie, key });
}

function openSession(context: Context<Env>, credentials: Credentials): void {
  setCookie(context, cookieName, credentials.cookie, {
    path: basePath,
    httpOnly: true,
    sameSite: "Strict",
    maxAge: 31_536_000,
  });
}

function refuse(context: Context<Env>, { code, message, lease }: ApiRefusal): Response {
  if (code === "limit_reached" || code === "unavailable") context.header("Retry-After", "1");
  if (code === "token_required") context.header("WWW-Authenticate", "Bearer");
  return context.json(errorBody(code, message, lease), httpStatus[code]);
}

const tokenRequired: ApiRefusal = {
  code: "token_required",
  message:
    "needs the local token as Authorization: Bearer; it is in the file token of the data directory",
};

function invalid(message: string): ApiRefusal {
  return { code: "invalid_argument", message };
}

/** Names the field and what is wrong with it. */
function firstProblem(error: z.ZodError): string {
  const [issue] = error.issues;
  if (!issue) return "cannot be read";
  if (issue.code === "unrecognized_keys") {
    const where = issue.path.length > 0 ? `${issue.path.join(".")}: ` : "";
    return `${where}there is no field ${issue.keys.join(", ")}`;
  }
  return `${issue.path.join(".")}: ${issue.message.charAt(0).toLowerCase()}${issue.message.slice(1)}`;
}

function namesOf<Key extends string>(record: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(record) as Key[];
}
