import assert from "node:assert/strict";
import { once } from "node:events";
import { request as ask, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { observedId } from "../../core/index.ts";
import { register } from "../../testing/commands.ts";
import { openTestDoor, type TestDoor, testToken } from "../../testing/http-door.ts";
import { temporaryDirectory } from "../../testing/temporary.ts";
import { test as me } from "../../testing/test-plane.ts";
import type { Sighting } from "../../wire/api/index.ts";
import type { HttpDoorOptions } from "./door.ts";

const secret = "delete the payroll?";
const token = { Authorization: `Bearer ${testToken}` };

test("over TCP, what files and processes tell is told only with the token", async () => {
  await using to = await openDoor();
  assert.equal((await to.refused("getStatus", {}, { token: null })).code, "token_required");
  assert.deepEqual((await to.done("getAttention", {}, { token: null })).items, []);
  const types = async (given: string | null): Promise<readonly string[]> =>
    (await to.done("listEntries", {}, { token: given })).rows.map(({ type }) => type);
  assert.deepEqual(await types(null), ["agent.registered", "plane.opened"]);
  assert.doesNotMatch(await streamed(to, {}), new RegExp(secret.replace("?", "\\?")));

  assert.equal((await to.done("getStatus", {})).agents[0]?.doing, secret);
  assert.equal((await to.done("getAttention", {})).items[0]?.text, `asks: ${secret}`);
  assert.deepEqual(await types(testToken), [
    "agent.registered",
    "observed.changed",
    "plane.opened",
  ]);
  assert.match(await streamed(to, token), /observed\.changed.*delete the payroll\?/s);
});

test("through the socket, which only this user can open, it is told without", async () => {
  await using place = await temporaryDirectory();
  const path = join(place.path, "socket");
  await using to = await openDoor({ places: [{ path }] });
  for (const at of ["status", "attention", "log"]) {
    const { status, text } = await askSocket(path, `/api/v1/${at}`);
    assert.equal(status, 200, at);
    assert.match(text, /delete the payroll\?/);
    const within = await to.door.fetch(new Request(`http://localhost/api/v1/${at}`));
    assert.match(await within.text(), /delete the payroll\?/, "and in this process");
  }
});

test("who is not told is not looked for", async () => {
  let looks = 0;
  await using to = await openTestDoor({
    lookAround: async () => {
      looks += 1;
      return [];
    },
  });
  await to.done("getAttention", {}, { token: null });
  await to.refused("getStatus", {}, { token: null });
  assert.equal(looks, 0);
});

async function openDoor(options: Partial<HttpDoorOptions> = {}): Promise<TestDoor> {
  const sighting: Sighting = {
    id: "codex-1",
    name: "codex",
    host: "here",
    state: "waiting",
    doing: secret,
    known: [{ source: "file", state: "waiting", word: "input-required", heardAtMs: 1 }],
    isContradicted: false,
  };
  const to = await openTestDoor({ lookAround: async () => [sighting], ...options });
  const seen = { name: "codex", note: secret, goal: "", workspace: "", source: "hook" } as const;
  const observed = { ...seen, id: observedId("codex-1"), state: "waiting" } as const;
  await to.plane.submit({ type: "observed.report", observed }, me, () => ({}));
  await to.plane.submit(register("ada"), me, () => ({}));
  return to;
}

/** What a stream from the beginning tells, up to the last entry there is. */
async function streamed(to: TestDoor, headers: Record<string, string>): Promise<string> {
  const incoming = await to.open("GET", "/api/v1/events?after=0", { headers });
  let text = "";
  for await (const chunk of incoming.setEncoding("utf8")) {
    text += chunk;
    if (text.includes("agent.registered")) break;
  }
  return text;
}

async function askSocket(
  socketPath: string,
  path: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const asking = ask({ socketPath, path, agent: false });
  asking.end();
  const [incoming]: IncomingMessage[] = await once(asking, "response");
  assert(incoming);
  let text = "";
  for await (const chunk of incoming.setEncoding("utf8")) text += chunk;
  return { status: incoming.statusCode ?? 0, text };
}
