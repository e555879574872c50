import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { WebSocket } from "ws";
import { attachArcpUpgrade, startArcpServer } from "./upgrade.ts";

/** The sub-protocol that was selected, or the HTTP status that came instead of an upgrade. */
async function ask(url: string, offer: readonly string[] = []): Promise<string | number> {
  const socket = new WebSocket(url, [...offer]);
  const answered = Promise.withResolvers<string | number>();
  socket.on("open", () => answered.resolve(socket.protocol));
  socket.on("unexpected-response", (_, { statusCode = 0 }) => answered.resolve(statusCode));
  socket.on("error", answered.reject);
  try {
    return await answered.promise;
  } finally {
    socket.on("error", () => {});
    socket.terminate();
  }
}

test("[ARCP-29] of the sub-protocols that a client offers the newest of ARCP is selected", async () => {
  await using server = await startArcpServer({ onTransport: () => {} });
  const selected: (string | number)[] = [];
  for (const offer of [[], ["arcp"], ["arcp", "arcp.v1.1"], ["other", "arcp"]]) {
    selected.push(await ask(server.url, offer));
  }
  assert.deepEqual(selected, ["", "arcp", "arcp.v1.1", "arcp"]);
});

test("[ARCP-30] a server of its own takes /arcp and /, with any query, and answers 404 elsewhere", async () => {
  await using server = await startArcpServer({ onTransport: () => {} });
  assert.equal(new URL(server.url).pathname, "/arcp");
  const answers: (string | number)[] = [];
  for (const path of ["/arcp", "/arcp?a=b", "/", "/arcp/", "/other"]) {
    answers.push(await ask(`ws://127.0.0.1:${server.port}${path}`));
  }
  assert.deepEqual(answers, ["", "", "", 404, 404]);
});

test("on a server that exists ARCP takes /arcp alone, or the path and names that were chosen", async () => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(address && typeof address === "object");
  const at = (path: string): string => `ws://127.0.0.1:${address.port}${path}`;
  {
    await using _attached = attachArcpUpgrade(server, { onTransport: () => {} });
    assert.equal(await ask(at("/arcp"), ["arcp"]), "arcp");
    assert.equal(await ask(at("/")), 404);
  }
  const options = { path: "/jobs", subprotocols: ["jobs"], onTransport: () => {} };
  {
    await using _attached = attachArcpUpgrade(server, options);
    assert.equal(await ask(at("/jobs"), ["arcp", "jobs"]), "jobs");
    assert.equal(await ask(at("/arcp")), 404);
  }
  server.close();
  server.closeAllConnections();
});
