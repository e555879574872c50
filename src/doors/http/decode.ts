/** Headers, queries and bodies become values here, or a refusal. */
import type { Context } from "hono";
import type { ByteAccount } from "../../transport/index.ts";
import type { InputSchema } from "../../wire/openapi/index.ts";
import type { Env } from "./door.ts";
import { limits } from "./limits.ts";
import type { ApiRefusal } from "./operations.ts";

export type Decoded<Value> =
  | { readonly value: Value; readonly refusal?: never }
  | { readonly refusal: ApiRefusal; readonly value?: never };

type Fields = Readonly<Record<string, unknown>>;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The fields of a JSON body; none at all if there is no body. Whoever is not trusted has little to say. */
export async function readBody(
  context: Context<Env>,
  { mayWrite }: { readonly mayWrite: boolean },
): Promise<Decoded<Fields>> {
  const { req } = context;
  const bytesMax = mayWrite ? limits.bodyBytesMax : limits.strangersBodyBytesMax;
  if (Number(req.header("Content-Length") ?? 0) > bytesMax) return tooLong(bytesMax);
  const bytes = await readBytes(req.raw.body, bytesMax, context.env.peer?.unfinished);
  if (bytes.refusal) return bytes;
  if (bytes.value.length === 0) return { value: {} };
  // A page from elsewhere may send other types without asking first.
  if (!/^application\/json\s*(;|$)/i.test(req.header("Content-Type") ?? "")) {
    return refused("unsupported_media_type", "the body must be application/json");
  }
  if (!/^(identity)?$/i.test(req.header("Content-Encoding") ?? "")) {
    return refused("unsupported_media_type", "the body must not be compressed");
  }
  return parseFields(bytes.value);
}

/** What is left unread is not ours to throw away: whoever sends it is told before it is cut off. */
async function readBytes(
  body: ReadableStream<Uint8Array> | null,
  bytesMax: number,
  unfinished: ByteAccount | undefined,
): Promise<Decoded<Buffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = body?.getReader();
  try {
    for (;;) {
      const read = await reader?.read();
      if (!read || read.done) return { value: Buffer.concat(chunks) };
      length += read.value.length;
      if (length > bytesMax) return tooLong(bytesMax);
      chunks.push(read.value);
      unfinished?.set(length);
    }
  } catch {
    return invalid("the body ended too early");
  } finally {
    unfinished?.set(0);
    reader?.releaseLock();
  }
}

function tooLong(bytesMax: number): { readonly refusal: ApiRefusal } {
  return refused("body_too_long", `the body is larger than the limit of ${bytesMax} bytes`);
}

/** Whether brackets stand in each other deeper than any field of ours. Parsing a million of them takes seconds. */
function isDeep(bytes: Uint8Array): boolean {
  let depth = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (isText) {
      if (byte === 0x5c) at += 1;
      else if (byte === 0x22) isText = false;
    } else if (byte === 0x22) isText = true;
    else if (byte === 0x5b || byte === 0x7b) depth += 1;
    else if (byte === 0x5d || byte === 0x7d) depth -= 1;
    if (depth > limits.bodyDepthMax) return true;
  }
  return false;
}

function parseFields(bytes: Uint8Array): Decoded<Fields> {
  const noObject = "the body must be one JSON object in UTF-8";
  if (isDeep(bytes)) return invalid(`the body is nested deeper than ${limits.bodyDepthMax}`);
  let hasProto = false;
  try {
    const text = utf8.decode(bytes);
    const value: unknown = JSON.parse(text);
    // Assigned to an object, it would be its prototype. Looked for only where it may be: also written in escapes.
    if (/__proto__|\\u005f/i.test(text)) {
      JSON.parse(text, (key) => {
        hasProto ||= key === "__proto__";
      });
    }
    if (hasProto) return invalid("no field may be called __proto__");
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return { value: { ...value } };
    }
  } catch {
    // Told below.
  }
  return invalid(noObject);
}

/** The fields that stand in a path where its pattern has their names in braces. */
export function decodePath(
  url: string,
  pattern: string,
): Decoded<Readonly<Record<string, string>>> {
  const segments = new URL(url).pathname.split("/");
  const fields = pattern.split("/").flatMap((part, index): (readonly [string, string])[] => {
    const field = /^\{(\w+)\}$/.exec(part)?.[1];
    return field === undefined ? [] : [[field, segments[index] ?? ""]];
  });
  try {
    const decoded = fields.map(([field, text]) => [field, decodeURIComponent(text)] as const);
    return { value: Object.fromEntries(decoded) };
  } catch {
    return invalid("the path has a % that stands for no character");
  }
}

/** A query as the fields of an operation: each as the type that its schema wants. */
export function decodeQuery(
  url: string,
  properties: NonNullable<InputSchema["properties"]>,
): Decoded<Fields> {
  const query = readQuery(url);
  if (query.refusal) return query;
  const fields: [string, unknown][] = [];
  for (const [name, texts] of query.value) {
    if (!Object.hasOwn(properties, name)) return invalid(`there is no field ${name}`);
    const type = properties[name]?.["type"];
    const [text = ""] = texts;
    if (type === "array") fields.push([name, texts]);
    else if (texts.length > 1) return invalid(`${name}: is there ${texts.length} times`);
    else if (type === "integer") fields.push([name, toInteger(text)]);
    else if (type === "boolean") fields.push([name, toBoolean(text)]);
    else fields.push([name, text]);
  }
  return { value: Object.fromEntries(fields) };
}

/** Where it is none the text stays, and the schema says what is wrong. */
function toInteger(text: string): number | string {
  return /^-?\d{1,16}$/.test(text) ? Number(text) : text;
}

function toBoolean(text: string): boolean | string {
  return text === "true" || text === "false" ? text === "true" : text;
}

/** All texts under each name, in their order. */
function readQuery(url: string): Decoded<ReadonlyMap<string, readonly string[]>> {
  const query = new Map<string, string[]>();
  try {
    for (const pair of new URL(url).search.slice(1).split("&")) {
      if (pair === "") continue;
      const end = pair.includes("=") ? pair.indexOf("=") : pair.length;
      const name = decodeText(pair.slice(0, end));
      const texts = query.get(name) ?? [];
      query.set(name, [...texts, decodeText(pair.slice(end + 1))]);
    }
    return { value: query };
  } catch {
    return invalid("the query has a % that stands for no character");
  }
}

function decodeText(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

/** An `Idempotency-Key`, if there is one: printable characters. */
export function decodeKey(text: string | undefined): Decoded<string | undefined> {
  if (text === undefined || /^[!-~]{1,255}$/.test(text)) return { value: text };
  return invalid("Idempotency-Key: has 1 to 255 printable characters");
}

function refused(code: ApiRefusal["code"], message: string): { readonly refusal: ApiRefusal } {
  return { refusal: { code, message } };
}

function invalid(message: string): { readonly refusal: ApiRefusal } {
  return refused("invalid_argument", message);
}

/** Where a stream of events goes on, and of what it tells. */
export type Watching = {
  /** Undefined for "from now". */
  readonly after: number | undefined;
  /** Prefixes; all if there are none. */
  readonly topics: readonly string[];
};

/**
 * A browser that reconnects repeats the address it began with and adds how far it came, so the header
 * counts for more than the query.
 */
export function decodeWatching(url: string, lastEventId: string | undefined): Decoded<Watching> {
  const query = readQuery(url);
  if (query.refusal) return query;
  const { after: afters = [], topic: topics = [], ...rest } = Object.fromEntries(query.value);
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) return invalid(`there is no field ${unknown}`);
  if (afters.length > 1) return invalid(`after: is there ${afters.length} times`);
  if (topics.length > limits.topicsMax) {
    return invalid(`topic: is there more than ${limits.topicsMax} times`);
  }
  const [name, text] = lastEventId ? ["Last-Event-ID", lastEventId] : ["after", afters[0]];
  if (text === undefined || text === "") return { value: { after: undefined, topics } };
  const after = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(after)) return { value: { after, topics } };
  return invalid(`${name}: must be the sequence of an event, a whole number`);
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
