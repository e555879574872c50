/** Headers and queries become values here, or a reason why they cannot. */

export type Decoded<Value> =
  | { readonly value: Value; readonly problem?: never }
  | { readonly problem: string };

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
  return { problem: `${name} must be the sequence of an event, a whole number` };
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

  /** Whether a page from `origin` may ask for `url`. Where any name will do, only a page of ours. */
  hasOrigin(origin: string, url: string): boolean {
    if (!origin.startsWith("http://") || !this.has(origin)) return false;
    return !this.#isAny || new URL(origin).host === new URL(url).host;
  }
}
