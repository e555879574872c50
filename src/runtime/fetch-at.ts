/**
 * Makes one HTTP request, only to addresses that were checked before. The global `fetch` resolves the host name by
 * itself, and could get another address than the one that was checked. No connection is reused, because one that a job
 * was allowed to open must not serve another job.
 */
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIPv6, type LookupFunction } from "node:net";
import { type Duplex, pipeline, Readable } from "node:stream";
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from "node:zlib";
import { limits } from "./limits.ts";

/** Like `fetch` with `redirect: "manual"`, but without a proxy or a cache. */
export async function fetchAt(
  url: string,
  addresses: readonly string[],
  init: RequestInit,
): Promise<Response> {
  const { signal, ...rest } = init;
  signal?.throwIfAborted();
  const request = new Request(url, rest);
  // A body that is not a stream has a known length, which is sent to the server.
  const body = isStream(init.body) ? request.body : await bytesOf(request);
  const sending = send(request, addresses, body);
  let message: IncomingMessage | undefined;
  const abort = (): void => void (message ?? sending).destroy(toError(signal?.reason));
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted) abort();
  sending.once("close", () => signal?.removeEventListener("abort", abort));
  try {
    message = await answerTo(sending);
    return responseOf(message, request);
  } catch (error) {
    sending.destroy();
    signal?.throwIfAborted();
    throw new TypeError("fetch failed", { cause: error });
  }
}

function isStream(body: RequestInit["body"]): boolean {
  return typeof body === "object" && body !== null && Symbol.asyncIterator in body;
}

async function bytesOf(request: Request): Promise<Buffer | null> {
  return request.body === null ? null : Buffer.from(await request.arrayBuffer());
}

function send(
  request: Request,
  addresses: readonly string[],
  body: Request["body"] | Buffer,
): ClientRequest {
  const { protocol, hostname, port, pathname, search } = new URL(request.url);
  const sending = (protocol === "https:" ? requestHttps : requestHttp)({
    // Brackets are for URLs.
    hostname: hostname.replace(/^\[(.*)\]$/, "$1"),
    port,
    path: pathname + search,
    method: request.method,
    headers: headersOf(request, body),
    agent: false,
    lookup: answering(addresses),
    timeout: limits.fetchSilenceMs,
  });
  sending.on("timeout", () => {
    sending.destroy(new Error(`the server sent nothing for ${limits.fetchSilenceMs} ms`));
  });
  // If a stream fails, so does the request.
  if (body instanceof ReadableStream) pipeline(Readable.fromWeb(body), sending, () => {});
  else sending.end(body ?? undefined);
  return sending;
}

function answerTo(sending: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  sending.on("response", resolve);
  // Also after the answer, which may come before all of the body was sent.
  sending.on("error", reject);
  return promise;
}

/** Headers of the connection itself, which a caller may not set. */
const ofConnection =
  "connection content-length expect keep-alive te trailer transfer-encoding upgrade".split(" ");

function headersOf(request: Request, body: Request["body"] | Buffer): Record<string, string> {
  const headers = new Headers(request.headers);
  for (const name of ofConnection) headers.delete(name);
  if (body instanceof Buffer) headers.set("content-length", String(body.length));
  else if (body === null && ["POST", "PUT"].includes(request.method)) {
    headers.set("content-length", "0");
  }
  const usual = { accept: "*/*", "accept-encoding": "gzip, br", "user-agent": "node" };
  for (const [name, value] of Object.entries(usual)) {
    if (!headers.has(name)) headers.set(name, value);
  }
  return Object.fromEntries(headers);
}

/** Instead of a name server. Addresses that are in the URL itself are not looked up. */
function answering(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_, { all: wantsAll }, tell) => {
    const [first] = all;
    if (wantsAll) tell(null, all);
    else tell(null, first?.address ?? "", first?.family);
  };
}

function responseOf(message: IncomingMessage, { method, url }: Request): Response {
  const { statusCode: status = 0, statusMessage: statusText = "", rawHeaders } = message;
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  }
  const isEmpty = method === "HEAD" || [204, 205, 304].includes(status);
  if (isEmpty) message.resume();
  const body = isEmpty ? null : Readable.toWeb(decoded(message, headers));
  const response = new Response(body, { status, statusText, headers });
  return Object.defineProperty(response, "url", { value: url });
}

const decoders: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** Decodes the body, if all its encodings are known. */
function decoded(message: IncomingMessage, headers: Headers): Readable {
  const names = (headers.get("content-encoding") ?? "").toLowerCase().split(",").reverse();
  const known = names.flatMap((name) => {
    const create = Object.hasOwn(decoders, name.trim()) ? decoders[name.trim()] : undefined;
    return create ? [create] : [];
  });
  if (known.length < names.length || known.length > limits.encodingsMax) return message;
  let stream: Readable = message;
  for (const create of known) {
    // Whoever reads the last one hears of what went wrong.
    stream = pipeline(stream, create(), () => {});
  }
  return stream;
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error("aborted", { cause: reason });
}
