/** Calls to a daemon at a TCP address, where the token decides what a caller may read. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { openTestDoor, testToken } from "../testing/http-door.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import { type Input, type OperationName, routes } from "../wire/api/index.ts";
import { call } from "./daemon.ts";
import { Failure } from "./failure.ts";
import { lookAround } from "./look-around.ts";
import { UnreadTeller } from "./question-words.ts";
import { tokenPath } from "./token.ts";

test("every operation that needs the token is called with it", async () => {
  await using to = await openTestDoor();
  await using directory = await temporaryDirectory();
  await writeFile(tokenPath(directory.path), testToken);
  const values = { "data-dir": directory.path, http: `127.0.0.1:${to.port}` };
  for (const name of Object.keys(routes) as OperationName[]) {
    // Most of these inputs are refused, but only after the token was checked.
    const code = await call(values, name, {} as Input<typeof name>).then(
      () => "done",
      (error: unknown) => (error instanceof Failure ? error.code : String(error)),
    );
    assert.notEqual(code, "token_required", name);
  }
});

test("open questions are read at a TCP address with the token", async () => {
  await using to = await openTestDoor();
  await using directory = await temporaryDirectory();
  const http = `127.0.0.1:${to.port}`;
  const { id: agentId } = await to.done("registerAgent", { card: { name: "payer" } });
  const { id } = await to.done("askQuestion", { agentId, prompt: "Pay 5 EUR?" });
  const values = { "data-dir": directory.path, http };
  await assert.rejects(lookAround(values), { code: "token_required" });
  await writeFile(tokenPath(directory.path), testToken);
  const look = await lookAround(values);
  assert.deepEqual(
    look.questions.map((one) => one.id),
    [id],
  );
  assert.equal(look.questionsError, undefined);
  const { items } = await call(values, "getAttention", {});
  assert.deepEqual(
    items.map(({ kind }) => kind),
    ["question"],
  );
});

test("a daemon that has no questions to read is told of once", async () => {
  await using old = await openOldDaemon();
  await using directory = await temporaryDirectory();
  const values = { "status-dir": directory.path, http: `127.0.0.1:${old.port}` };
  const look = await lookAround(values);
  assert.equal(look.questionsError, "the daemon has no /api/v1/questions");
  assert.deepEqual(look.questions, []);

  const told: string[] = [];
  const teller = new UnreadTeller((text) => told.push(text));
  const unread = { questionsError: look.questionsError };
  for (const around of [unread, unread, { questionsError: undefined }, unread]) teller.look(around);
  const text = "questions could not be read: the daemon has no /api/v1/questions\n";
  assert.deepEqual(told, [text, text]);
});

/** Answers as a daemon did before there were questions. */
async function openOldDaemon(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((request, response) => {
    const isKnown = request.url?.startsWith("/api/v1/status") ?? false;
    const error = { code: "not_found", message: "not found" };
    response.writeHead(isKnown ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(isKnown ? { agents: [], total: 0 } : { error }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: () => new Promise((done) => server.close(() => done())) };
}
