/** The API's routes: who is speaking, then the input checked, then the operation, then its answer. */
import { performance } from "node:perf_hooks";
import type { Context, Hono } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import {
  basePath,
  type Input,
  isOpen,
  type OperationName,
  routes,
  usesToken,
} from "../../wire/api/index.ts";
import {
  fieldsInPath,
  hasBody,
  inputSchemaOf,
  openApiDocument,
  operations,
  readInput,
} from "../../wire/openapi/index.ts";
import { type Credentials, cookieName, pageHeader } from "./credentials.ts";
import { type Decoded, decodeKey, decodePath, decodeQuery, readBody } from "./decode.ts";
import type { Env } from "./door.ts";
import { refuse } from "./errors.ts";
import { type JsonPieces, jsonInPieces } from "./json-pieces.ts";
import {
  type ApiRefusal,
  type Call,
  type Handlers,
  handlersOf,
  type OperationParts,
} from "./operations.ts";

type ApiParts = OperationParts & { readonly closing: AbortSignal };

export function addApi(app: Hono<Env>, parts: ApiParts): void {
  const handlers = handlersOf(parts);
  let document: ReturnType<typeof openApiDocument> | undefined;
  app.get(`${basePath}/openapi.json`, (context) => {
    // Made when first needed, because it takes as long as the rest of a start.
    document ??= openApiDocument({ version: parts.about().version });
    return context.json(document);
  });
  for (const name of namesOf(routes)) {
    const { method, path } = routes[name];
    const at = basePath + path.replaceAll(/\{(\w+)\}/g, ":$1");
    app.on(method, at, answerer(name, handlers, parts));
  }
}

function answerer<Name extends OperationName>(
  name: Name,
  handlers: Handlers,
  { credentials, timeline, closing }: ApiParts,
): (context: Context<Env>) => Promise<Response> {
  const { hasKey, status = 200 } = operations[name];
  const isReading = routes[name].method === "GET";
  const decode = inputDecoder(name);

  return async (context) => {
    const startedMs = performance.now();
    const { mayWrite, maySee } = trustIn(context, credentials);
    const mayCall = isOpen(name) || (isReading ? maySee : mayWrite);
    if (!mayCall) return refuse(context, tokenRequired);
    const input = await decode(context, { mayWrite });
    if (input.refusal) return refuse(context, input.refusal);
    const key = decodeKey(hasKey ? context.req.header("Idempotency-Key") : undefined);
    if (key.refusal) return refuse(context, key.refusal);
    const call: Call = {
      caller: { actor: "local" },
      signal: context.req.raw.signal,
      closing,
      mayWrite,
      // An operation that is missing in the lists of `usesToken` tells nobody what is personal.
      maySee: maySee && usesToken(name),
      ...(key.value === undefined ? {} : { key: key.value }),
    };
    const { value, refusal } = await handlers[name](input.value, call);
    timeline.observeCall(isWaiting(input.value) ? undefined : performance.now() - startedMs);
    if (refusal) return refuse(context, refusal);
    if (name === "openSession") giveCookie(context, credentials);
    const pieces = jsonInPieces(value);
    return pieces ? answerInPieces(context, pieces, status) : context.json(value, status);
  };
}

const utf8 = new TextEncoder();

/** Each piece is encoded when the connection has accepted the one before. */
function answerInPieces(
  context: Context<Env>,
  { heldBytes, print }: JsonPieces,
  status: 200 | 201,
): Response {
  const { outgoing, peer } = context.env;
  const pieces = print()[Symbol.iterator]();
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        await peer?.unread.turn();
        const { value, done } = pieces.next();
        if (done) return controller.close();
        const bytes = utf8.encode(value);
        controller.enqueue(bytes);
        peer?.unread.set(heldBytes + bytes.length + (outgoing?.writableLength ?? 0));
      },
    },
    { highWaterMark: 0 },
  );
  return context.body(body, status, { "Content-Type": "application/json" });
}

function isWaiting(input: object): boolean {
  return "waitMs" in input && input.waitMs !== 0;
}

/** Path, query and body in one, as the operation's input. */
function inputDecoder<Name extends OperationName>(
  name: Name,
): (context: Context<Env>, who: { readonly mayWrite: boolean }) => Promise<Decoded<Input<Name>>> {
  const { path } = routes[name];
  const { properties = {} } = inputSchemaOf(name);
  const inPath = fieldsInPath(path);
  const inQuery = Object.fromEntries(
    Object.entries(properties).filter(([field]) => !inPath.includes(field)),
  );
  return async (context, who) => {
    const { url } = context.req;
    const placed = decodePath(url, basePath + path);
    if (placed.refusal) return placed;
    const given = hasBody(name) ? await readBody(context, who) : decodeQuery(url, inQuery);
    if (given.refusal) return given;
    const clash = inPath.find((field) => Object.hasOwn(given.value, field));
    if (clash !== undefined) return invalid(`${clash}: is in the path already`);
    const { value, problem } = readInput(name, { ...given.value, ...placed.value });
    return problem === undefined ? { value } : invalid(problem);
  };
}

type Trust = Pick<Call, "mayWrite" | "maySee">;

/** Who can open the socket is this user, and may look; to act takes the token there too. */
export function trustIn(context: Context<Env>, credentials: Credentials): Trust {
  const mayWrite = isTrusted(context, credentials);
  if (mayWrite) context.env.peer?.seat.trust();
  return { mayWrite, maySee: mayWrite || context.env.isPrivate };
}

/** By the token, or as a page of ours that came by a link. */
function isTrusted(context: Context<Env>, credentials: Credentials): boolean {
  if (credentials.hasToken(context.req.header("Authorization"))) return true;
  const cookie = getCookie(context, cookieName);
  const key = context.req.header(pageHeader);
  return cookie !== undefined && key !== undefined && credentials.isPage({ cookie, key });
}

function giveCookie(context: Context<Env>, credentials: Credentials): void {
  setCookie(context, cookieName, credentials.cookie, {
    path: basePath,
    httpOnly: true,
    sameSite: "Strict",
    maxAge: 31_536_000,
  });
}

const tokenRequired: ApiRefusal = {
  code: "token_required",
  message:
    "needs the local token as Authorization: Bearer; it is in the file token of the data directory",
};

function invalid(message: string): { readonly refusal: ApiRefusal } {
  return { refusal: { code: "invalid_argument", message } };
}

function namesOf<Key extends string>(record: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(record) as Key[];
}
