import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { catalogue, messageTypes } from "./catalogue.ts";
import { readEnvelope } from "./envelope.ts";
import type { JsonObject } from "./fields.ts";
import {
  type Connection,
  type Effect,
  startConnection,
  stepConnection,
  unhandledVendor,
} from "./session.ts";

const standIn = "sess_stand-in";
const session = "sess_real";
const awaiting = startConnection(0, standIn);
const accepted: Connection = { phase: "accepted", sessionId: session, malformedInRow: 0 };

const hello = {
  arcp: "1.1",
  id: "h1",
  type: "session.hello",
  payload: {
    client: { name: "c", version: "1" },
    auth: { scheme: "bearer", token: "t" },
    capabilities: { features: ["ack"] },
  },
};

function say(connection: Connection, frame: unknown) {
  return stepConnection(connection, { type: "frame", frame });
}

function message(type: string, payload: JsonObject = {}, more: JsonObject = {}): JsonObject {
  return { arcp: "1.1", id: "m1", type, session_id: session, payload, ...more };
}

function refusalIn(effects: readonly Effect[]): Effect & { readonly type: "refuse" } {
  const [first] = effects;
  assert(first?.type === "refuse", JSON.stringify(effects));
  return first;
}

const closed = { type: "close", code: 1008, reason: "refused" };

test("[ARCP-18] a hello is handed over to be verified, then the session is open", () => {
  const opening = say(awaiting, hello);
  assert.equal(opening.connection.phase, "opening");
  const [open] = opening.effects;
  assert(open?.type === "open" && opening.effects.length === 1);
  assert.equal(open.hello.token, "t");
  assert.equal(open.dialect, "spec");
  const open2 = stepConnection(opening.connection, { type: "accepted", sessionId: session });
  assert.deepEqual(open2, { connection: accepted, effects: [] });
});

test("[ARCP-36] [ARCP-47] [PY-12] a hello that was rejected is answered and the connection closed; what comes after is dropped", () => {
  const opening = say(awaiting, hello).connection;
  const error = { code: "UNAUTHENTICATED", message: "no", retryable: false } as const;
  const step = stepConnection(opening, { type: "rejected", error, requestId: "h1" });
  assert.equal(step.connection.phase, "closing");
  assert.deepEqual(step.effects, [
    { type: "refuse", sessionId: standIn, error, requestId: "h1" },
    closed,
  ]);
  const bye = { arcp: "1.1", id: "U9", type: "session.bye", payload: { reason: "client.close" } };
  for (const frame of [bye, hello, "{bad"]) {
    assert.deepEqual(say(step.connection, frame), { connection: step.connection, effects: [] });
  }
});

test("[ARCP-9] an error before the welcome has the id that was asked for, else one that is nobody's", () => {
  const resume = { session_id: "sess_old", resume_token: "rt", last_event_seq: "?" };
  const asked = say(awaiting, { ...hello, payload: { ...hello.payload, resume } });
  assert.equal(refusalIn(asked.effects).sessionId, "sess_old");
  const draft = { session_id: "sess_old" };
  const resumed = say(awaiting, { ...hello, type: "session.resume", payload: draft });
  assert.equal(refusalIn(resumed.effects).sessionId, "sess_old");
  assert.equal(refusalIn(say(awaiting, "{bad").effects).sessionId, standIn);
});

test("[ARCP-47] a hello without a token is unauthenticated, one without a client is malformed", () => {
  const { client, auth } = hello.payload;
  const nobody = say(awaiting, { ...hello, payload: { client } });
  assert.equal(refusalIn(nobody.effects).error.code, "UNAUTHENTICATED");
  assert.equal(refusalIn(nobody.effects).error.details, undefined);
  const shapeless = say(awaiting, { ...hello, payload: { auth } });
  assert.deepEqual(refusalIn(shapeless.effects).error.details, { path: "payload.client" });
  assert.equal(shapeless.connection.phase, "closing");
});

test("[ARCP-14] another version in the first frame is told which one there is, and closed", () => {
  const { connection, effects } = say(awaiting, { ...hello, arcp: "2.0" });
  assert.equal(connection.phase, "closing");
  const { error, requestId } = refusalIn(effects);
  assert.equal(error.code, "INVALID_REQUEST");
  assert.deepEqual(error.details, { supported: ["1.1"] });
  assert.equal(requestId, "h1");
  assert.deepEqual(effects[1], closed);
});

test("[ARCP-18] any other first frame is refused, and the connection closed", () => {
  for (const frame of [message("job.submit"), message("x-vendor.a.b"), {}, undefined, "{bad"]) {
    const { connection, effects } = say(awaiting, frame);
    assert.equal(connection.phase, "closing");
    assert.equal(refusalIn(effects).error.code, "INVALID_REQUEST");
    assert.deepEqual(effects[1], closed);
  }
});

test("[ARCP-36] [ARCP-35] who says no hello in time is closed; who said it is not", () => {
  const at = (connection: Connection, nowMs: number) =>
    stepConnection(connection, { type: "time", nowMs }).effects;
  assert.deepEqual(at(awaiting, 9_999), []);
  assert.deepEqual(at(awaiting, 10_000), [
    { type: "close", code: 1008, reason: "no hello in time" },
  ]);
  assert.deepEqual(at(say(awaiting, hello).connection, 99_999), []);
  assert.deepEqual(at(accepted, 99_999), []);
});

test("[ARCP-18] a second hello is refused and changes nothing", () => {
  const step = say(accepted, { ...hello, session_id: session });
  assert.deepEqual(step.connection, accepted);
  assert.equal(refusalIn(step.effects).error.code, "INVALID_REQUEST");
  assert.equal(step.effects.length, 1);
});

test("[ARCP-17] what is for clients, or what nobody knows, is refused by its type", () => {
  const types = messageTypes.filter((type) => catalogue[type].direction === "to client");
  for (const type of [...types, "session.new", "job.new", "other", "__proto__"]) {
    const { connection, effects } = say(accepted, message(type));
    assert.deepEqual(connection, accepted);
    const { error, requestId, sessionId } = refusalIn(effects);
    assert.deepEqual(error.details, { type });
    assert.deepEqual([error.code, requestId, sessionId], ["INVALID_REQUEST", "m1", session]);
  }
});

test("[ARCP-19] what is for a runtime is handed on", () => {
  const types = [
    "session.pong",
    "session.ack",
    "session.list_jobs",
    "job.submit",
    "job.cancel",
    "job.subscribe",
    "job.unsubscribe",
  ];
  for (const type of types) {
    const { effects } = say(accepted, message(type));
    assert.equal(effects[0]?.type, "handle", type);
  }
});

test("[ARCP-13] a frame of another session is refused, one without an id is of this one", () => {
  const foreign = say(accepted, message("job.submit", {}, { session_id: "sess_other" }));
  assert.equal(refusalIn(foreign.effects).error.code, "INVALID_REQUEST");
  assert.deepEqual(foreign.connection, accepted);
  const bare = say(accepted, message("job.submit", {}, { session_id: null }));
  assert.equal(bare.effects[0]?.type, "handle");
});

test("[ARCP-12] [ARCP-14] the twentieth malformed frame in a row closes, and a good one forgives the rest", () => {
  const bad: readonly unknown[] = [undefined, [], {}, { ...hello, arcp: "2.0" }];
  let connection: Connection = accepted;
  const nonsense = (count: number): readonly Effect[] => {
    let effects: readonly Effect[] = [];
    for (let index = 0; index < count; index += 1) {
      assert.equal(connection.phase, "accepted");
      ({ connection, effects } = say(connection, bad[index % bad.length]));
      assert.equal(refusalIn(effects).error.code, "INVALID_REQUEST");
    }
    return effects;
  };
  assert.equal(nonsense(19).length, 1);
  ({ connection } = say(connection, message("session.ack", { last_processed_seq: 1 })));
  assert.equal(nonsense(19).length, 1);
  assert.deepEqual(nonsense(1)[1], {
    type: "close",
    code: 1008,
    reason: "too many malformed frames",
  });
  assert.equal(connection.phase, "closing");
});

test("[ARCP-69] [ARCP-54] a ping is answered with its nonce, features or not", () => {
  assert.deepEqual(say(accepted, message("session.ping", { nonce: "p_1" })).effects, [
    { type: "pong", nonce: "p_1" },
  ]);
  const without = say(accepted, message("session.ping"));
  assert.equal(refusalIn(without.effects).requestId, "m1");
});

test("[ARCP-79] [PYR-24] [PY-11] a bye is not answered, a close is; both leave the session", () => {
  const close = { type: "close", code: 1000, reason: "" };
  assert.deepEqual(say(accepted, message("session.bye", { reason: "r" })).effects, [
    { type: "leave", reply: false, reason: "r" },
    close,
  ]);
  const closing = say(accepted, message("session.close"));
  assert.deepEqual(closing.effects, [{ type: "leave", reply: true, reason: undefined }, close]);
  assert.equal(closing.connection.phase, "closing");
});

test("[ARCP-191] a vendor's message is handed on; without a handler it is dropped if it may be, else refused", () => {
  const vendor = message("x-vendor.acme.hi");
  const [effect] = say(accepted, vendor).effects;
  assert(effect?.type === "vendor");
  const refused = refusalIn(unhandledVendor(effect.envelope, session));
  assert.deepEqual(refused.error.details, { type: "x-vendor.acme.hi" });
  const { envelope } = readEnvelope({ ...vendor, extensions: { optional: true } });
  assert(envelope);
  assert.deepEqual(unhandledVendor(envelope, session), []);
});

test("[ARCP-12] no storm of frames makes a connection throw, and a closed one stays silent", () => {
  const frame = fc.oneof(
    fc.anything(),
    fc.constant(hello),
    fc
      .tuple(fc.constantFrom(...messageTypes, "x-vendor.a.b", "odd"), fc.jsonValue())
      .map(([type, payload]) => ({ ...message(type), payload })),
  );
  const input = fc.oneof(
    frame.map((each) => ({ type: "frame", frame: each }) as const),
    fc.constant({ type: "accepted", sessionId: session } as const),
    fc.nat({ max: 20_000 }).map((nowMs) => ({ type: "time", nowMs }) as const),
  );
  fc.assert(
    fc.property(fc.array(input, { maxLength: 60 }), (inputs) => {
      let connection: Connection = awaiting;
      for (const each of inputs) {
        const wasClosing = connection.phase === "closing";
        const step = stepConnection(connection, each);
        if (wasClosing) assert.deepEqual(step, { connection, effects: [] });
        const closes = step.effects.some(({ type }) => type === "close");
        assert.equal(closes, !wasClosing && step.connection.phase === "closing");
        connection = step.connection;
      }
    }),
    { numRuns: 500 },
  );
});

test("the catalogue has every message, and an answer is for the other side", () => {
  assert.deepEqual(Object.keys(catalogue), [...messageTypes]);
  for (const type of messageTypes) {
    for (const answer of catalogue[type].answeredBy) {
      const { direction } = catalogue[answer];
      assert(direction === "both" || direction !== catalogue[type].direction, type);
    }
  }
  const sequenced = messageTypes.filter((type) => catalogue[type].isSequenced);
  assert.deepEqual(sequenced, ["job.event", "job.result", "job.error"]);
});
