import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { type Answered, openTestDoor, type TestDoor } from "../../testing/http-door.ts";
import { limits } from "./limits.ts";

const json = { Authorization: "Bearer secret", "Content-Type": "application/json" };

function post(to: TestDoor, path: string, body: string | Uint8Array): Promise<Answered> {
  return to.ask("POST", `/api/v1${path}`, { headers: json, body });
}

/** What was wrong, in words. */
function problemOf({ status, text }: Answered): string {
  const { code, message } = JSON.parse(text).error;
  assert.deepEqual([status, code], [400, "invalid_argument"], text);
  return message;
}

test("a body is one JSON object in UTF-8", async () => {
  await using to = await openTestDoor();
  const bodies = [
    "{",
    "[]",
    "null",
    "5",
    '"text"',
    '{"type":"a"}{}',
    "{'type':'a'}",
    '{"type":"a",}',
    '\ufeff{"type":"a"}x',
    Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    Buffer.from('{"type":"\xed\xa0\x80"}', "latin1"),
    Buffer.from('{"type":"a"}', "utf16le"),
  ];
  for (const body of bodies) {
    const problem = problemOf(await post(to, "/tasks", body));
    assert.equal(problem, "the body must be one JSON object in UTF-8", String(body).slice(0, 40));
  }
  assert.deepEqual(to.faults, []);
});

test("a problem names the field and what would be right", async () => {
  await using to = await openTestDoor();
  const deep = `${'{"a":'.repeat(20)}1${"}".repeat(20)}`;
  for (const [body, problem] of [
    ["", "card: is required"],
    ["{}", "card: is required"],
    ['{"card":{}}', "card.name: is required"],
    ['{"card":{"nme":"a"}}', "card: there is no field nme"],
    ['{"card":{"name":"a"},"tll":1}', "there is no field tll"],
    ['{"card":{"name":""}}', "card.name: must not be empty"],
    ['{"card":{"name":5}}', "card.name: must be a text"],
    ['{"card":{"name":null}}', "card.name: must be a text"],
    ['{"card":[]}', "card: must be an object"],
    [`{"card":${deep}}`, "card: there is no field a"],
    ['{"card":{"name":"a","tools":"b"}}', "card.tools: must be a list"],
    ['{"card":{"name":"a","tools":["b",1]}}', "card.tools.1: must be a text"],
    ['{"card":{"name":"\\ud800"}}', "card.name: has half a character"],
    [`{"card":{"name":"${"x".repeat(1_025)}"}}`, "card.name: may have 1024 bytes"],
    [`{"card":{"name":"${"ü".repeat(513)}"}}`, "card.name: may have 1024 bytes"],
    ['{"card":{"name":"a"},"ttlMs":99}', ttlProblem],
    ['{"card":{"name":"a"},"ttlMs":1e400}', ttlProblem],
    ['{"card":{"name":"a"},"ttlMs":-1e400}', ttlProblem],
    ['{"card":{"name":"a"},"ttlMs":100.5}', ttlProblem],
    ['{"card":{"name":"a"},"ttlMs":"100"}', ttlProblem],
    ['{"card":{"name":"a"},"ttlMs":9007199254740993}', ttlProblem],
    ['{"card":{"name":"a","metadata":{"a":1}}}', "card.metadata.a: must be a text"],
    ['{"__proto__":{"card":{"name":"a"}}}', "no field may be called __proto__"],
    ['{"card":{"name":"a","metadata":{"__proto__":"b"}}}', "no field may be called __proto__"],
    [
      '{"card":{"name":"a","metadata":{"\\u005F_proto__":"b"}}}',
      "no field may be called __proto__",
    ],
  ] as const) {
    assert.equal(problemOf(await post(to, "/agents", body)), problem, body.slice(0, 60));
  }
  const pairs = Array.from({ length: 1_001 }, (_, number) => `"${number}":""`).join(",");
  assert.equal(
    problemOf(await post(to, "/agents", `{"card":{"name":"a","metadata":{${pairs}}}}`)),
    "card.metadata: may have 1000 pairs",
  );
  const name = "n".repeat(100_000);
  const long = problemOf(await post(to, "/agents", `{"card":{"name":"a"},"${name}":1}`));
  assert(long.length < 100, "what came in is not repeated at length");
  assert.equal((await to.done("getOverview", {})).counts.agents.alive, 0);
});

const ttlProblem = "ttlMs: must be a whole number from 100 to 86400000";

test("of a field that is there twice the last counts", async () => {
  await using to = await openTestDoor();
  const { text } = await post(to, "/tasks", '{"type":"a","type":"b"}');
  assert.equal(JSON.parse(text).type, "b");
});

test("the word __proto__ may be said, only not as a name", async () => {
  await using to = await openTestDoor();
  const { status } = await post(to, "/tasks", '{"type":"__proto__","requiredTools":["\\u005f"]}');
  assert.equal(status, 201);
});

test("only JSON that is not compressed is read", async () => {
  await using to = await openTestDoor();
  const body = '{"type":"a"}';
  const types = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""];
  for (const type of [...types, "application/jsonp", "text/json", "application/problem+json"]) {
    const headers = { ...json, "Content-Type": type };
    const { status, text } = await to.ask("POST", "/api/v1/tasks", { headers, body });
    assert.equal(status, 415, type);
    assert.equal(JSON.parse(text).error.code, "unsupported_media_type");
  }
  const packed = { ...json, "Content-Encoding": "gzip" };
  assert.equal((await to.ask("POST", "/api/v1/tasks", { headers: packed, body })).status, 415);
  for (const type of ["application/json", "Application/JSON ; charset=utf-8"]) {
    const headers = { ...json, "Content-Type": type };
    assert.equal((await to.ask("POST", "/api/v1/tasks", { headers, body })).status, 201, type);
  }
});

test("a body is not nested deeper than anything we know, whatever its texts contain", async () => {
  await using to = await openTestDoor();
  const bodies = [
    "[".repeat(1_000_000),
    `${'{"__proto__":'.repeat(200_000)}1`,
    `{"a":${"[".repeat(40)}`,
  ];
  for (const body of bodies) {
    assert.equal(problemOf(await post(to, "/tasks", body)), "the body is nested deeper than 32");
  }
  const type = `${'[{"'.repeat(100)}\\`;
  const made = await post(to, "/tasks", JSON.stringify({ type }));
  assert.equal(made.status, 201, made.text);
});

test("whoever has no token may say little", async () => {
  await using to = await openTestDoor();
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify({ key: "x".repeat(limits.strangersBodyBytesMax) });
  const { status, text } = await to.ask("POST", "/api/v1/session", { headers, body });
  assert.deepEqual([status, JSON.parse(text).error.code], [413, "body_too_long"]);
});

test("a body that is too long is refused, whether it says so or not", async () => {
  await using to = await openTestDoor();
  const body = " ".repeat(limits.bodyBytesMax + 1);
  const chunked = { ...json, "Transfer-Encoding": "chunked" };
  for (const headers of [json, chunked]) {
    const { status, text } = await to.ask("POST", "/api/v1/tasks", { headers, body });
    assert.equal(status, 413);
    assert.equal(JSON.parse(text).error.code, "body_too_long");
  }
  const announced = { ...json, "Content-Length": "999999999999" };
  const { statusCode } = await to.open("POST", "/api/v1/tasks", { headers: announced });
  assert.equal(statusCode, 413, "nobody waits for it");
  assert.deepEqual(to.faults, []);
});

test("the longest input of a task comes and goes", async () => {
  await using to = await openTestDoor();
  const input = Buffer.alloc(2_000_000, 7).toString("base64");
  const { id: taskId } = await to.done("createTask", { type: "a", input });
  assert.equal((await to.done("getTask", { taskId })).input, input);
  const longer = Buffer.alloc(2_000_002, 7).toString("base64");
  const { message } = await to.refused("createTask", { type: "a", input: longer });
  assert.match(message, /^input: may have /);
  const { message: odd } = await to.refused("createTask", { type: "a", input: "a" });
  assert.equal(odd, "input: must be base64");
});

test("who does not finish what it says is cut off", async () => {
  await using to = await openTestDoor({ requestMs: 300 });
  const dripping = connect(to.port, "127.0.0.1");
  dripping.on("error", () => {});
  dripping.write(
    "POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n" +
      'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"type"',
  );
  const drip = setInterval(() => dripping.write(" "), 50);
  let said = "";
  dripping.on("data", (chunk) => {
    said += chunk;
  });
  await once(dripping, "close");
  clearInterval(drip);
  assert.match(said, /^HTTP\/1\.1 408 .*"too_slow"/s);
  assert.deepEqual(to.faults, [], "which is no fault of ours");
});

test("who hangs up in the middle of its body is no fault of ours", async () => {
  await using to = await openTestDoor();
  const socket = connect(to.port, "127.0.0.1");
  await once(socket, "connect");
  socket.write(
    "POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n" +
      'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"type"',
  );
  await to.done("getOverview", {});
  socket.destroy();
  await to.done("getOverview", {});
  assert.deepEqual(to.faults, []);
});

test("any id that can stand in a path finds its thing", async () => {
  await using to = await openTestDoor();
  const { id: agentId } = await to.done("registerAgent", { card: { name: "a" } });
  const ids = [
    "a/b",
    "a%2Fb",
    "%",
    "%25",
    "%zz",
    "..%2f",
    "...",
    "a?b=c#d",
    "a b+c",
    "\\",
    "\u0000",
    "\n",
    "ü/🚂",
    "{taskId}",
    ":taskId",
    "__proto__",
    "constructor",
    "x".repeat(1_024),
    "ü".repeat(512),
  ];
  for (const taskId of ids) {
    const lease = await to.done("acquireLease", { taskId, agentId });
    assert.equal(lease.taskId, taskId);
    assert.deepEqual(await to.done("getLease", { taskId }), lease);
  }
  const { rows } = await to.done("listLeases", { sort: "task", limit: 1_000 });
  assert.deepEqual(
    rows.map(({ taskId }) => taskId),
    ids.toSorted(),
  );
});

test("an id that is too long, or half a character, is refused", async () => {
  await using to = await openTestDoor();
  const long = await to.ask("GET", `/api/v1/leases/${"x".repeat(1_025)}`);
  assert.equal(problemOf(long), "taskId: may have 1024 bytes");
  for (const taskId of ["%", "%zz", "%ff", "%ED%A0%80", "a%"]) {
    const answered = await to.ask("GET", `/api/v1/leases/${taskId}`);
    assert.equal(problemOf(answered), "the path has a % that stands for no character", taskId);
  }
});

test("no id, and an id that a path swallows, find nothing", async () => {
  await using to = await openTestDoor();
  for (const path of [
    "/leases/",
    "/leases//check",
    "/leases/.",
    "/leases/../check/x",
    "/tasks/%2e%2e",
  ]) {
    const { status, text } = await to.ask("GET", `/api/v1${path}`);
    assert.deepEqual([status, JSON.parse(text).error.code], [404, "not_found"], path);
  }
});

test("what is in the path is not said again", async () => {
  await using to = await openTestDoor();
  const answered = await post(to, "/leases/t/acquire", '{"taskId":"u","agentId":"a"}');
  assert.equal(problemOf(answered), "taskId: is in the path already");
  const asked = await to.ask("GET", "/api/v1/leases/t/check?taskId=u&token=1");
  assert.equal(problemOf(asked), "there is no field taskId");
});

test("a query has known names, each once, and values of their kind", async () => {
  await using to = await openTestDoor();
  for (const [path, problem] of [
    ["/agents?nme=a", "there is no field nme"],
    ["/agents?__proto__=a", "there is no field __proto__"],
    ["/agents?constructor=a", "there is no field constructor"],
    ["/agents?=a", "there is no field "],
    ["/overview?x", "there is no field x"],
    ["/agents?limit=1&limit=2", "limit: is there 2 times"],
    ["/agents?limit=0", "limit: must be a whole number from 1 to 1000"],
    ["/agents?limit=1e2", "limit: must be a whole number from 1 to 1000"],
    ["/agents?limit=", "limit: must be a whole number from 1 to 1000"],
    ["/agents?limit=%201", "limit: must be a whole number from 1 to 1000"],
    ["/agents?offset=9999999999999999", "offset: must be a whole number, at least 0"],
    ["/agents?sort=age", "sort: must be one of attention, newest, oldest, name"],
    ["/agents?liveness=gone", "liveness: must be one of alive, unreachable, dead"],
    ["/agents?after=x", "after: must be the `next` of the page before, in the same order"],
    ["/agents?after=", "after: must be the `next` of the page before, in the same order"],
    ["/agents?query=%", "the query has a % that stands for no character"],
    ["/agents?query=%ED%A0%80", "the query has a % that stands for no character"],
    ["/check?subject=a&action=b&resource=c&explain=yes", "explain: must be true or false"],
    ["/check?subject=a&action=b", "resource: is required"],
    ["/log?before=0", "before: must be a whole number, at least 1"],
    ["/events?after=1&after=2", "after: is there 2 times"],
    ["/events?afterr=1", "there is no field afterr"],
    [`/events?${"topic=a&".repeat(limits.topicsMax + 1)}`, "topic: is there more than 100 times"],
  ] as const) {
    assert.equal(problemOf(await to.ask("GET", `/api/v1${path}`)), problem, path);
  }
  for (const path of ["/agents?", "/agents?&&", "/agents?tool=a&tool=b", "/agents?query=a+b%20c"]) {
    assert.equal((await to.ask("GET", `/api/v1${path}`)).status, 200, path);
  }
});

test("what comes with a request that takes no body is not read", async () => {
  await using to = await openTestDoor();
  const body = '{"limit":0}';
  const headers = { ...json, "Content-Length": String(body.length) };
  const { status } = await to.ask("GET", "/api/v1/agents", { headers, body });
  assert.equal(status, 200);
  const deleted = await to.ask("DELETE", "/api/v1/policies/p", { headers, body });
  assert.equal(deleted.status, 200);
});

test("nothing that comes in is answered with a fault of ours", async () => {
  await using to = await openTestDoor();
  const bytes = [
    "\u0000",
    "\ud800",
    "💥",
    "%",
    "..",
    "*",
    "'",
    '"',
    "\\",
    "<",
    "{}",
    "[]",
    "-0",
    "1e999",
  ];
  for (const text of bytes) {
    const encoded = encodeURIComponent(text.toWellFormed());
    for (const path of ["agents", "leases", "elections", "policies", "tasks"]) {
      const asked = await to.ask("GET", `/api/v1/${path}?query=${encoded}&after=${encoded}`);
      assert(asked.status < 500, asked.text);
      assert((await to.ask("GET", `/api/v1/${path}/${encoded}`)).status < 500);
    }
    const fields = { type: text, input: text, agentId: text, key: text, subject: text, card: text };
    for (const path of ["/tasks", "/claims", "/agents", "/session", "/tasks/t/complete"]) {
      assert((await post(to, path, JSON.stringify(fields))).status < 500, path);
    }
  }
  assert.deepEqual(to.faults, []);
});
