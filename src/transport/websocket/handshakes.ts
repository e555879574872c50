/** How many handshakes an address may make: a burst, and then so many a second. */

export type Rate = {
  readonly perSecond: number;
  readonly burst: number;
  /** Addresses that are remembered. One that is forgotten starts afresh. */
  readonly addressesMax: number;
};

type Account = { left: number; atMs: number };

export class Handshakes {
  readonly #rate: Rate;
  /** The one that came longest ago first. */
  readonly #byAddress = new Map<string, Account>();

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /** Whether this one may come in; if so, it counts. */
  admit(address: string, nowMs: number): boolean {
    const { perSecond, burst, addressesMax } = this.#rate;
    const account = this.#byAddress.get(address) ?? { left: burst, atMs: nowMs };
    const earned = ((nowMs - account.atMs) / 1_000) * perSecond;
    const left = Math.min(burst, account.left + earned);
    this.#byAddress.delete(address);
    this.#byAddress.set(address, { left: left < 1 ? left : left - 1, atMs: nowMs });
    if (this.#byAddress.size > addressesMax) {
      const [longestAgo] = this.#byAddress.keys();
      if (longestAgo !== undefined) this.#byAddress.delete(longestAgo);
    }
    return left >= 1;
  }
}
