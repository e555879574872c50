/** A daemon and a server of models, both real: whose vectors rank, and what happens when they stop coming. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { test } from "node:test";
import { serve } from "../../src/serve.ts";
import { type Answer, type OperationName, request } from "../../src/wire/api/index.ts";

test("find ranks by the model once it knows everyone, and by the table when it is gone", async (context) => {
  // It knows two things: what is about the sea, and all the rest.
  const models = createServer((message, response) => {
    json(message).then((body) => {
      const { input } = body as { readonly input: readonly string[] };
      const data = input.map((text, index) => ({
        index,
        embedding: /ship|water/.test(text) ? [1, 0, 0] : [0, 1, 0],
      }));
      response.end(JSON.stringify({ data }));
    }, assert.fail);
  });
  models.listen(0, "127.0.0.1");
  await once(models, "listening");
  context.after(() => models.close());
  const address = models.address();
  assert(address && typeof address === "object");
  await using daemon = await serve({
    version: "test",
    grpc: [{ host: "127.0.0.1", port: 0 }],
    http: [{ host: "127.0.0.1", port: 0 }],
    isHttpOptional: false,
    isAnyHostAllowed: false,
    token: "secret",
    embedder: { url: `http://127.0.0.1:${address.port}`, model: "sea" },
    warn: (message) => context.diagnostic(message),
    onFault: (fault) => {
      throw fault;
    },
  });

  async function ask<Name extends OperationName>(name: Name, input: object): Promise<Answer<Name>> {
    const { method, path, body } = request(name, input);
    const response = await daemon.fetch(
      new Request(`http://localhost${path}`, {
        method,
        headers: { authorization: "Bearer secret", "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
    const answer: unknown = await response.json();
    assert(response.ok, JSON.stringify(answer));
    return answer as Answer<Name>;
  }

  const harbour = await ask("registerAgent", { card: { name: "ship-1" } });
  await ask("registerAgent", { card: { name: "bakery" } });
  await ask("registerAgent", { card: { name: "library" } });
  // What it learns it learns in its own time; asking is how one sees that it has.
  let overview = await ask("getOverview", {});
  while (overview.find.ranking !== "model") {
    assert.match(overview.find.reason ?? "", /agents yet/);
    await new Promise(setImmediate);
    overview = await ask("getOverview", {});
  }
  const found = await ask("findAgents", { query: "water", limit: 3 });
  assert.equal(found.ranking, "model");
  assert.equal(found.hits[0]?.agent.id, harbour.id);
  assert(found.hits[0].score > 0.99, "as alike as only this model has it");
  assert.equal(found.reason, undefined);

  models.closeAllConnections();
  models.close();
  await once(models, "close");
  const without = await ask("findAgents", { query: "vessel", limit: 3 });
  assert.equal(without.ranking, "table");
  assert.match(without.reason ?? "", /^the model/);
  assert.equal(without.hits[0]?.agent.id, harbour.id);
});
