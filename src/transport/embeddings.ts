/**
 * Asks another server what texts mean, as vectors: `POST /v1/embeddings` in OpenAI's manner, which most
 * servers of models speak. Whatever comes back is checked: an answer is used as a whole or not at all.
 */
import { limits } from "./limits.ts";

export type EmbeddingsOptions = {
  /** Of the server, or of its version (`.../v1`), or of the call itself. */
  readonly url: string;
  readonly model: string;
  /** Sent as a bearer token, and never written anywhere. */
  readonly apiKey?: string;
};

/** The message is for people, and names neither texts nor keys. */
export class EmbeddingsError extends Error {
  override readonly name = "EmbeddingsError";
  /** Whether it was the texts that the server would not take: asking again for the same is no use. */
  readonly isRefusal: boolean;

  constructor(message: string, options: ErrorOptions & { readonly isRefusal?: boolean } = {}) {
    super(message, options);
    this.isRefusal = options.isRefusal ?? false;
  }
}

export class Embeddings {
  readonly #options: EmbeddingsOptions;
  readonly #url: URL;
  /** Decided by the first answer: vectors of another width could not be compared. */
  #width: number | undefined;

  /** Throws a `TypeError` if the URL is none. */
  constructor(options: EmbeddingsOptions) {
    this.#options = options;
    this.#url = endpointOf(options.url);
  }

  /** One vector a text, in order. Rejects with an `EmbeddingsError`, or with the signal's reason. */
  async embed(
    texts: readonly string[],
    { signal }: { readonly signal: AbortSignal },
  ): Promise<readonly Float32Array[]> {
    const { model, apiKey } = this.#options;
    let body: unknown;
    try {
      const response = await fetch(this.#url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        },
        body: JSON.stringify({ model, input: texts, encoding_format: "float" }),
        redirect: "error",
        signal,
      });
      if (!response.ok) throw await this.#refused(response);
      body = JSON.parse(await readText(response));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof EmbeddingsError) throw error;
      throw new EmbeddingsError(`${this.#url.host} does not answer as it should`, { cause: error });
    }
    return this.#check(vectorsIn(body, texts.length));
  }

  async #refused(response: Response): Promise<EmbeddingsError> {
    await response.body?.cancel();
    const { status } = response;
    const isRefusal = status === 400 || status === 413 || status === 422;
    return new EmbeddingsError(`${this.#url.host} answers with status ${status}`, { isRefusal });
  }

  #check(vectors: readonly Float32Array[]): readonly Float32Array[] {
    this.#width ??= vectors[0]?.length;
    const other = vectors.find((vector) => vector.length !== this.#width);
    if (!other) return vectors;
    throw new EmbeddingsError(
      `${this.#url.host} gave vectors of ${other.length} numbers after some of ${this.#width}`,
    );
  }
}

function endpointOf(url: string): URL {
  const endpoint = new URL(url);
  const path = endpoint.pathname.replace(/\/+$/, "");
  if (path.endsWith("/embeddings")) return endpoint;
  endpoint.pathname = path.endsWith("/v1") ? `${path}/embeddings` : `${path}/v1/embeddings`;
  return endpoint;
}

/** Stops reading at the limit, whatever the server says of its length. */
async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > limits.embeddingsBytesMax) throw new EmbeddingsError("the answer is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function vectorsIn(body: unknown, count: number): readonly Float32Array[] {
  const data = fieldOf(body, "data");
  if (!Array.isArray(data) || data.length !== count) {
    throw new EmbeddingsError(`the answer has not ${count} vectors`);
  }
  const vectors = new Array<Float32Array | undefined>(count);
  for (const [place, item] of data.entries()) {
    const index = fieldOf(item, "index") ?? place;
    const vector = vectorOf(fieldOf(item, "embedding"));
    const isPlace = typeof index === "number" && Number.isInteger(index);
    if (!isPlace || index in vectors || !(index >= 0 && index < count)) {
      throw new EmbeddingsError("the answer does not say which vector is whose");
    }
    vectors[index] = vector;
  }
  return vectors.filter((vector) => vector !== undefined);
}

function vectorOf(value: unknown): Float32Array {
  const isVector =
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= limits.embeddingWidthMax &&
    value.every((part) => typeof part === "number" && Number.isFinite(Math.fround(part)));
  if (!isVector) throw new EmbeddingsError("the answer has a vector that is none");
  return Float32Array.from(value);
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
}
