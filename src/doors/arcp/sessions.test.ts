/** What the protocol says of sessions, held against the door: hello, resume, acknowledgement, what is kept of it all. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Handler } from "../../arcp-context.ts";
import { jobId, sessionId } from "../../core/index.ts";
import { MemoryLog, SqliteLog } from "../../log/index.ts";
import { DoorScene, type Peer } from "../../testing/arcp-door.ts";
import { HeldLog } from "../../testing/held-log.ts";
import { Puppet, waitUntil, withPuppet } from "../../testing/puppet.ts";
import { temporaryDirectory } from "../../testing/temporary.ts";
import { turns } from "../../testing/test-plane.ts";

const echo: Handler = async (input, context) => {
  await context.log("info", "echo started");
  return { echoed: input };
};

/** Says so many things at once. */
const chatter: Handler = (input, context) => {
  for (let count = 1; count <= Number(input); count += 1) void context.thought(`${count}`);
};

test("[ARCP-3] [ARCP-48] [ARCP-195] of tokens only a hash of the resume token is kept, and it is long and new each time", async () => {
  await using scratch = await temporaryDirectory();
  const tokens: string[] = [];
  {
    await using log = SqliteLog.open(scratch.path);
    await using scene = await DoorScene.open({ log });
    scene.agent("echo", echo);
    for (let count = 0; count < 20; count += 1) {
      const peer = await scene.hello({ token: "of Secret7Bearer" });
      tokens.push(peer.welcome.payload.resume_token);
      await peer.submit("echo");
      await waitUntil(() => peer.story.length === 3);
    }
    const other = scene.connect();
    await other.hello({ token: "Wrong8Token" });
    assert.deepEqual(scene.faults, []);
  }
  assert.equal(new Set(tokens).size, 20);
  for (const token of tokens) assert.match(token, /^rt_[0-9a-f]{64}$/);
  const kept = readdirSync(scratch.path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1"))
    .join("");
  assert(kept.includes("session.opened"));
  // Principals are made of tokens here; nobody else would do so.
  for (const token of [...tokens, "of Secret7Bearer", "Wrong8Token"]) {
    assert(!kept.includes(token), token);
  }
});

test("[ARCP-14] [ARCP-9] [ARCP-35] another version of the protocol is told which one there is, and closed", async () => {
  await using scene = await DoorScene.open();
  const peer = scene.connect();
  await peer.transport.send({ arcp: "1.0", id: "m1", type: "session.hello", payload: {} });
  await turns(6);
  const [error] = peer.told;
  assert.equal(error?.payload.code, "INVALID_REQUEST");
  assert.deepEqual(error?.payload.details, { supported: ["1.1"] });
  assert.equal(error?.payload.request_id, "m1");
  assert.match(error?.session_id ?? "", /^sess_/);
  assert.equal(peer.closing?.code, 1008);
});

test("[ARCP-18] [ARCP-36] whoever begins with anything but a hello is told so and closed", async () => {
  await using scene = await DoorScene.open();
  for (const first of [{ arcp: "1.1", id: "m1", type: "job.submit", payload: {} }, { no: 1 }]) {
    const peer = scene.connect();
    await peer.transport.send(first);
    await peer.transport.send({ arcp: "1.1", id: "m2", type: "session.hello", payload: {} });
    await turns(6);
    assert.deepEqual(peer.types, ["session.error"]);
    assert.equal(peer.told[0]?.payload.code, "INVALID_REQUEST");
    assert.equal(peer.closing?.code, 1008);
  }
});

test("[ARCP-53] [ARCP-52] what else a runtime can do is advertised beside what the protocol names", async () => {
  await using scene = await DoorScene.open({
    capabilities: { "x-vendor.acme.search": { depth: 3 } },
  });
  const { capabilities } = (await scene.hello()).welcome.payload;
  assert.deepEqual(capabilities, {
    ...capabilities,
    encodings: ["json"],
    "x-vendor.acme.search": { depth: 3 },
  });
});

test("[ARCP-50] a hello without features has none", async () => {
  await using scene = await DoorScene.open();
  const peer = scene.connect();
  const auth = { scheme: "bearer", token: "of ada" };
  const payload = { client: { name: "peer" }, auth };
  await peer.transport.send({ arcp: "1.1", id: "m1", type: "session.hello", payload });
  await turns(6);
  assert.deepEqual(peer.welcome.payload.capabilities.features, []);
});

test("[ARCP-37] a principal with too many connected sessions is refused, and told that this is a limit and passes", async () => {
  await using scene = await DoorScene.open({ sessionsOfPrincipalMax: 3 });
  const peers = [await scene.hello(), await scene.hello(), await scene.hello()];
  const one = scene.connect();
  await one.hello();
  const { code, retryable, details } = one.told[0]?.payload ?? {};
  assert.deepEqual([code, retryable], ["INTERNAL_ERROR", true]);
  assert.deepEqual(details, { original_code: "limit_reached" });
  assert.equal(one.closing?.code, 1008);
  await scene.hello({ token: "of eve" });
  await scene.hello({ resume: (peers[0] as Peer).resumeAfter(0) });
});

test("[ARCP-37] [ARCP-79] clients that submit and leave lock nobody out, whether they say goodbye or not, nor after a restart", async () => {
  const log = new MemoryLog();
  const kept = (scene: DoorScene): Promise<number> =>
    scene.plane.read(({ sessions }) => sessions.byId.size);
  {
    await using scene = await DoorScene.open({ log });
    scene.agent("echo", echo);
    for (let count = 0; count < 1_100; count += 1) {
      const peer = await scene.hello();
      assert.equal((await peer.submit("echo")).type, "job.accepted", `of client ${count}`);
      if (count % 100 === 0) await waitUntil(() => peer.of("job.result").length === 1);
      if (count % 2 === 0) await peer.send("session.bye", { reason: "done" });
      else await peer.drop();
      // Ten minutes for all of them.
      scene.clock.leap(540);
      scene.plane.tick();
    }
    assert((await kept(scene)) <= 600, `${await kept(scene)} sessions are kept`);
  }
  await using scene = await DoorScene.open({ log, sessionsOfPrincipalMax: 100 });
  scene.agent("echo", echo);
  const peer = await scene.hello();
  assert.equal((await peer.submit("echo")).type, "job.accepted");
});

test("[ARCP-79] a session is deleted within 5 s of its goodbye, unless a job of its own is unfinished", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const isKept = (id: string): Promise<boolean> =>
    scene.plane.read(({ sessions }) => sessions.byId.has(sessionId(id)));
  for (const type of ["session.bye", "session.close"]) {
    const peer = await scene.hello();
    await peer.send(type);
    await turns(6);
    assert(await isKept(peer.sessionId), "it can be resumed for a moment");
    await scene.pass(5_000);
    assert(!(await isKept(peer.sessionId)));
    assert(peer.isClosed);
  }
  const busy = await scene.hello();
  await busy.submit("puppet");
  const observer = await scene.hello();
  await observer.ask("job.subscribe", { job_id: puppet.job().jobId });
  for (const peer of [busy, observer]) await peer.send("session.bye");
  await scene.pass(5_000);
  assert(await isKept(busy.sessionId), "its job is unfinished");
  assert(!(await isKept(observer.sessionId)), "its subscription does not make the job its own");
});

test("[ARCP-79] a session that unsubscribed from its own job before its goodbye is deleted, and the job goes on", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  await peer.submit("puppet");
  const id = jobId(puppet.job().jobId);
  await peer.send("job.unsubscribe", { job_id: id });
  await peer.send("session.bye");
  await scene.pass(5_000);
  const { isKept, state } = await scene.plane.read(({ sessions, jobs }) => ({
    isKept: sessions.byId.has(sessionId(peer.sessionId)),
    state: jobs.byId.get(id)?.state,
  }));
  assert(!isKept);
  assert.equal(state, "running");
});

test("[ARCP-79] a connection is closed soon after a goodbye, though an answer is still to come", async () => {
  const provisioner = {
    issue: () => new Promise<never>(() => undefined),
    revoke: async () => undefined,
  };
  const { scene } = await withPuppet({ provisioner });
  await using _ = scene;
  const peer = await scene.hello();
  await peer.send("job.submit", { agent: "puppet" });
  await peer.send("session.bye");
  await turns(6);
  assert(!peer.isClosed);
  await scene.pass(2_000);
  assert.equal(peer.closing?.code, 1000);
});

test("[ARCP-38] credentials are not told over a link that others may read, unless somebody wants that", async () => {
  let issued = 0;
  const provisioner = {
    issue: async () => [{ value: `secret ${++issued}`, endpoint: "https://models.test/v1" }],
    revoke: async () => undefined,
  };
  const link = { kind: "websocket", isPrivate: false } as const;
  for (const tellsCredentialsAnywhere of [false, true]) {
    const { scene } = await withPuppet({ provisioner, tellsCredentialsAnywhere });
    await using _ = scene;
    const peer = await scene.hello({ link });
    const accepted = await peer.submit("puppet");
    assert.equal("credentials" in accepted.payload, tellsCredentialsAnywhere);
    const near = await scene.hello({ link: { ...link, isPrivate: true } });
    assert.equal((await near.submit("puppet")).payload.credentials[0]?.value, `secret ${issued}`);
  }
});

test("[ARCP-54] what only restricts is honoured without its feature, and what is only told is ignored", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  scene.agent("sum", echo, { version: "1.0.0" });
  const peer = await scene.hello({ features: [] });
  const expires_at = new Date(scene.clock.nowMs() + 60_000).toISOString();
  const accepted = await peer.submit("puppet", {
    lease_request: { "cost.budget": ["USD:1.00"], "model.use": ["small/*"] },
    lease_constraints: { expires_at },
  });
  assert.deepEqual(accepted.payload.budget, { USD: 1 });
  await puppet.job().authorizeModel("small/one");
  await assert.rejects(puppet.job().authorizeModel("large/one"), { code: "PERMISSION_DENIED" });
  assert.equal((await peer.submit("sum@1.0.0")).type, "job.accepted");
  assert.equal((await peer.submit("sum@2.0.0")).payload.code, "AGENT_VERSION_NOT_AVAILABLE");
  const { length } = peer.told;
  await peer.send("session.ack", { last_processed_seq: 1 });
  await peer.send("job.unsubscribe", { job_id: accepted.job_id });
  await turns(6);
  assert.equal(peer.told.length, length);
  await scene.pass(60_000);
  assert.equal(peer.of("job.error").at(-1)?.payload.code, "LEASE_EXPIRED");
});

test("[ARCP-54] a streamed result in one piece is a text, or base64, and at most 8 MiB", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello({ features: [] });
  await peer.submit("puppet");
  const stream = puppet.job().streamResult();
  await stream.write("a ");
  await stream.write(new TextEncoder().encode("b"));
  await puppet.end(0, undefined);
  await waitUntil(() => peer.of("job.result").length === 1);
  assert.deepEqual(peer.of("job.result")[0]?.payload.result, {
    encoding: "base64",
    data: Buffer.from("a b").toString("base64"),
  });
  await peer.submit("puppet");
  const long = puppet.job(1).streamResult();
  for (let count = 0; count < 33; count += 1) await long.write("x".repeat(262_144));
  await puppet.end(1, undefined);
  await waitUntil(() => peer.of("job.error").length === 1);
  assert.equal(peer.of("job.error")[0]?.payload.code, "INTERNAL_ERROR");
  assert.equal(peer.closing, undefined);
});

test("[ARCP-60] whoever resumes must be known first: a wrong token is told as such, and changes nothing", async () => {
  await using scene = await DoorScene.open();
  const peer = await scene.hello();
  await peer.drop();
  const other = scene.connect();
  await other.hello({ token: "stolen", resume: peer.resumeAfter(0) });
  assert.equal(other.told[0]?.payload.code, "UNAUTHENTICATED");
  assert.equal(other.told[0]?.session_id, peer.sessionId);
  assert.equal((await scene.hello({ resume: peer.resumeAfter(0) })).sessionId, peer.sessionId);
});

test("[ARCP-60] a message of its own may ask to resume, and what it leaves out is as it was", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello({ features: ["subscribe"] });
  await peer.submit("puppet");
  await peer.drop();
  const back = scene.connect();
  const auth = { scheme: "bearer", token: "of ada" };
  const payload = { ...peer.resumeAfter(1), auth };
  await back.transport.send({ arcp: "1.1", id: "m1", type: "session.resume", payload });
  await turns(6);
  assert.equal(back.sessionId, peer.sessionId);
  assert.deepEqual(back.welcome.payload.capabilities.features, ["subscribe"]);
  await puppet.say("one");
  assert.deepEqual(back.story, ["2 log one"]);
});

for (const [name, open] of Object.entries({
  memory: () => new MemoryLog(),
  SQLite: (path: string) => SqliteLog.open(path),
})) {
  test(`[ARCP-65] [ARCP-193] ${name}: whoever comes back is told all frames with a number that it missed, and only those`, async () => {
    await using scratch = await temporaryDirectory();
    await using log = open(scratch.path);
    await using scene = await DoorScene.open({ log });
    scene.agent("chatter", chatter);
    const peer = await scene.hello();
    await peer.submit("chatter", { input: 3_000 });
    await waitUntil(() => peer.story.length === 3_002);
    await peer.drop();
    const back = await scene.hello({ resume: peer.resumeAfter(1) });
    await waitUntil(() => back.story.length === 3_001);
    assert.deepEqual(
      back.told.slice(1),
      peer.told.filter(({ event_seq = 0 }) => event_seq > 1),
    );
  });

  test(`[ARCP-74] [ARCP-63] [ARCP-193] ${name}: what was acknowledged is freed, once, and never more than was told`, async () => {
    await using scratch = await temporaryDirectory();
    await using log = open(scratch.path);
    await using scene = await DoorScene.open({ log });
    scene.agent("chatter", chatter);
    const peer = await scene.hello();
    await peer.submit("chatter", { input: 3_000 });
    await waitUntil(() => peer.story.length === 3_002);
    await peer.send("session.ack", { last_processed_seq: 1_000_000_000 });
    await peer.send("session.ack", { last_processed_seq: 1_000 });
    await turns(6);
    await peer.drop();
    const late = scene.connect();
    await late.hello({ resume: peer.resumeAfter(3_001) });
    assert.equal(late.told[0]?.payload.code, "RESUME_WINDOW_EXPIRED");
    const back = await scene.hello({ resume: peer.resumeAfter(3_002) });
    await back.submit("chatter", { input: 1 });
    await waitUntil(() => back.story.length === 3);
    assert.deepEqual(back.story[0], "3003 status running");
  });
}

test("[ARCP-75] [ARCP-77] what nobody acknowledges is kept, however old, and ends nothing", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello({ features: ["ack"] });
  await peer.submit("puppet");
  await puppet.say(...Array.from({ length: 1_500 }, (_, at) => `${at}`));
  await scene.pass(86_400_000);
  await puppet.say("a day later");
  assert.equal(peer.closing, undefined);
  const back = await scene.hello({ features: ["ack"], resume: peer.resumeAfter(0) });
  await waitUntil(() => back.story.length === peer.story.length);
  assert.deepEqual(back.story.slice(0, peer.story.length), peer.story);
});

test("[ARCP-67] [ARCP-111] after a resume a session cancels its jobs, and hears of those that it follows", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const owner = await scene.hello();
  const { job_id = "" } = await owner.submit("puppet");
  const watcher = await scene.hello({ features: ["subscribe"] });
  await watcher.ask("job.subscribe", { job_id });
  await owner.drop();
  await watcher.drop();
  const back = await scene.hello({ resume: owner.resumeAfter(1) });
  const again = await scene.hello({ features: ["ack"], resume: watcher.resumeAfter(0) });
  assert.deepEqual(again.welcome.payload.capabilities.features, ["ack"]);
  await puppet.say("one");
  assert.deepEqual(again.story, ["1 log one"]);
  assert.equal((await back.ask("job.cancel", {}, { job_id })).type, "job.cancelled");
  assert.deepEqual(again.story, ["1 log one", "2 cancelled CANCELLED"]);
});

test("[ARCP-118] [ARCP-202] nothing is told before it is kept; that nobody is connected stops no agent", async () => {
  const log = new HeldLog();
  const { scene, puppet } = await withPuppet({ log });
  await using _ = scene;
  const peer = await scene.hello();
  await peer.submit("puppet");
  log.hold();
  await puppet.say("one");
  const id = await peer.send("job.submit", { agent: "nobody" });
  await turns(6);
  assert.deepEqual(peer.story, ["1 status running"]);
  await log.letAllThrough();
  await turns(6);
  assert.deepEqual(peer.story, ["1 status running", "2 log one", "3 error AGENT_NOT_AVAILABLE"]);
  assert.equal(peer.told.at(-1)?.payload.request_id, id);
  await peer.drop();
  await puppet.say("two", "three");
  assert.deepEqual((await scene.hello({ resume: peer.resumeAfter(3) })).story, [
    "4 log two",
    "5 log three",
  ]);
});

test("[ARCP-198] [ARCP-45] of a session that expired nothing is kept, and acknowledging shortens nobody else's history", async () => {
  const { scene, puppet } = await withPuppet({ resumeWindowMs: 60_000 });
  await using _ = scene;
  const owner = await scene.hello();
  const { job_id = "" } = await owner.submit("puppet");
  await puppet.say(...Array.from({ length: 1_100 }, (_, at) => `${at}`));
  await owner.send("session.ack", { last_processed_seq: 1_101 });
  await turns(6);
  const watcher = await scene.hello();
  await watcher.ask("job.subscribe", { job_id, history: true });
  await waitUntil(() => watcher.story.length === 1_101);
  assert.equal(watcher.story[1], "2 log 0");
  await owner.drop();
  await scene.pass(60_010);
  const id = sessionId(owner.sessionId);
  const kept = scene.plane.peek(({ sessions }) => ({
    session: sessions.byId.has(id),
    journal: sessions.journals.has(id),
    numbers: sessions.lastEventSequences.has(id),
  }));
  assert.deepEqual(kept, { session: false, journal: false, numbers: false });
});

test("[ARCP-196] what happens in one turn is one write of the log", async () => {
  const log = new HeldLog();
  await using scene = await DoorScene.open({ log });
  const puppet = new Puppet();
  scene.agent("puppet", puppet.handler);
  const peer = await scene.hello();
  await peer.submit("puppet");
  const before = log.appends;
  for (let count = 0; count < 100; count += 1) void puppet.job().thought(`${count}`);
  await turns(6);
  assert.equal(peer.story.length, 101);
  assert(log.appends - before <= 2, `${log.appends - before} appends`);
});
