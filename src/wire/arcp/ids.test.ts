import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  deriveEventId,
  isBareUlid,
  isId,
  isMintedId,
  monotonicUlids,
  printId,
  printResumeToken,
  printTraceId,
  sessionRandomOf,
  traceContextFrom,
  traceIdFrom,
  ulid,
} from "./ids.ts";

const times = fc.nat({ max: 2 ** 48 - 1 });
const chance = fc.uint8Array({ minLength: 10, maxLength: 10 });

/** The number that the digits stand for, by arithmetic. */
function numberOf(text: string): bigint {
  const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  return [...text].reduce((sum, digit) => sum * 32n + BigInt(alphabet.indexOf(digit)), 0n);
}

test("[ARCP-1] a ULID is its time and its chance, in base 32", () => {
  fc.assert(
    fc.property(times, chance, (atMs, random) => {
      const text = ulid(atMs, random);
      const chanceValue = random.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
      assert(isBareUlid(text), text);
      assert.equal(numberOf(text), BigInt(atMs) * 2n ** 80n + chanceValue);
      assert.equal(ulid(atMs, chanceValue), text);
    }),
  );
  assert.equal(ulid(1_469_918_176_385, 0n), "01ARYZ6S410000000000000000");
  assert.equal(ulid(2 ** 48 - 1, 2n ** 80n - 1n), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
});

test("ULIDs that cannot be are refused", () => {
  for (const atMs of [-1, 2 ** 48, Number.NaN]) assert.throws(() => ulid(atMs, 0n), RangeError);
  assert.throws(() => ulid(0, new Uint8Array(9)), RangeError);
});

test("[ARCP-1] ULIDs of one process only grow, though its clock stands still or goes back", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 3 }), { minLength: 2, maxLength: 40 }), (clock) => {
      let at = 0;
      const next = monotonicUlids({
        nowMs: () => clock[at++] ?? 0,
        // All ones: the next one in the same millisecond overflows.
        fill: (bytes) => bytes.fill(255),
      });
      const minted = clock.map(next);
      assert(minted.every((text, index) => index === 0 || text > (minted[index - 1] ?? "")));
    }),
  );
});

test("[ARCP-1] each millisecond has a chance of its own, though it is asked for by the score", () => {
  let [nowMs, asked] = [1_700_000_000_000, 0];
  const next = monotonicUlids({
    nowMs: () => nowMs++,
    fill: (bytes) => {
      asked += 1;
      for (let at = 0; at < bytes.length; at += 10) bytes.set([asked, at / 10], at);
    },
  });
  const minted = Array.from({ length: 1_000 }, () => next().slice(-16));
  assert.equal(new Set(minted).size, 1_000);
  assert(asked > 1 && asked < 100, `${asked}`);
});

test("[ARCP-1] ids have the forms of the protocol", () => {
  const bare = ulid(1_700_000_000_000, 7n);
  assert.match(printId("envelope", bare), /^msg_[0-9A-Z]{26}$/);
  assert.match(printId("session", bare), /^sess_/);
  assert.match(printId("job", bare), /^job_/);
  assert.match(printId("result", bare), /^res_/);
  assert.match(printId("credential", bare), /^cred_/);
  assert.match(printId("nonce", bare), /^p_/);
  assert(isMintedId("job", printId("job", bare)));
  assert(!isMintedId("job", printId("session", bare)));
  assert.match(printResumeToken(new Uint8Array(32).fill(171)), /^rt_(?:ab){32}$/);
  assert.throws(() => printResumeToken(new Uint8Array(16)), RangeError);
});

test("[ARCP-1] [ARCP-85] a trace id is 32 hex digits and never all zero, even by chance", () => {
  assert.equal(printTraceId(new Uint8Array(16).fill(1)), "01".repeat(16));
  assert.equal(printTraceId(new Uint8Array(16)), `${"0".repeat(31)}1`);
});

test("[ARCP-64] the id of a frame follows from its time, session and number, and from nothing else", () => {
  const session = printId("session", ulid(5, 123_456_789n));
  const random = sessionRandomOf(session);
  const id = deriveEventId(1_700_000_000_000, random, 42);
  assert.equal(id, deriveEventId(1_700_000_000_000, sessionRandomOf(session), 42));
  assert(isMintedId("envelope", id), id);
  const next = sessionRandomOf(printId("session", ulid(5, 123_456_790n)));
  assert.notEqual(random, next, "sessions of one millisecond differ in their last digits");
  assert.throws(() => sessionRandomOf("sess_from-elsewhere"), RangeError);
});

test("[ARCP-64] derived ids of two frames differ, and grow with time and number", () => {
  const frame = fc.tuple(times, fc.integer({ min: 1, max: 2 ** 40 - 1 }));
  fc.assert(
    fc.property(frame, frame, (one, other) => {
      const [a, b] = [one, other].map(([atMs, seq]) => deriveEventId(atMs, "00000000", seq));
      const order = one[0] - other[0] || one[1] - other[1];
      assert.equal(Math.sign(order), a === b ? 0 : (a ?? "") < (b ?? "") ? -1 : 1);
    }),
  );
});

test("[PY-30] what is no bare ULID is not taken for one", () => {
  const bare = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  assert(isBareUlid(bare));
  const others = [bare.toLowerCase(), `msg_${bare}`, bare.slice(1), `8${bare.slice(1)}`, "abc", ""];
  for (const text of others) assert(!isBareUlid(text), text);
  assert(!isBareUlid(bare.replace("Z", "U")));
});

test("[ARCP-2] ids of others are any text that is not empty and not endless", () => {
  for (const id of ["a", "MSG_1", "é😀", "x".repeat(256)]) assert(isId(id));
  for (const id of ["", "x".repeat(257), 7, null, undefined, {}]) assert(!isId(id));
});

test("[ARCP-10] [PY-31] a trace id is read from hex or a traceparent, with any flags", () => {
  const id = "392b193cf3cefb1e7864ff0932afab10";
  const span = "90ebdc8a3358ab63";
  assert.deepEqual(traceContextFrom(id), { traceId: id });
  for (const flags of ["00", "01", "03", "ff"]) {
    assert.deepEqual(traceContextFrom(`00-${id}-${span}-${flags}`), {
      traceId: id,
      parentSpanId: span,
    });
  }
  assert.equal(traceIdFrom(`01-${id}-${span}-00-more`), id);
  const useless = [
    "",
    id.toUpperCase(),
    "0".repeat(32),
    `00-${"0".repeat(32)}-${span}-01`,
    `00-${id}-${"0".repeat(16)}-01`,
    `ff-${id}-${span}-01`,
    `00-${id}-${span}`,
    `${id}0`,
    `00-${id}-${span}-00-${"x".repeat(1_000)}`,
  ];
  for (const text of useless) assert.equal(traceIdFrom(text), undefined, text);
});
