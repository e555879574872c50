/** The door in front of the Python SDK's client: frames as that sends them, answers as that can read them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DoorScene, type Peer } from "../../testing/arcp-door.ts";
import { type Puppet, waitUntil, withPuppet } from "../../testing/puppet.ts";
import { turns } from "../../testing/test-plane.ts";
import { features, isBareUlid, type JsonObject, ulid } from "../../wire/arcp/index.ts";

let ids = 0;
/** As that client makes them: without a prefix. */
function bareId(): string {
  ids += 1;
  return ulid(1_700_000_000_000 + ids, new Uint8Array(10));
}

const usual = features.slice(0, 9);

function hello(offered: readonly string[], more: JsonObject = {}, id = bareId()): JsonObject {
  return {
    arcp: "1.1",
    id,
    type: "session.hello",
    payload: {
      client: { name: "cancel-client", version: "1.0.0" },
      auth: { scheme: "bearer", token: "of ada" },
      capabilities: { encodings: ["json"], features: [...offered], agents: [] },
      ...more,
    },
  };
}

async function connect(
  scene: DoorScene,
  first: JsonObject,
  link?: Parameters<DoorScene["connect"]>[0],
): Promise<Peer> {
  const peer = scene.connect(link);
  await peer.transport.send(first);
  await turns(6);
  return peer;
}

/** As bytes, the way that client prints them. */
async function say(
  peer: Peer,
  type: string,
  payload: JsonObject,
  more: JsonObject = {},
): Promise<string> {
  const id = bareId();
  const frame = { arcp: "1.1", id, type, session_id: peer.sessionId, ...more, payload };
  const ascii = JSON.stringify(frame).replace(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  await peer.transport.sendText(ascii);
  await turns(6);
  return id;
}

async function running(
  options: Parameters<typeof withPuppet>[0] = {},
  offered: readonly string[] = usual,
): Promise<{
  readonly scene: DoorScene;
  readonly puppet: Puppet;
  readonly peer: Peer;
  readonly job_id: string;
}> {
  const { scene, puppet } = await withPuppet(options);
  const peer = await connect(scene, hello(offered));
  await say(peer, "job.submit", { agent: "puppet", lease_request: {} });
  const { job_id = "" } = peer.of("job.accepted")[0] ?? {};
  return { scene, puppet, peer, job_id };
}

test("[PY-1] [PY-2] [PYR-1] [PYR-3] [PYR-19] [PY-20] [PY-36] its hello is welcomed first, with all that it requires", async () => {
  await using scene = await DoorScene.open();
  const bare = await connect(scene, hello([]));
  assert.deepEqual(bare.types, ["session.welcome"]);
  const { payload } = bare.welcome;
  assert.deepEqual(payload.capabilities.features, []);
  assert.equal(payload.session_id, bare.sessionId);
  assert.match(payload.accepted_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert(Number.isInteger(payload.resume_window_sec));
  assert.deepEqual(payload.runtime, { name: "test", version: "1.0.0" });
  const all = await connect(scene, hello(usual));
  assert.deepEqual(all.welcome.payload.capabilities.features, usual);
  assert.equal(all.welcome.payload.heartbeat_interval_sec, 30);
});

test("[PY-3] [PYR-22] it may be back before its close was noticed, and asks for its own job to hear more", async () => {
  const { scene, puppet, peer, job_id } = await running();
  await using _ = scene;
  await puppet.say("one");
  const closing = peer.transport.close();
  const back = await connect(scene, hello(usual, { resume: peer.resumeAfter(1) }));
  await closing;
  assert.equal(back.sessionId, peer.sessionId);
  assert.notEqual(back.welcome.payload.resume_token, peer.welcome.payload.resume_token);
  await say(back, "job.subscribe", { job_id, history: false }, { job_id });
  await waitUntil(() => back.of("job.subscribed").length === 1);
  await puppet.say("two");
  while (back.story.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  await puppet.end();
  assert.deepEqual(back.story, ["2 log one", "3 log two", '4 result "done"']);
});

test("[PY-4] a hello with the context of a trace is welcomed like any other", async () => {
  await using scene = await DoorScene.open();
  const traceparent = "00-392b193cf3cefb1e7864ff0932afab10-90ebdc8a3358ab63-03";
  const extensions = { "x-vendor.opentelemetry.tracecontext": { traceparent } };
  const peer = await connect(scene, { ...hello([]), extensions });
  assert.deepEqual(peer.types, ["session.welcome"]);
});

test("[PY-5] [PY-6] [PYR-20] [PYR-5] [PYR-6] [PYR-10] [PY-21] its submits are taken with little and with everything", async () => {
  const inputs: unknown[] = [];
  await using scene = await DoorScene.open();
  scene.agent("a", (input, context) => {
    inputs.push(input);
    return context.lease;
  });
  scene.agent("a", (input, context) => [input, context.lease], { version: "1.0" });
  const peer = await connect(scene, hello(usual));
  const least = await say(peer, "job.submit", { agent: "a", lease_request: {} });
  assert.deepEqual(inputs, [null]);
  const trace_id = "0123456789abcdef0123456789abcdef";
  const lease = { "fs.read": ["/x/*"] };
  const most = await say(
    peer,
    "job.submit",
    {
      agent: "a@1.0",
      input: { k: null, é: 1.0 },
      lease_request: lease,
      lease_constraints: { expires_at: "2099-01-01T00:00:00Z" },
      idempotency_key: "k",
      max_runtime_sec: 5,
    },
    { trace_id },
  );
  const accepted = peer.of("job.accepted");
  assert.deepEqual(
    accepted.map(({ payload }) => payload.request_id),
    [least, most],
  );
  assert.deepEqual(accepted[1]?.payload.lease, lease);
  assert.equal(accepted[1]?.payload.agent, "a@1.0");
  assert.match(accepted[1]?.payload.accepted_at ?? "", /Z$/);
  assert.equal("budget" in (accepted[1]?.payload ?? {}), false);
  assert.deepEqual(peer.of("job.result")[1]?.payload.result, [{ k: null, é: 1 }, lease]);
  for (const { job_id } of accepted) {
    const its = peer.told.filter((frame) => frame.job_id === job_id).map(({ type }) => type);
    assert.deepEqual(its, ["job.accepted", "job.event", "job.result"]);
  }
  // [PY-6] names a parent; one that is not there is refused as PYR-7 has it.
  await say(peer, "job.submit", { agent: "a", lease_request: {}, parent_job_id: "job_P" });
  assert.equal(peer.told.at(-1)?.type, "session.error");
  assert.equal(peer.told.at(-1)?.payload.code, "JOB_NOT_FOUND");
});

test("[PY-7] [PY-70] [PYR-9] [PYR-8] [PY-40] [PY-41] a cancel ends as an error with the time of it, and is listed as cancelled", async () => {
  const { scene, peer, job_id } = await running();
  await using _ = scene;
  await say(peer, "job.cancel", { reason: "client.cancel" }, { job_id });
  assert.deepEqual(peer.types.slice(-2), ["job.cancelled", "job.error"]);
  const { payload } = peer.told.at(-1) ?? {};
  assert.equal(payload?.final_status, "error");
  assert.equal(payload?.code, "CANCELLED");
  assert.match(payload?.completed_at ?? "", /Z$/);
  await say(peer, "session.list_jobs", {});
  assert.equal(peer.told.at(-1)?.payload.jobs[0]?.status, "cancelled");
  const spec = await scene.hello();
  const accepted = await spec.submit("puppet");
  await spec.ask("job.cancel", {}, { job_id: accepted.job_id });
  assert.equal(spec.of("job.error")[0]?.payload.final_status, "cancelled");
});

test("[PYR-9] a job that ran too long is an error to it as well, and listed as timed out", async () => {
  const { scene, peer } = await running();
  await using _ = scene;
  await say(peer, "job.submit", { agent: "puppet", lease_request: {}, max_runtime_sec: 1 });
  await scene.pass(1_000);
  const { payload } = peer.of("job.error")[0] ?? {};
  assert.deepEqual([payload?.final_status, payload?.code], ["error", "TIMEOUT"]);
  await say(peer, "session.list_jobs", {});
  assert.equal(peer.told.at(-1)?.payload.jobs[1]?.status, "timed_out");
});

test("[PY-8] [PY-24] [PY-44] [PYR-12] a list without a filter has jobs with both of their times", async () => {
  const { scene, peer, job_id } = await running();
  await using _ = scene;
  const id = await say(peer, "session.list_jobs", {});
  const { payload } = peer.told.at(-1) ?? {};
  assert.equal(payload?.request_id, id);
  const [job] = payload?.jobs ?? [];
  assert.deepEqual([job?.job_id, job?.agent, job?.status], [job_id, "puppet", "running"]);
  assert.match(job?.submitted_at ?? "", /Z$/);
  assert.equal(job?.created_at, job?.submitted_at);
});

test("[PY-9] [PY-10] [PYR-13] [PY-25] [PY-44] [PY-46] it follows a job, hears nothing of it in the same write as the answer, and leaves", async () => {
  const { scene, puppet, peer: owner, job_id } = await running();
  await using _ = scene;
  assert.equal(owner.of("job.accepted").length, 1);
  const peer = await connect(scene, hello(usual));
  const sentAtMs = performance.now();
  const id = await say(peer, "job.subscribe", { job_id, history: true }, { job_id });
  const [subscribed] = peer.of("job.subscribed");
  assert.equal(subscribed?.payload.request_id, id);
  assert.equal(subscribed?.payload.current_status, "running");
  assert.equal(subscribed?.payload.agent, "puppet");
  assert.equal(subscribed?.payload.replayed, true);
  assert.deepEqual(peer.story, []);
  await puppet.say("one");
  while (peer.story.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  assert(performance.now() - sentAtMs >= 24);
  assert.deepEqual(peer.story, ["1 status running", "2 log one"]);
  await say(peer, "job.unsubscribe", { job_id });
  await puppet.say("two");
  assert.equal(peer.story.length, 2);
});

test("[PY-11] [PYR-24] a bye is answered by closing with 1000", async () => {
  const { scene, peer, puppet } = await running();
  await using _ = scene;
  const { length } = peer.told;
  await say(peer, "session.bye", { reason: "client.close" });
  assert.equal(peer.closing?.code, 1000);
  assert.equal(peer.told.length, length);
  assert(!puppet.job().signal.aborted);
});

test("[PY-12] what it still says after a refused hello is dropped", async () => {
  await using scene = await DoorScene.open();
  const peer = scene.connect();
  const refused = hello([], { auth: { scheme: "bearer", token: "not.a.valid.token" } });
  await peer.transport.send(refused);
  const payload = { reason: "client.close" };
  await peer.transport.send({ arcp: "1.1", id: bareId(), type: "session.bye", payload });
  await turns(6);
  assert.deepEqual(peer.types, ["session.error"]);
  assert.equal(peer.told[0]?.payload.code, "UNAUTHENTICATED");
  assert.equal("details" in (peer.told[0]?.payload ?? {}), false);
});

test("[PY-30] [PY-31] [PY-32] [PY-33] [PY-34] [PYR-2] whatever it is told has an envelope that it can read", async () => {
  const { scene, puppet, peer, job_id } = await running();
  await using _ = scene;
  await puppet.say("one");
  await say(peer, "session.list_jobs", {});
  await say(peer, "job.submit", { agent: "nobody", lease_request: {} });
  await say(peer, "job.subscribe", { job_id: "job_0", history: false });
  await say(peer, "session.ping", { nonce: "n", sent_at: "2026-01-01T00:00:00Z" });
  await say(peer, "job.cancel", { reason: "x" }, { job_id });
  await say(peer, "job.dance", {});
  assert(new Set(peer.types).size >= 8);
  for (const frame of peer.told) {
    const { arcp, id, trace_id, event_seq, payload } = frame as typeof frame & { arcp: string };
    assert.equal(arcp, "1.1");
    assert(id.startsWith("msg_") && isBareUlid(id.slice(4)), id);
    if (trace_id !== undefined) assert.match(trace_id, /^(?!0{32})[0-9a-f]{32}$/);
    if (event_seq !== undefined) assert(event_seq >= 1);
    assert.equal(typeof payload, "object");
    assert.notEqual(payload, null);
  }
});

test("[PY-37] [PY-38] [PY-71] [PYR-5] a budget is texts with their decimals to it, and numbers to others", async () => {
  const { scene } = await withPuppet();
  await using _ = scene;
  const lease_request = { "cost.budget": ["USD:1.50", "USD:0.50", "credits:10"] };
  const peer = await connect(scene, hello(usual));
  await say(peer, "job.submit", { agent: "puppet", lease_request });
  assert.deepEqual(peer.of("job.accepted")[0]?.payload.budget, {
    USD: "USD:2.00",
    credits: "credits:10",
  });
  assert.deepEqual(peer.of("job.accepted")[0]?.payload.lease, lease_request);
  const spec = await (await scene.hello()).submit("puppet", { lease_request });
  assert.deepEqual(spec.payload.budget, { USD: 2, credits: 10 });
});

test("[PY-39] a credential has the one scheme that it knows", async () => {
  const provisioner = {
    issue: async () => [{ value: "secret", endpoint: "https://models.test/v1" }],
    revoke: async () => undefined,
  };
  const { scene } = await withPuppet({ provisioner });
  await using _ = scene;
  const peer = await connect(scene, hello(["provisioned_credentials"]));
  await say(peer, "job.submit", { agent: "puppet", lease_request: {} });
  const [credential] = peer.of("job.accepted")[0]?.payload.credentials ?? [];
  const { id, scheme, value, endpoint } = credential ?? {};
  assert.match(id ?? "", /^cred_/);
  assert.deepEqual([scheme, value, endpoint], ["bearer", "secret", "https://models.test/v1"]);
});

test("[PY-45] [PYR-4] credentials that take longer than it waits are no reason to accept its job too late", async () => {
  const revoked: unknown[] = [];
  let give = (_: string): void => undefined;
  const provisioner = {
    issue: async () => {
      const value = await new Promise<string>((resolve) => {
        give = resolve;
      });
      return [{ value, endpoint: "https://models.test/v1", handle: value }];
    },
    revoke: async ({ handle }: { readonly handle?: string }) => void revoked.push(handle),
  };
  const { scene, puppet } = await withPuppet({ provisioner });
  await using _ = scene;
  const peer = await connect(scene, hello(["provisioned_credentials"]));
  const id = await say(peer, "job.submit", { agent: "puppet", lease_request: {} });
  await scene.pass(4_990);
  const [refused] = peer.of("session.error");
  assert.equal(refused?.payload.request_id, id);
  assert.equal(refused?.payload.code, "INTERNAL_ERROR");
  give("late");
  await waitUntil(() => revoked.length === 1);
  assert.equal(peer.of("job.accepted").length, 0);
  assert.equal(puppet.contexts.length, 0);
});

test("[PY-42] [PY-22] [PYR-8] a result says success and when, and one without a value has none", async () => {
  await using scene = await DoorScene.open();
  scene.agent("quiet", () => undefined);
  const peer = await connect(scene, hello([]));
  await say(peer, "job.submit", { agent: "quiet", lease_request: {} });
  const { completed_at, ...payload } = peer.of("job.result")[0]?.payload ?? {};
  assert.deepEqual(payload, { final_status: "success" });
  assert.match(completed_at ?? "", /Z$/);
});

test("[PY-43] [PY-72] [PYR-7] a submit is refused by a session error with its request, a draft client's by a job error", async () => {
  const { scene } = await withPuppet();
  await using _ = scene;
  const peer = await connect(scene, hello([]));
  for (const [payload, code] of [
    [{ agent: "nobody" }, "AGENT_NOT_AVAILABLE"],
    [{ agent: "puppet@9" }, "AGENT_VERSION_NOT_AVAILABLE"],
    [{ agent: "puppet", lease_request: { bogus: [] } }, "INVALID_REQUEST"],
    [{}, "INVALID_REQUEST"],
  ] as const) {
    const id = await say(peer, "job.submit", payload);
    const { type, payload: refused } = peer.told.at(-1) ?? {};
    assert.equal(type, "session.error");
    assert.deepEqual([refused?.code, refused?.request_id], [code, id]);
  }
  assert.equal((await (await scene.hello()).submit("nobody")).type, "job.error");
});

test("[PY-47] [PY-75] [PYR-18] a message of 1 MiB is sent, one of a byte more ends its job and not the connection", async () => {
  const { scene, puppet, peer } = await running({}, []);
  await using _ = scene;
  await puppet.job().thought("");
  await turns(6);
  const empty = JSON.stringify(peer.told.at(-1)).length;
  await puppet.job().thought("x".repeat(1_048_576 - empty));
  await turns(6);
  assert.equal(JSON.stringify(peer.told.at(-1)).length, 1_048_576);
  await puppet.job().thought("x".repeat(1_048_577 - empty));
  await turns(6);
  assert.equal(peer.told.at(-1)?.type, "job.error");
  await say(peer, "job.submit", { agent: "puppet", lease_request: {} });
  await puppet.end(1, "x".repeat(2 ** 21));
  assert.equal(peer.of("job.error")[1]?.payload.code, "INTERNAL_ERROR");
  assert.equal(peer.closing, undefined);
});

test("[PYR-18] [PY-48] [PYR-11] over stdio a streamed result comes in lines that it can read, once, in order, and whole", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const link = { kind: "stdio", isPrivate: true } as const;
  const peer = await connect(scene, hello(usual), link);
  await say(peer, "job.submit", { agent: "puppet", lease_request: {} });
  const stream = puppet.job().streamResult();
  const text = 'é"\u0001'.repeat(60_000);
  await stream.write(text);
  await stream.write(new Uint8Array(100_000));
  await puppet.end(0, null);
  await waitUntil(() => peer.of("job.result").length === 1);
  const chunks = peer.of("job.event").filter(({ payload }) => payload.kind === "result_chunk");
  for (const frame of chunks) assert(Buffer.byteLength(JSON.stringify(frame)) <= 65_536);
  const bodies = chunks.map(({ payload }) => payload.body);
  assert.deepEqual(
    bodies.map(({ chunk_seq }) => chunk_seq),
    [...bodies.keys()],
  );
  const encodings = { utf8: "utf8", base64: "base64" } as const;
  const whole = Buffer.concat(
    bodies.map(({ data = "", encoding = "utf8" }) => Buffer.from(data, encodings[encoding])),
  );
  assert.equal(whole.length, peer.of("job.result")[0]?.payload.result_size);
  assert.equal(whole.toString("utf8", 0, whole.length - 100_000), text);
});

test("[PYR-15] [PYR-16] what it may not list, follow or cancel is told in ways that end its calls", async () => {
  const { scene, job_id } = await running({ mayObserve: (who) => who === "boss" });
  await using _ = scene;
  const bare = await connect(scene, hello([]));
  await say(bare, "session.list_jobs", {});
  await say(bare, "job.subscribe", { job_id, history: false });
  const eve = await connect(scene, hello(usual, { auth: { scheme: "bearer", token: "of eve" } }));
  await say(eve, "job.subscribe", { job_id, history: false });
  await say(eve, "job.subscribe", { job_id: "job_0", history: false });
  const codes = [...bare.of("session.error"), ...eve.of("session.error")].map(
    ({ payload }) => payload.code,
  );
  assert.deepEqual(codes, [
    "INVALID_REQUEST",
    "INVALID_REQUEST",
    "PERMISSION_DENIED",
    "JOB_NOT_FOUND",
  ]);
  const boss = await connect(scene, hello(usual, { auth: { scheme: "bearer", token: "of boss" } }));
  await say(boss, "job.cancel", { reason: "subscriber.cancel" }, { job_id });
  const refused = boss.told.at(-1);
  assert.equal(refused?.type, "job.error");
  assert.equal(refused?.job_id, job_id);
  assert.equal(refused?.payload.code, "PERMISSION_DENIED");
  assert.equal(refused?.payload.final_status, "error");
  assert.match(refused?.payload.completed_at ?? "", /Z$/);
});

test("[PYR-17] [PY-26] [PY-54] its silence is fine without heartbeats; with them it is pinged in its own words", async () => {
  await using scene = await DoorScene.open();
  const silent = await connect(scene, hello([]));
  const pinged = await connect(scene, hello(["heartbeat"]));
  await scene.pass(30_000);
  const [ping] = pinged.of("session.ping");
  assert.match(ping?.payload.nonce ?? "", /^p_/);
  assert.match(ping?.payload.sent_at ?? "", /Z$/);
  const received_at = "2026-11-15T18:59:11.454364Z";
  await say(pinged, "session.pong", { ping_nonce: ping?.payload.nonce, received_at });
  await scene.clock.pass(95_000, 500);
  await turns(6);
  await scene.pass(3_600_000);
  assert.deepEqual(silent.types, ["session.welcome"]);
  assert.equal(silent.closing, undefined);
  assert.equal(pinged.closing?.code, 1001);
});

test("[PYR-23] a retry with the same key gets the same job, and its end if it has ended", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await connect(scene, hello([]));
  const payload = { agent: "puppet", input: { x: 1 }, lease_request: {}, idempotency_key: "k" };
  const first = await say(peer, "job.submit", payload);
  await puppet.end();
  const second = await say(peer, "job.submit", payload);
  const accepted = peer.of("job.accepted");
  assert.deepEqual(
    accepted.map((frame) => frame.payload.request_id),
    [first, second],
  );
  assert.equal(accepted[0]?.job_id, accepted[1]?.job_id);
  assert.deepEqual(peer.types.slice(-2), ["job.accepted", "job.result"]);
  await say(peer, "job.submit", { ...payload, agent: "other" });
  assert.equal(peer.told.at(-1)?.payload.code, "DUPLICATE_KEY");
});

test("[PY-74] one that has only its list of agents, or only its ids, is no Python client", async () => {
  const { scene } = await withPuppet();
  await using _ = scene;
  const peer = await connect(scene, hello([], {}, `msg_${bareId()}`));
  assert.equal((await peer.submit("nobody")).type, "job.error");
  const capabilities = { encodings: ["json"], features: [] };
  const other = await connect(scene, hello([], { capabilities }));
  assert.equal((await other.submit("nobody")).type, "job.error");
});
