/** What a task brings along and leaves behind: bytes, which most often are JSON. */

/** Bytes as they are, or any value that JSON can say. */
export type PayloadValue = Uint8Array | string | number | boolean | object | null;

export class Payload {
  readonly #base64: string;

  constructor(base64: string) {
    this.#base64 = base64;
  }

  get bytes(): Uint8Array {
    const binary = atob(this.#base64);
    const bytes = new Uint8Array(binary.length);
    for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
    return bytes;
  }

  text(): string {
    return new TextDecoder().decode(this.bytes);
  }

  /** The value that was handed in. You say of which type it is; throws a `SyntaxError` if it is no JSON. */
  json<Value = unknown>(): Value {
    return JSON.parse(this.text());
  }
}

/** As base64. Nothing is no bytes; everything but bytes becomes JSON, texts too. */
export function encodePayload(value: PayloadValue | undefined): string {
  if (value === undefined) return "";
  const bytes =
    value instanceof Uint8Array
      ? value
      : new TextEncoder().encode(JSON.stringify(value, withoutBigints));
  let binary = "";
  for (let start = 0; start < bytes.length; start += argumentsMax) {
    binary += String.fromCharCode(...bytes.subarray(start, start + argumentsMax));
  }
  return btoa(binary);
}

/** A token in a result is the first thing one wants; in JSON it is a decimal text, as everywhere. */
function withoutBigints(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

/** A function takes only so many. */
const argumentsMax = 8_192;
