import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { fetchAt } from "./fetch-at.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

/** A server on this machine, asked by a name that no name server knows. */
async function serve(
  answer: Answer,
): Promise<{ readonly ask: (init?: RequestInit) => Promise<Response> } & AsyncDisposable> {
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(address && typeof address === "object");
  const url = `http://nowhere.invalid:${address.port}/path?query=1`;
  return {
    ask: (init = {}) => fetchAt(url, ["127.0.0.1"], init),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

describe("a request to an address", () => {
  it("names the host of its URL, and says what fetch says", async () => {
    const seen: unknown[] = [];
    await using server = await serve(({ method, url, headers }, response) => {
      seen.push([method, url, headers.host?.split(":")[0], headers.accept, headers["user-agent"]]);
      response.writeHead(201, "Made", [
        ["set-cookie", "a=1"],
        ["set-cookie", "b=2"],
      ]);
      response.end("made");
    });
    const response = await server.ask();
    assert.deepEqual(seen, [["GET", "/path?query=1", "nowhere.invalid", "*/*", "node"]]);
    assert.deepEqual([response.status, response.statusText, response.ok], [201, "Made", true]);
    assert.deepEqual(response.headers.getSetCookie(), ["a=1", "b=2"]);
    assert.match(response.url, /^http:\/\/nowhere\.invalid:\d+\/path\?query=1$/);
    assert.equal(await response.text(), "made");
  });

  it("sends a body with its type and length, or in pieces if it is a stream", async () => {
    const seen: unknown[] = [];
    await using server = await serve(async (request, response) => {
      const { "content-type": type, "content-length": length } = request.headers;
      const { "transfer-encoding": encoding } = request.headers;
      seen.push([await text(request), type, length, encoding]);
      response.end();
    });
    const form = new URLSearchParams({ a: "1" });
    const headers = { "content-length": "99", "transfer-encoding": "gzip", connection: "upgrade" };
    const stream = new Blob(["in pieces"]).stream();
    await server.ask({ method: "POST", body: "ä", headers });
    await server.ask({ method: "PUT", body: form });
    await server.ask({ method: "POST", body: stream, duplex: "half" });
    await server.ask({ method: "POST" });
    assert.deepEqual(seen, [
      ["ä", "text/plain;charset=UTF-8", "2", undefined],
      ["a=1", "application/x-www-form-urlencoded;charset=UTF-8", "3", undefined],
      ["in pieces", undefined, undefined, "chunked"],
      ["", undefined, "0", undefined],
    ]);
  });

  for (const [name, encode] of [
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
    ["zstd", zstdCompressSync],
    ["gzip, br", (data: Buffer) => brotliCompressSync(gzipSync(data))],
  ] as const) {
    it(`reads an answer that is encoded by ${name}`, async () => {
      await using server = await serve((_, response) =>
        response.writeHead(200, { "content-encoding": name }).end(encode(Buffer.from("words"))),
      );
      assert.equal(await (await server.ask()).text(), "words");
    });
  }

  it("leaves an answer alone whose encoding it does not know, and says if one is broken", async () => {
    let encoding = "rot13";
    await using server = await serve((_, response) =>
      response.writeHead(200, { "content-encoding": encoding }).end("words"),
    );
    assert.equal(await (await server.ask()).text(), "words");
    encoding = "gzip";
    await assert.rejects((await server.ask()).text());
  });

  it("has no body where there can be none", async () => {
    let status = 204;
    await using server = await serve((_, response) => response.writeHead(status).end());
    assert.equal((await server.ask()).body, null);
    status = 304;
    assert.equal((await server.ask()).body, null);
    status = 200;
    assert.equal((await server.ask({ method: "HEAD" })).body, null);
  });

  it("does not follow a redirection", async () => {
    await using server = await serve((_, response) =>
      response.writeHead(302, { location: "/elsewhere" }).end(),
    );
    const { status, headers } = await server.ask();
    assert.deepEqual([status, headers.get("location")], [302, "/elsewhere"]);
  });

  it("ends with its signal, before the answer and while it is read", async () => {
    await using server = await serve(({ method }, response) => {
      if (method === "POST") response.write("begun");
    });
    const reason = new Error("enough");
    const before = new AbortController();
    const asked = server.ask({ signal: before.signal });
    before.abort(reason);
    await assert.rejects(asked, reason);
    await assert.rejects(server.ask({ signal: before.signal }), reason);
    const during = new AbortController();
    const response = await server.ask({ method: "POST", signal: during.signal });
    const reading = response.text();
    during.abort(reason);
    await assert.rejects(reading, reason);
  });

  it("fails as fetch does where nobody listens, the connection ends or a stream fails", async () => {
    await using server = await serve((request) => request.socket.destroy());
    await assert.rejects(server.ask(), { name: "TypeError", message: "fetch failed" });
    await assert.rejects(fetchAt("http://nowhere.invalid:1/", ["127.0.0.1"], {}), {
      name: "TypeError",
      message: "fetch failed",
    });
    const body = new ReadableStream({ start: (stream) => stream.error(new Error("no more")) });
    await assert.rejects(server.ask({ method: "POST", body, duplex: "half" }), {
      name: "TypeError",
    });
  });

  it("over TLS asks for a certificate of the host that its URL names", async () => {
    const fixtures = join(import.meta.dirname, "../../test/fixtures/tls");
    const [cert, key] = ["certificate.pem", "key.pem"].map((name) =>
      readFileSync(join(fixtures, name), "utf8"),
    );
    assert(cert !== undefined && key !== undefined);
    const server = createTlsServer({ cert, key }, (_, response) => response.end("sealed"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    assert(address && typeof address === "object");
    const ask = (host: string): Promise<Response> =>
      fetchAt(`https://${host}:${address.port}/`, ["127.0.0.1"], {});
    const known = getCACertificates("default");
    try {
      await assert.rejects(ask("nowhere.invalid"), { message: "fetch failed" }, "nobody signed it");
      setDefaultCACertificates([...known, cert]);
      assert.equal(await (await ask("nowhere.invalid")).text(), "sealed");
      await assert.rejects(ask("elsewhere.invalid"), { message: "fetch failed" }, "another's");
    } finally {
      setDefaultCACertificates(known);
      server.closeAllConnections();
      server.close();
    }
  });

  it("tries the next address where nobody listens at the first", async () => {
    await using server = await serve((_, response) => response.end("here"));
    const [, port] = /:(\d+)\//.exec((await server.ask()).url) ?? [];
    const url = `http://nowhere.invalid:${port}/`;
    const response = await fetchAt(url, ["127.0.0.9", "127.0.0.1"], {});
    assert.equal(await response.text(), "here");
  });
});
