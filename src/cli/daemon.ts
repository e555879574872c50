/** Asks the daemon, over HTTP: through the socket in its data directory, or at an address. */
import { type IncomingMessage, type RequestOptions, request as sendRequest } from "node:http";
import { printable } from "../terminal/index.ts";
import { socketIn } from "../transport/index.ts";
import {
  type Answer,
  type ErrorBody,
  type Input,
  type OperationName,
  request,
  usesToken,
} from "../wire/api/index.ts";
import { parseAddress } from "./address.ts";
import { defaults } from "./defaults.ts";
import { Failure, mistake } from "./failure.ts";
import { limits } from "./limits.ts";
import { dataDirectoryFrom, printPath } from "./paths.ts";
import type { Values } from "./table.ts";
import { readToken, tokenPath } from "./token.ts";

export type CallOptions = {
  /** Asked again with the same, the answer is about the same thing. */
  readonly idempotencyKey?: string | undefined;
  /** How long to wait for a word. */
  readonly answerMs?: number | undefined;
  /** Gives up, as if nobody had answered. */
  readonly signal?: AbortSignal | undefined;
};

/** One operation of the API. Rejects with a `Failure`. */
export async function call<Name extends OperationName>(
  values: Values,
  name: Name,
  input: Input<Name>,
  { idempotencyKey, answerMs = limits.answerMs, signal }: CallOptions = {},
): Promise<Answer<Name>> {
  const { method, path, body } = request(name, input);
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const response = await send(values, {
    method,
    path,
    timeout: answerMs,
    ...(signal ? { signal } : {}),
    headers: {
      accept: "application/json",
      ...(sent === undefined
        ? {}
        : { "content-type": "application/json", "content-length": Buffer.byteLength(sent) }),
      // Other programs on this machine may listen at the address: they get the token only where it is needed.
      ...(usesToken(name) ? bearer(values) : {}),
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    },
    ...(sent === undefined ? {} : { sent }),
  });
  const text = await readText(response);
  const { statusCode = 0 } = response;
  if (statusCode >= 200 && statusCode < 300) return decodeAnswer(text);
  throw await refusal(values, { statusCode, text, path });
}

type Sent = RequestOptions & { readonly sent?: string };

/** The answer's head, from the first place that has somebody in it. Rejects with a `Failure`. */
export async function send(values: Values, options: Sent): Promise<IncomingMessage> {
  const failures: string[] = [];
  let isRunning = false;
  for (const { target, name } of targetsFrom(values)) {
    try {
      return await exchange({ ...options, ...target });
    } catch (cause) {
      failures.push(`${name}: ${whyNot(cause)}`);
      isRunning ||= !isNobody(cause);
      // Whoever was there may have heard it: asking another as well could do it twice.
      if (!isAbsent(cause)) break;
    }
  }
  if (isRunning) {
    throw new Failure("unreachable", `the daemon does not answer (${failures.join("; ")})`, [
      "try again; if it is somewhere else, say where with --data-dir or --http",
    ]);
  }
  throw new Failure("not_running", `no daemon answers (${failures.join("; ")})`, [
    "start one with tipstaff up, or say where it is with --data-dir or --http",
  ]);
}

type Target = { readonly target: RequestOptions; readonly name: string };

/**
 * An address or a directory that was given is the only place to ask; then TIPSTAFF_URL; else the usual
 * places in turn: the socket, then the address.
 */
function targetsFrom(values: Values): readonly Target[] {
  const { http, "data-dir": directory } = values;
  if (typeof http === "string") return [addressed(http)];
  const url = process.env["TIPSTAFF_URL"];
  if (directory === undefined && url) return [addressed(url)];
  const socketPath = socketIn(dataDirectoryFrom(values));
  const socket = { target: { socketPath }, name: printPath(socketPath) };
  return directory === undefined ? [socket, addressed(defaults.http)] : [socket];
}

function addressed(text: string): Target {
  const address = parseAddress(text.replace(/^http:\/\//, "").replace(/\/$/, ""));
  if (!address) {
    const form = "write host:port, http://host:port or unix:/path";
    throw mistake(`${printable(text)} is no address`, form);
  }
  if ("path" in address) return { target: { socketPath: address.path }, name: address.path };
  const host = address.host || "localhost";
  return { target: { host, port: address.port }, name: `${host}:${address.port}` };
}

function exchange({ sent, ...options }: Sent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // One question a process: no connection is kept for another. And no name for TLS, which Node would look
    // for with a pattern that takes 2 ms to compile.
    const { timeout = limits.answerMs } = options;
    const once = { agent: false, timeout, servername: "" };
    const asking = sendRequest({ ...once, ...options }, resolve);
    asking.on("timeout", () => asking.destroy(new Error(`no answer in ${timeout / 1_000} s`)));
    asking.on("error", reject);
    asking.end(sent);
  });
}

/** By events: iterating over the answer would load another 2 ms of Node. */
function readText(response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > limits.answerBytesMax) response.destroy(new Error("its answer is too long"));
      chunks.push(chunk);
    });
    response.on("end", () => resolve(Buffer.concat(chunks).toString()));
    response.on("error", (cause) => {
      const message = `the daemon broke off its answer (${whyNot(cause)})`;
      reject(
        new Failure("unreachable", message, ["ask again; tipstaff status says whether it runs"]),
      );
    });
  });
}

/** Bytes become values here. What says JSON where we ask for JSON is one of ours. */
function decodeAnswer<Name extends OperationName>(text: string): Answer<Name> {
  if (text === "") return {} as Answer<Name>;
  try {
    return JSON.parse(text) as Answer<Name>;
  } catch {
    throw notOurs("it answers something that is not JSON");
  }
}

async function refusal(
  values: Values,
  answer: { readonly statusCode: number; readonly text: string; readonly path: string },
): Promise<Failure> {
  const error = errorIn(answer.text);
  if (!error) return notOurs(`it answers ${answer.statusCode}`);
  const message = printable(error.message);
  if (error.code === "token_required") {
    return new Failure(error.code, message, tokenAdvice(values));
  }
  if (error.code === "not_found" || error.code === "method_not_allowed") {
    return new Failure(error.code, `the daemon has no ${answer.path.split("?")[0]}`, [
      "it may be older than this command: tipstaff doctor compares the versions",
    ]);
  }
  return new Failure(error.code, message);
}

function errorIn(text: string): ErrorBody["error"] | undefined {
  try {
    const { error } = JSON.parse(text) as Partial<ErrorBody>;
    return typeof error?.code === "string" && typeof error.message === "string" ? error : undefined;
  } catch {
    return undefined;
  }
}

export function notOurs(why: string): Failure {
  return new Failure("not_ours", `what answers is another program (${why})`, [
    "say where the daemon is with --data-dir or --http; tipstaff doctor says who has its port",
  ]);
}

/** TIPSTAFF_TOKEN, or what the daemon has put into its data directory. */
export function bearer(values: Values): { readonly authorization?: string } {
  const token = process.env["TIPSTAFF_TOKEN"] || readToken(dataDirectoryFrom(values));
  // Whatever else stands in the file must not become a header.
  return token !== undefined && /^[\x21-\x7e]{1,500}$/.test(token)
    ? { authorization: `Bearer ${token}` }
    : {};
}

function tokenAdvice(values: Values): readonly string[] {
  const directory = dataDirectoryFrom(values);
  const file = printPath(tokenPath(directory));
  const hasVariable = Boolean(process.env["TIPSTAFF_TOKEN"]);
  const hasFile = readToken(directory) !== undefined;
  return [
    hasVariable
      ? "the token in TIPSTAFF_TOKEN is not the daemon's"
      : `looked in TIPSTAFF_TOKEN (not set) and ${file} (${hasFile ? "not this daemon's" : "cannot be read"})`,
    "the daemon keeps its token in its data directory: tipstaff status says where; give --data-dir",
  ];
}

/** Nobody was asked: nobody listens, or we may not connect. */
function isAbsent(cause: unknown): boolean {
  return isNobody(cause) || codeOf(cause) === "EACCES";
}

function isNobody(cause: unknown): boolean {
  const codes = ["ENOENT", "ENOTDIR", "ECONNREFUSED", "ENETUNREACH", "EHOSTUNREACH"];
  return codes.includes(codeOf(cause));
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && "code" in cause ? String(cause.code) : "";
}

function whyNot(cause: unknown): string {
  const code = codeOf(cause);
  return reasons[code] ?? (cause instanceof Error && cause.message ? cause.message : code);
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "there is no socket",
  ENOTDIR: "there is no socket",
  ECONNREFUSED: "nobody listens",
  ENETUNREACH: "no network",
  EHOSTUNREACH: "no network",
  EACCES: "not allowed",
  ENOTFOUND: "no such host",
  ETIMEDOUT: "no answer",
  ECONNRESET: "it hung up",
  EPIPE: "it hung up",
};
