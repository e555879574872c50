/** From what a caller says, and what this machine knows, to a client that has seen its daemon. */
import { Calls, type Cancellable, type Fetch } from "./calls.ts";
import { Client } from "./client.ts";
import { type Clock, systemClock } from "./deadline.ts";
import { lookAround, readToken } from "./environment.ts";
import { TipstaffError } from "./errors.ts";
import { limits } from "./limits.ts";

export type ConnectOptions = Cancellable & {
  /** `TIPSTAFF_URL`, the page's own address, or `http://127.0.0.1:9090`, if absent. */
  readonly url?: string | undefined;
  /** `TIPSTAFF_TOKEN`, or the token of the daemon on this machine, if absent. */
  readonly token?: string | undefined;
  /** On a page of the daemon: what it was given together with its cookie. */
  readonly pageKey?: string | undefined;
  /** Another way to send requests: to a plane in this process, or through a proxy. */
  readonly fetch?: Fetch | undefined;
  /** How long to wait for a daemon that is not there yet. Not at all by default: it may never come. */
  readonly waitMs?: number | undefined;
  /** How long later calls are repeated while no daemon answers: 30 s by default. */
  readonly patienceMs?: number | undefined;
  /** For tests. */
  readonly clock?: Clock | undefined;
};

/** Rejects with `unreachable` if no daemon answers. */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const { signal, waitMs = 0, pageKey, clock = systemClock } = options;
  const surroundings = lookAround();
  const url = readUrl(options.url ?? surroundings.url ?? pageOrigin() ?? "http://127.0.0.1:9090");
  const { token, hint } = findToken(url, options);
  const calls = new Calls({
    url,
    fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
    headers: {
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      ...(pageKey === undefined ? {} : { "Tipstaff-Page": pageKey }),
    },
    clock,
    patienceMs: options.patienceMs ?? limits.patienceMs,
    tokenHint: hint,
  });
  await calls.call("getSession", {}, { signal, patienceMs: waitMs });
  return new Client(calls);
}

/** Without the slash at its end. */
function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new TipstaffError("invalid_argument", `${text} is no address; write http://host:port`);
  }
  return (url.origin + url.pathname).replace(/\/+$/, "");
}

/** The file's token is for the daemon on this machine and is sent to no other. */
function findToken(
  url: string,
  { token, pageKey }: ConnectOptions,
): { readonly token: string | undefined; readonly hint: string } {
  if (token !== undefined || pageKey !== undefined) return { token, hint: "" };
  const { token: named, tokenPath } = lookAround();
  if (named !== undefined) return { token: named, hint: " (TIPSTAFF_TOKEN was sent)" };
  if (tokenPath === undefined) return { token: undefined, hint: "; connect with { token }" };
  if (!isLoopback(url)) {
    return { token: undefined, hint: "; connect with { token } or set TIPSTAFF_TOKEN" };
  }
  const kept = readToken(tokenPath);
  const hint = kept === undefined ? `; there is none in ${tokenPath}` : ` (sent: ${tokenPath})`;
  return { token: kept, hint };
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
}

/** Where there is a page, its daemon is where it came from. */
function pageOrigin(): string | undefined {
  const origin: unknown = Reflect.get(globalThis, "location")?.origin;
  return typeof origin === "string" && origin.startsWith("http") ? origin : undefined;
}
