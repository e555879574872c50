/** Servers that stall, break off, lie or never stop talking: the client says so and goes on. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { test } from "node:test";
import { connect, type Entry, TipstaffError } from "../../src/client/index.ts";
import { until, within } from "../e2e/processes.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const patienceMs = 15_000;

test("an address where something else answers is told apart from one where nobody does", async () => {
  await using html = await startServer((_, response) => {
    response.setHeader("Content-Type", "text/html");
    response.end("<h1>It works!</h1>");
  });
  await assert.rejects(connect({ url: html.url }), {
    code: "bad_answer",
    message: /not as Tipstaff/,
  });
  await using missing = await startServer((_, response) => void response.writeHead(404).end("no"));
  await assert.rejects(connect({ url: missing.url }), { code: "bad_answer" });
  await using moved = await startServer((_, response) => {
    response.writeHead(302, { Location: html.url }).end();
  });
  await assert.rejects(connect({ url: moved.url }), { code: "bad_answer" });
  const { url } = moved;
  await moved[Symbol.asyncDispose]();
  await assert.rejects(connect({ url }), { code: "unreachable", message: /tipstaff up/ });
});

test("a server that accepts and says nothing costs one attempt's time, not forever", async () => {
  await using server = await startServer(afterHello(() => {}));
  await using client = await connect({ url: server.url });
  const silent = client.call("getOverview", {}, { attemptMs: 100, patienceMs: 0 });
  await assert.rejects(silent, { code: "unreachable", message: /did not answer within 100 ms/ });
});

test("an answer that breaks off is asked for again; a proxy's excuse too", async () => {
  let calls = 0;
  await using server = await startServer(
    afterHello((_, response) => {
      calls += 1;
      if (calls === 1) {
        response.writeHead(200, { "Content-Type": "application/json", "Content-Length": 100 });
        response.write('{"version":');
        response.destroy();
      } else if (calls === 2) {
        response.writeHead(502, { "Content-Type": "text/html" }).end("<h1>Bad Gateway</h1>");
      } else {
        sendJson(response, { version: "9" });
      }
    }),
  );
  await using client = await connect({ url: server.url });
  assert.equal((await client.overview()).version, "9");
  assert.equal(calls, 3);
});

test("what is no JSON, no object, or lacks what matters is a bad answer", async () => {
  const answers = [
    "garbage",
    "[",
    "7",
    '{"id":1}',
    '{"id":"x","ttlMs":-1}',
    '{"id":"x","ttlMs":null}',
  ];
  await using server = await startServer(
    afterHello((_, response) => {
      response.setHeader("Content-Type", "application/json");
      response.end(answers.shift());
    }),
  );
  await using client = await connect({ url: server.url });
  while (answers.length > 0) {
    await assert.rejects(client.register({ name: "x" }), { code: "bad_answer" });
  }
});

test("an answer without end is refused at the bound", async () => {
  await using server = await startServer(
    afterHello((_, response) => {
      response.setHeader("Content-Type", "application/json");
      const piece = " ".repeat(1_000_000);
      const more = (): void => {
        while (!response.destroyed && response.write(piece));
        response.once("drain", more);
      };
      more();
    }),
  );
  await using client = await connect({ url: server.url });
  await assert.rejects(client.overview(), { code: "bad_answer", message: /longer than/ });
});

test("a stream that breaks off in the middle of an entry goes on after the last whole one", async () => {
  const asked: (string | null)[] = [];
  await using server = await startServer(
    afterHello((request, response) => {
      const after = new URL(request.url ?? "", "http://x").searchParams.get("after");
      asked.push(after);
      openStream(response, { after: Number(after) });
      const next = Number(after) + 1;
      response.write(entryText(next) + entryText(next + 1) + entryText(next + 2).slice(0, 20));
      setImmediate(() => response.destroy());
    }),
  );
  await using client = await connect({ url: server.url });
  const seen: number[] = [];
  for await (const { sequence } of client.watch({ afterSequence: 10 })) {
    seen.push(sequence);
    if (seen.length === 8) break;
  }
  assert.deepEqual(seen, [11, 12, 13, 14, 15, 16, 17, 18]);
  assert.deepEqual(asked.slice(0, 4), ["10", "12", "14", "16"]);
});

test("a sender that repeats itself is not believed twice", async () => {
  await using server = await startServer(
    afterHello((_, response) => {
      openStream(response, { after: 0 });
      response.write([1, 2, 2, 1, 3].map((sequence) => entryText(sequence)).join(""));
    }),
  );
  await using client = await connect({ url: server.url });
  const seen: number[] = [];
  for await (const { sequence } of client.watch({ afterSequence: 0 })) {
    seen.push(sequence);
    if (sequence === 3) break;
  }
  assert.deepEqual(seen, [1, 2, 3]);
});

const endings: Readonly<Record<string, { readonly text: string; readonly code: string }>> = {
  "no greeting": { text: entryText(1), code: "bad_answer" },
  "a greeting that says nothing": { text: "event: hello\nid: 1\ndata: {}\n\n", code: "bad_answer" },
  "no JSON": { text: `${hello({ after: 0 })}id: 1\ndata: {{{\n\n`, code: "bad_answer" },
  "an entry that is none": {
    text: `${hello({ after: 0 })}id: 1\ndata: [1]\n\n`,
    code: "bad_answer",
  },
  "a line without end": { text: hello({ after: 0 }) + "x".repeat(5_000_000), code: "bad_answer" },
  "a gap": {
    text: `${hello({ after: 0 })}event: reset\nid: 99\ndata: {"oldestSequence":41}\n\n`,
    code: "gap",
  },
};

for (const [name, { text, code }] of Object.entries(endings)) {
  test(`a watch that is sent ${name} ends with ${code}`, async () => {
    await using server = await startServer(
      afterHello((_, response) => {
        response.setHeader("Content-Type", "text/event-stream");
        response.write(text);
      }),
    );
    await using client = await connect({ url: server.url, patienceMs: 100 });
    const watching = (async () => {
      for await (const _ of client.watch({ afterSequence: 0 }));
    })();
    const error = await within(
      patienceMs,
      watching.then(
        () => assert.fail("it ended"),
        (error: unknown) => error,
      ),
      "the end",
    );
    assert(error instanceof TipstaffError);
    assert.equal(error.code, code);
    if (code === "gap") assert.deepEqual([error.oldestSequence, error.resumeAfter], [41, 40]);
  });
}

test("a daemon that comes back with another log is noticed, and nothing of it is shown", async () => {
  let connections = 0;
  await using server = await startServer(
    afterHello((_, response) => {
      connections += 1;
      openStream(response, { after: 0, planeId: `log-${connections}` });
      response.write(entryText(connections));
      setImmediate(() => response.destroy());
    }),
  );
  await using client = await connect({ url: server.url });
  const seen: number[] = [];
  const watching = (async () => {
    for await (const { sequence } of client.watch({ afterSequence: 0 })) seen.push(sequence);
  })();
  await assert.rejects(within(patienceMs, watching, "the end"), { code: "other_log" });
  assert.deepEqual(seen, [1]);
});

test("a slow consumer slows the sender down", async () => {
  let sent = 0;
  await using server = await startServer(
    afterHello((_, response) => {
      openStream(response, { after: 0 });
      const padding = "x".repeat(10_000);
      const more = (): void => {
        if (response.destroyed) return;
        sent += 1;
        const isRoom = response.write(entryText(sent, { padding }));
        if (isRoom) setImmediate(more);
        else response.once("drain", more);
      };
      more();
    }),
  );
  await using client = await connect({ url: server.url });
  await using watch = client.watch({ afterSequence: 0 });
  await watch.next();
  // Until the sender has stood still for a while.
  let before = -1;
  await until(async () => {
    const isStill = before === sent;
    before = sent;
    await new Promise((resolve) => setTimeout(resolve, 200));
    return isStill;
  }, "the sender to stop");
  const heldBack = sent;
  assert(heldBack < 3_000, `${heldBack} entries of 10 kB were taken for one that was asked for`);
  for (let number = 0; number < heldBack + 100; number++) await watch.next();
  assert(sent > heldBack, "it goes on when it is read");
});

test("a holder whose renewals are never answered knows by itself when its time is up", async () => {
  let renewals = 0;
  await using server = await startServer(
    afterHello((request, response) => {
      const path = request.url ?? "";
      if (path.endsWith("/agents")) return sendJson(response, { id: "a", ttlMs: 60_000 });
      if (path.endsWith("/acquire")) return sendJson(response, lease);
      if (path.endsWith("/release")) return sendJson(response, {});
      if (path.endsWith("/renew")) renewals += 1;
      if (request.method === "DELETE") sendJson(response, {});
    }),
  );
  await using client = await connect({ url: server.url });
  await using agent = await client.register({ name: "x" });
  const startedMs = performance.now();
  await using held = await agent.acquire("t");
  assert.equal(held.isHeld, true);
  const lost = once(held.signal, "abort");
  await within(patienceMs, lost, "the loss");
  const tookMs = performance.now() - startedMs;
  assert(tookMs < 1_200, `it took ${tookMs} ms to see that 600 ms were over`);
  assert(renewals >= 2, "it tried more than once");
  assert.equal(held.isHeld, false);
});

test("a server that always says not yet is not asked in a tight loop", async () => {
  let polls = 0;
  await using server = await startServer(
    afterHello((request, response) => {
      const path = request.url ?? "";
      if (path.endsWith("/agents")) return sendJson(response, { id: "a", ttlMs: 60_000 });
      if (path.endsWith("/claims")) polls += 1;
      sendJson(response, {});
    }),
  );
  await using client = await connect({ url: server.url });
  await using agent = await client.register({ name: "x" });
  const stopping = AbortSignal.timeout(1_000);
  await assert.rejects(agent.claim({ wait: true, signal: stopping }), { name: "TimeoutError" });
  assert(polls < 20, `${polls} polls in a second`);
});

const lease = {
  taskId: "t",
  holder: "a",
  holderName: "x",
  token: "7",
  ttlMs: 600,
  acquiredAtMs: 0,
  expiresAtMs: 0,
};

/** Greets as a daemon does, and leaves the rest to the test. */
function afterHello(answer: Answer): Answer {
  return (request, response) => {
    if (request.url?.endsWith("/session")) sendJson(response, { mayWrite: true });
    else answer(request, response);
  };
}

function sendJson(response: ServerResponse, value: object): void {
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify(value));
}

type Greeting = { readonly after: number; readonly planeId?: string };

function openStream(response: ServerResponse, greeting: Greeting): void {
  response.setHeader("Content-Type", "text/event-stream; charset=utf-8");
  response.write(hello(greeting));
}

function hello({ after, planeId = "log" }: Greeting): string {
  return `event: hello\nid: ${after}\ndata: ${JSON.stringify({ planeId, sequence: after })}\n\n`;
}

function entryText(sequence: number, more: object = {}): string {
  const entry: Entry = {
    sequence,
    busSequence: 0,
    topic: "",
    atMs: 0,
    actor: "x",
    type: "plane.opened",
  };
  return `id: ${sequence}\ndata: ${JSON.stringify({ ...entry, ...more })}\n\n`;
}

async function startServer(answer: Answer): Promise<{ readonly url: string } & AsyncDisposable> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(address !== null && typeof address === "object");
  return {
    url: `http://127.0.0.1:${address.port}`,
    [Symbol.asyncDispose]: async () => {
      if (!server.listening) return;
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
