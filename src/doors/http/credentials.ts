/**
 * Who may write. Whoever can read the local token may; a page may that came by a one-time link, which
 * gives it a cookie. Cookies are shared by all ports of a host, so the cookie alone is not enough: the
 * page sends along a key that it keeps where other ports cannot look.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { limits } from "./limits.ts";

export const cookieName = "tipstaff";

/** What a page sends along with its cookie. */
export const pageHeader = "Tipstaff-Page";

type Link = { readonly expiresAtMs: number };

export class Credentials {
  readonly #token: string;
  /** By their keys, oldest first. */
  readonly #links = new Map<string, Link>();

  constructor(token: string) {
    this.#token = token;
  }

  /** `authorization` is the header as it came. */
  hasToken(authorization: string | undefined): boolean {
    return authorization !== undefined && isEqual(authorization, `Bearer ${this.#token}`);
  }

  isPage({ cookie, key }: { readonly cookie: string; readonly key: string }): boolean {
    return isEqual(cookie, this.cookie) && isEqual(key, this.pageKey);
  }

  /** The key of a new link. It can be used once, within `forMs`. */
  makeLink(nowMs: number, forMs: number = limits.linkMs): string {
    const [oldest] = this.#links.keys();
    if (oldest !== undefined && this.#links.size >= limits.linksMax) this.#links.delete(oldest);
    const key = randomBytes(24).toString("base64url");
    this.#links.set(key, { expiresAtMs: nowMs + forMs });
    return key;
  }

  /** Whether a link has this key and may be used. It may not be used again. */
  redeem(key: string, nowMs: number): boolean {
    const link = this.#links.get(key);
    this.#links.delete(key);
    return link !== undefined && link.expiresAtMs >= nowMs;
  }

  get cookie(): string {
    return this.#derive("cookie");
  }

  get pageKey(): string {
    return this.#derive("page");
  }

  /** Follows from the token alone: a page stays trusted across restarts, until there is another token. */
  #derive(purpose: "cookie" | "page"): string {
    return createHmac("sha256", this.#token).update(purpose).digest("base64url");
  }
}

/** In a time that does not tell how much of it is right. */
function isEqual(one: string, other: string): boolean {
  const key = randomBytes(32);
  const digest = (text: string): Buffer => createHmac("sha256", key).update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
