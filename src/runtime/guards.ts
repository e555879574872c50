/**
 * Files and requests, for jobs that may not reach all of them (ARCP-146, 149). What is checked is what is opened: a
 * path is resolved first and cannot lead elsewhere afterwards, a redirection is asked for like any other target, and
 * a host name is looked up once: the address that was checked is the one that is connected to.
 */
import { lookup } from "node:dns/promises";
import { constants, type FileHandle, open, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { isPublicAddress } from "../core/index.ts";
import type { TraceHeaders } from "../wire/work/index.ts";
import { WorkError } from "./errors.ts";
import { fetchAt } from "./fetch-at.ts";
import { limits } from "./limits.ts";

export type Guard = {
  /** Resolves with the target as it was compared; rejects if it is not allowed. */
  readonly authorize: (capability: string, target: string) => Promise<string>;
  /** Whether the grant allows the URL and names its host literally, which is an address. */
  readonly namesAddress: (url: string) => boolean;
  /** The addresses of a host name. The system's, if absent. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>;
  /** What relative paths are in. Without one there are none. */
  readonly workingDirectory?: string | undefined;
  /** Whether the system says where an open file is, and opens one from there. Linux does; elsewhere a look is less. */
  readonly hasDescriptorPaths?: boolean;
  readonly signal: AbortSignal;
  readonly traceContext: TraceHeaders;
};

/** All of it. Rejects as `node:fs` does, or with `permission_denied`. */
export async function readFileWithin(guard: Guard, path: string): Promise<Buffer> {
  await using file = await openWithin(guard, path, { capability: "fs.read", flags: readFlags });
  const { size } = await file.stat();
  if (size > limits.fileBytesMax) throw tooLong();
  return await readAll(file, guard.signal);
}

/** In place of what it held, if it was there. */
export async function writeFileWithin(
  guard: Guard,
  path: string,
  data: string | Uint8Array,
): Promise<void> {
  await using file = await openWithin(guard, path, { capability: "fs.write", flags: writeFlags });
  // Not while opening it: what is opened is checked first.
  await file.truncate();
  await file.writeFile(data, { signal: guard.signal });
}

// A pipe without anybody at its other end would wait for ever.
const { O_RDONLY, O_WRONLY, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants;
const readFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
const writeFlags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK;

type Way = { readonly capability: "fs.read" | "fs.write"; readonly flags: number };

async function openWithin(guard: Guard, path: string, way: Way): Promise<FileHandle> {
  const { workingDirectory } = guard;
  if (!isAbsolute(path) && workingDirectory === undefined) {
    throw denied(`${way.capability}: a relative path, and no directory that it would be in`);
  }
  const asked = resolve(workingDirectory ?? "/", path);
  for (let tries = 0; tries < limits.opensMax; tries += 1) {
    guard.signal.throwIfAborted();
    const real = await resolveLinks(asked, way).catch(async (error: unknown) => {
      // Whoever may not read it must not learn from this whether it is there.
      await guard.authorize(way.capability, asked);
      throw error;
    });
    const file = await openChecked(await guard.authorize(way.capability, real), way, guard);
    if (file) return file;
  }
  throw denied(`${way.capability}: the path leads elsewhere each time it is looked at`);
}

/** A file that is to be written need not be there yet, but the directory it is in must. */
async function resolveLinks(path: string, { capability }: Way): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (capability === "fs.read" || !isCode(error, "ENOENT")) throw error;
    return join(await realpath(dirname(path)), basename(path));
  }
}

/** Nothing if it has become another since it was resolved. */
async function openChecked(
  real: string,
  { flags }: Way,
  { hasDescriptorPaths = process.platform === "linux" }: Guard,
): Promise<FileHandle | undefined> {
  const parent = dirname(real);
  try {
    await using directory = await open(parent, hasDescriptorPaths ? pathOnly : O_DIRECTORY);
    const whereIs = hasDescriptorPaths ? readDescriptor : findAgain;
    if ((await whereIs(directory, parent)) !== parent) return undefined;
    // From within the directory that was checked, whatever its name leads to by now.
    const entry = hasDescriptorPaths ? join(descriptorPath(directory), basename(real)) : real;
    await using opened = new AsyncDisposableStack();
    const file = opened.use(await open(entry, flags));
    if (!hasDescriptorPaths && (await findAgain(file, real)) !== real) return undefined;
    if (!(await file.stat()).isFile()) throw denied("only files are read and written");
    opened.move();
    return file;
  } catch (error) {
    // The last part is a link by now, or the directory is none.
    if (isCode(error, "ELOOP") || isCode(error, "ENOTDIR")) return undefined;
    throw error;
  }
}

// Linux's O_PATH, which Node has no name for: it takes no right to list what is in a directory.
const pathOnly = O_DIRECTORY | 0o10_000_000;

function descriptorPath({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}

function readDescriptor(handle: FileHandle): Promise<string> {
  return readlink(descriptorPath(handle));
}

/** Whether the same is still to be found there. It is a look, and what is seen may change with the next one. */
async function findAgain(handle: FileHandle, expected: string): Promise<string | undefined> {
  const path = await realpath(expected);
  const [one, other] = await Promise.all([
    handle.stat({ bigint: true }),
    stat(path, { bigint: true }),
  ]);
  return one.ino === other.ino && one.dev === other.dev ? path : undefined;
}

/** Files grow, and some that are made up by the system have no size. */
async function readAll(file: FileHandle, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of file.createReadStream({ autoClose: false, signal })) {
    bytes += chunk.length;
    if (bytes > limits.fileBytesMax) throw tooLong();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

/**
 * As `fetch`, for targets of `net.fetch`: each redirection is one. Without a `traceparent` of their own, requests
 * have the job's. Patterns of a grant match host names; an address that is not public is connected to only if the grant
 * names it literally, or `localhost` for this machine. No proxy is used.
 */
export async function fetchWithin(
  guard: Guard,
  url: string | URL,
  init: RequestInit = {},
): Promise<Response> {
  const headers = new Headers(init.headers);
  if (!headers.has("traceparent")) {
    for (const [name, value] of Object.entries(guard.traceContext)) headers.set(name, value);
  }
  const signal = init.signal ? AbortSignal.any([guard.signal, init.signal]) : guard.signal;
  let request: RequestInit = { ...init, headers, signal, redirect: "manual" };
  let target = await guard.authorize("net.fetch", String(url));
  for (let hops = 0; hops <= limits.redirectsMax; hops += 1) {
    const response = await fetchChecked(guard, target, request);
    const location = redirections.has(response.status) ? response.headers.get("location") : null;
    if (location === null || init.redirect === "manual") return response;
    await response.body?.cancel();
    if (init.redirect === "error") throw new TypeError("the answer is a redirection");
    const next = await guard.authorize("net.fetch", new URL(location, target).href);
    request = redirected(request, { status: response.status, from: target, to: next });
    target = next;
  }
  throw new TypeError(`more than ${limits.redirectsMax} redirections`);
}

async function fetchChecked(guard: Guard, target: string, init: RequestInit): Promise<Response> {
  const url = new URL(target);
  // Others connect to nobody (`data:`), or are refused there.
  if (url.protocol !== "http:" && url.protocol !== "https:") return await fetch(target, init);
  const { hostname } = url;
  const isAddress = isPublicAddress(hostname) !== undefined;
  const { resolve: find = findAddresses } = guard;
  const found = isAddress ? [hostname] : await orAborted(find(hostname), init.signal);
  const allowed = found.filter((address) => isReachable(guard, url, address));
  if (allowed.length > 0) return await fetchAt(target, allowed, init);
  const message = isAddress
    ? `net.fetch: ${hostname} is not a public address, and the grant does not name it`
    : `net.fetch: ${hostname} resolves only to non-public addresses, and the grant names none of them literally (such as http://10.0.0.5/**)`;
  throw denied(message);
}

/** An address that is not known to be public counts as not public. */
function isReachable(guard: Guard, url: URL, address: string): boolean {
  if (isPublicAddress(address)) return true;
  const named = new URL(url);
  named.hostname = address.includes(":") && !address.startsWith("[") ? `[${address}]` : address;
  // The setter ignores an IPv6 address with a zone id (`fe80::1%eth0`) and keeps the host name, so such an address is
  // refused.
  return isPublicAddress(named.hostname) === false && guard.namesAddress(named.href);
}

async function findAddresses(hostname: string): Promise<readonly string[]> {
  try {
    return (await lookup(hostname, { all: true })).map(({ address }) => address);
  } catch (cause) {
    throw new TypeError("fetch failed", { cause });
  }
}

/** A name server may be slow, and cannot be told that nobody waits. */
async function orAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal | null | undefined,
): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted) abort();
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

const redirections: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Of the server they were meant for. */
const secrets = ["authorization", "proxy-authorization", "cookie", "host"];
const aboutBody = ["content-encoding", "content-language", "content-location", "content-type"];

/** As the standard of fetch has it. */
function redirected(
  request: RequestInit,
  { status, from, to }: { readonly status: number; readonly from: string; readonly to: string },
): RequestInit {
  const headers = new Headers(request.headers);
  const { body, ...bodiless } = request;
  if (new URL(from).origin !== new URL(to).origin) {
    for (const name of secrets) headers.delete(name);
  }
  const method = request.method?.toUpperCase() ?? "GET";
  const isRead = method === "GET" || method === "HEAD";
  if (status === 303 ? !isRead : status < 303 && method === "POST") {
    for (const name of [...aboutBody, "content-length"]) headers.delete(name);
    return { ...bodiless, method: "GET", headers };
  }
  const isStream = typeof body === "object" && body !== null && Symbol.asyncIterator in body;
  if (isStream) throw new TypeError("a body that is a stream cannot be sent again");
  return { ...request, headers };
}

function denied(message: string): WorkError {
  return new WorkError("permission_denied", message);
}

function tooLong(): RangeError {
  return new RangeError(`the file has more than ${limits.fileBytesMax} bytes`);
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
