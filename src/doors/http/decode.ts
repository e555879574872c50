/** Headers, queries and bodies become values here, or a refusal. */
import type { Context } from "hono";
import type { InputSchema } from "../../wire/openapi/index.ts";
import type { Env } from "./door.ts";
import { limits } from "./limits.ts";
import type { ApiRefusal } from "./operations.ts";

export type Decoded<Value> =
  | { readonly value: Value; readonly refusal?: never }
  | { readonly refusal: ApiRefusal; readonly value?: never };

type Fields = Readonly<Record<string, unknown>>;

const tooLong = `a body may have ${limits.bodyBytesMax} bytes`;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The fields of a JSON body; none at all if there is no body. */
export async function readBody(context: Context<Env>): Promise<Decoded<Fields>> {
  const announced = Number(context.req.header("Content-Length") ?? 0);
  if (announced > limits.bodyBytesMax) return refused("body_too_long", tooLong);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of context.req.raw.body ?? []) {
    bytes += chunk.length;
    if (bytes > limits.bodyBytesMax) return refused("body_too_long", tooLong);
    chunks.push(chunk);
  }
  if (bytes === 0) return { value: {} };
  const type = context.req.header("Content-Type") ?? "";
  // A page from elsewhere may send other types without asking first.
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    return refused("unsupported_media_type", "the body must be application/json");
  }
  return parseFields(Buffer.concat(chunks));
}

function parseFields(bytes: Uint8Array): Decoded<Fields> {
  try {
    const text = utf8.decode(bytes);
    const value: unknown = JSON.parse(text, text.includes("__proto__") ? withoutProto : undefined);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return { value: { ...value } };
    }
  } catch {
    // Told below.
  }
  return invalid("the body must be one JSON object in UTF-8");
}

/** Assigned to an object, it would be its prototype. */
function withoutProto(key: string, value: unknown): unknown {
  if (key === "__proto__") throw new Error("no field is called so");
  return value;
}

/** A query as the fields of an operation: each as the type that its schema wants. */
export function decodeQuery(
  query: Readonly<Record<string, readonly string[]>>,
  properties: NonNullable<InputSchema["properties"]>,
): Decoded<Fields> {
  const fields: [string, unknown][] = [];
  for (const [name, texts] of Object.entries(query)) {
    const type = Object.hasOwn(properties, name) ? properties[name]?.["type"] : undefined;
    const [text = ""] = texts;
    if (type === "array") fields.push([name, texts]);
    else if (texts.length > 1) return invalid(`${name}: is there ${texts.length} times`);
    else if (type === "integer" && /^-?\d{1,16}$/.test(text)) fields.push([name, Number(text)]);
    else if (type === "boolean" && /^(true|false)$/.test(text))
      fields.push([name, text === "true"]);
    else fields.push([name, text]);
  }
  return { value: Object.fromEntries(fields) };
}

/** An `Idempotency-Key`, if there is one: printable characters. */
export function decodeKey(text: string | undefined): Decoded<string | undefined> {
  if (text === undefined || /^[!-~]{1,255}$/.test(text)) return { value: text };
  return invalid("Idempotency-Key: has 1 to 255 printable characters");
}

/** Prefixes of topics; all if there are none. */
export function decodeTopics(texts: readonly string[] = []): Decoded<readonly string[]> {
  if (texts.length <= limits.topicsMax) return { value: texts };
  return invalid(`topic: is there more than ${limits.topicsMax} times`);
}

function refused(code: ApiRefusal["code"], message: string): { readonly refusal: ApiRefusal } {
  return { refusal: { code, message } };
}

function invalid(message: string): { readonly refusal: ApiRefusal } {
  return refused("invalid_argument", message);
}

/**
 * Where a stream of events goes on; undefined for "from now". A browser that reconnects repeats the
 * address it began with and adds how far it came, so the header counts for more than the query.
 */
export function decodeAfter(
  lastEventId: string | undefined,
  after: string | undefined,
): Decoded<number | undefined> {
  const [name, text] = lastEventId ? ["Last-Event-ID", lastEventId] : ["after", after];
  if (text === undefined || text === "") return { value: undefined };
  const sequence = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(sequence)) return { value: sequence };
  return invalid(`${name} must be the sequence of an event, a whole number`);
}

/** Names by which a browser on this machine may call us, as they stand in a URL. */
const ownHosts = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Who may be asked for. A page from elsewhere can make a browser call us under a name that it controls
 * and that resolves to this machine; it cannot make it call us by one of these.
 */
export class Hosts {
  readonly #names: ReadonlySet<string>;
  readonly #isAny: boolean;

  /** `any`: the door is open to other machines anyway, under names that we cannot know. */
  constructor(more: readonly string[] | "any") {
    this.#isAny = more === "any";
    const names = more === "any" ? [] : more.map((name) => name.toLowerCase());
    this.#names = new Set([...ownHosts, ...names]);
  }

  /** `url` is the whole address that was asked for; its host is the Host header. */
  has(url: string): boolean {
    return URL.canParse(url) && (this.#isAny || this.#names.has(new URL(url).hostname));
  }

  /** Whether a page from `origin` may ask for `url`: only one that came from this very door. */
  hasOrigin(origin: string, url: string): boolean {
    if (!/^https?:/.test(origin) || !this.has(origin)) return false;
    return new URL(origin).host === new URL(url).host;
  }
}
