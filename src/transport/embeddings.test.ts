import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { Embeddings, EmbeddingsError } from "./embeddings.ts";
import { limits } from "./limits.ts";

type Answer = (request: unknown, response: ServerResponse, message: IncomingMessage) => void;

/** A server that answers as it is told to. */
async function listen(answer: Answer): Promise<{ readonly url: string } & AsyncDisposable> {
  const server = createServer((message, response) => {
    text(message).then((body) => answer(JSON.parse(body), response, message), assert.fail);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(address && typeof address === "object");
  return {
    url: `http://127.0.0.1:${address.port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const json =
  (body: unknown): Answer =>
  (_, response) =>
    response.end(JSON.stringify(body));

const { signal } = new AbortController();

describe("asking for vectors", () => {
  it("sends texts, model and key, and gives a vector for each text in their order", async () => {
    const seen: unknown[] = [];
    await using server = await listen((request, response, { url, headers }) => {
      seen.push(request, url, headers.authorization);
      const data = [
        { index: 1, embedding: [0, 1] },
        { index: 0, embedding: [1, 0.5] },
      ];
      response.end(JSON.stringify({ data }));
    });
    const embeddings = new Embeddings({ url: server.url, model: "small", apiKey: "secret" });
    const vectors = await embeddings.embed(["one", "other"], { signal });
    assert.deepEqual(vectors, [Float32Array.of(1, 0.5), Float32Array.of(0, 1)]);
    assert.deepEqual(seen, [
      { model: "small", input: ["one", "other"], encoding_format: "float" },
      "/v1/embeddings",
      "Bearer secret",
    ]);
  });

  it("finds the call below the address of the server, of its version, or at the address itself", async () => {
    const paths: unknown[] = [];
    await using server = await listen((_, response, { url }) => {
      paths.push(url);
      response.end(JSON.stringify({ data: [{ embedding: [1] }] }));
    });
    for (const path of ["", "/", "/v1", "/v1/", "/gateway", "/own/embeddings"]) {
      const embeddings = new Embeddings({ url: `${server.url}${path}`, model: "m" });
      await embeddings.embed(["text"], { signal });
    }
    assert.deepEqual(paths, [
      "/v1/embeddings",
      "/v1/embeddings",
      "/v1/embeddings",
      "/v1/embeddings",
      "/gateway/v1/embeddings",
      "/own/embeddings",
    ]);
  });

  const wide = Array.from({ length: limits.embeddingWidthMax + 1 }, () => 1);
  const wrong: Readonly<Record<string, unknown>> = {
    "too few": { data: [{ embedding: [1] }] },
    "too many": { data: Array.from({ length: 3 }, () => ({ embedding: [1] })) },
    "no list": { data: { length: 2 } },
    nothing: null,
    "one of another width": { data: [{ embedding: [1] }, { embedding: [1, 2] }] },
    "one that is empty": { data: [{ embedding: [] }, { embedding: [] }] },
    "one of text": { data: [{ embedding: ["1"] }, { embedding: [1] }] },
    "one that is endless": { data: [{ embedding: [1e300] }, { embedding: [1] }] },
    "one that is too wide": { data: [{ embedding: wide }, { embedding: wide }] },
    "the same place twice": {
      data: [
        { index: 0, embedding: [1] },
        { index: 0, embedding: [1] },
      ],
    },
    "a place outside": { data: [{ index: 2, embedding: [1] }, { embedding: [1] }] },
    "a place that is a name": { data: [{ index: "length", embedding: [1] }, { embedding: [1] }] },
  };
  for (const [name, body] of Object.entries(wrong)) {
    it(`refuses an answer with ${name}`, async () => {
      await using server = await listen(json(body));
      const embeddings = new Embeddings({ url: server.url, model: "m" });
      await assert.rejects(embeddings.embed(["one", "other"], { signal }), EmbeddingsError);
    });
  }

  it("refuses an answer that never ends, and stops reading it", async () => {
    await using server = await listen((_, response) => {
      const chunk = Buffer.alloc(1_048_576, " ");
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on("drain", more);
      more();
    });
    const embeddings = new Embeddings({ url: server.url, model: "m" });
    await assert.rejects(embeddings.embed(["text"], { signal }), /too long/);
  });

  it("refuses vectors of another width than those before", async () => {
    let width = 1;
    await using server = await listen((_, response) => {
      const embedding = Array.from({ length: width++ }, () => 1);
      response.end(JSON.stringify({ data: [{ embedding }] }));
    });
    const embeddings = new Embeddings({ url: server.url, model: "m" });
    await embeddings.embed(["text"], { signal });
    await assert.rejects(embeddings.embed(["text"], { signal }), /2 numbers after some of 1/);
  });

  it("tells texts that the server will never take from a server that is in trouble", async () => {
    for (const [status, isRefusal] of [
      [400, true],
      [413, true],
      [401, false],
      [429, false],
      [503, false],
    ] as const) {
      await using server = await listen((_, response) => response.writeHead(status).end("{}"));
      const embeddings = new Embeddings({ url: server.url, model: "m" });
      await assert.rejects(embeddings.embed(["text"], { signal }), { isRefusal });
    }
  });

  it("goes nowhere else, whatever the server says", async () => {
    await using other = await listen(json({ data: [{ embedding: [1] }] }));
    await using server = await listen((_, response) =>
      response.writeHead(307, { location: other.url }).end(),
    );
    const embeddings = new Embeddings({ url: server.url, model: "m", apiKey: "secret" });
    await assert.rejects(embeddings.embed(["text"], { signal }), EmbeddingsError);
  });

  it("ends with the signal's reason, and with an error when nobody listens", async () => {
    await using server = await listen(() => {});
    const reason = new Error("enough");
    const stopping = new AbortController();
    const asked = new Embeddings({ url: server.url, model: "m" }).embed(["text"], {
      signal: stopping.signal,
    });
    stopping.abort(reason);
    await assert.rejects(asked, reason);
    const gone = new Embeddings({ url: "http://127.0.0.1:1", model: "m" });
    await assert.rejects(gone.embed(["text"], { signal }), EmbeddingsError);
  });
});
