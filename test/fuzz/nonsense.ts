/** Frames as nobody should send them: good ones with something wrong about them, and what is no frame at all. */
import fc from "fast-check";
import type { Random } from "../../src/testing/random.ts";

export type Json = { readonly [name: string]: unknown };

/** What a value is replaced with. Much of it has a meaning to a language, or to a machine, that it has to no one else. */
const odd: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  0.5,
  1e308,
  Number.MAX_SAFE_INTEGER,
  "",
  " ",
  "\0",
  "\ud800",
  "\u202e\u0007",
  "__proto__",
  "constructor",
  "a".repeat(300),
  "é".repeat(20_000),
  [],
  {},
  [[[]]],
  { toString: 1, valueOf: "x", length: -1 },
  { length: 4_294_967_295 },
];

export class Nonsense {
  readonly #random: Random;
  readonly #values: readonly unknown[];

  constructor(random: Random, seed: number) {
    this.#random = random;
    const any = fc.anything({ maxDepth: 3, withNullPrototype: false, withBigInt: false });
    this.#values = [...odd, ...fc.sample(any, { numRuns: 200, seed })];
  }

  /** A good frame with a few things wrong about it, as text. */
  spoil(frame: Json): string {
    const random = this.#random;
    let spoilt: unknown = structuredClone(frame);
    for (let times = random.between(1, 3); times > 0; times -= 1) spoilt = this.#change(spoilt);
    const text = JSON.stringify(spoilt) ?? "null";
    switch (
      random.weighted({ asItIs: 70, twice: 6, proto: 6, deep: 5, cut: 5, noise: 6, space: 2 })
    ) {
      case "asItIs":
        return text;
      case "twice":
        return text.replace("{", '{"id":"first","type":"session.hello","payload":{},');
      case "proto":
        return text.replace(/\{/g, '{"__proto__":{"isAdmin":true,"id":"p"},');
      case "deep": {
        const depth = random.pick([100, 600, 20_000]);
        const nest = `${'{"a":['.repeat(depth)}1${"]}".repeat(depth)}`;
        return text.replace(/"payload":\{/, `"payload":{"input":${nest},"deep":${nest},`);
      }
      case "cut":
        return text.slice(0, random.below(text.length));
      case "noise": {
        const at = random.below(text.length);
        return `${text.slice(0, at)}${random.hex(random.between(1, 8))}${text.slice(at + 1)}`;
      }
      case "space":
        return `${" ".repeat(70_000)}${text}\t\r`;
    }
  }

  /** Bytes of any kind. */
  bytes(): Buffer {
    const length = this.#random.pick([1, 2, 10, 200, 5_000]);
    return Buffer.from(Array.from({ length }, () => this.#random.below(256)));
  }

  #change(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.#maybe(each));
    if (typeof value !== "object" || value === null) return this.#random.pickAny(this.#values);
    const names = Object.keys(value);
    const name = this.#random.pickAny(names);
    if (name === undefined) return this.#random.pickAny(this.#values);
    const fields = { ...value } as Record<string, unknown>;
    const how = this.#random.weighted({ inside: 55, replace: 25, drop: 12, rename: 4, add: 4 });
    if (how === "inside") fields[name] = this.#change(fields[name]);
    if (how === "replace") fields[name] = this.#random.pickAny(this.#values);
    if (how === "drop") delete fields[name];
    if (how === "add") fields[this.#random.hex(4)] = this.#random.pickAny(this.#values);
    if (how === "rename") {
      fields[`${name}x`] = fields[name];
      delete fields[name];
    }
    return fields;
  }

  #maybe(value: unknown): unknown {
    return this.#random.chance(50) ? this.#change(value) : value;
  }
}
