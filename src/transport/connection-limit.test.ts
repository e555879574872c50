import assert from "node:assert/strict";
import { test } from "node:test";
import { ConnectionLimit, type ConnectionSeat } from "./connection-limit.ts";

test("callers without a token have half of the connections, and the next closes the idlest", () => {
  const { admit, closed } = begin(6);
  const [used, silent] = [admit("used"), admit("silent"), admit("silent too")];
  used?.request();
  assert(admit("fourth"));
  assert.deepEqual(closed, ["silent"], "the first that never made a request");
  assert(silent);
  assert(admit("fifth"));
  assert(admit("sixth"));
  assert.deepEqual(closed, ["silent", "silent too", "fourth"]);
});

test("of connections that made requests, the one whose last was longest ago is closed", () => {
  const { admit, closed } = begin(4);
  const [one, other] = [admit("one"), admit("other")];
  one?.request();
  other?.request();
  one?.request();
  admit("third");
  assert.deepEqual(closed, ["other"]);
});

test("a connection with an open watch is not closed for another, which is refused", () => {
  const { admit, closed } = begin(4);
  const watching = [admit("one"), admit("other")];
  for (const seat of watching) seat?.beginWatch();
  assert.equal(admit("third"), undefined);
  watching[0]?.endWatch();
  assert(admit("fourth"));
  assert.deepEqual(closed, ["one"]);
});

test("whoever shows the token no longer counts among those who did not", () => {
  const { admit, closed, limit } = begin(4);
  for (const name of ["one", "two", "three", "four"]) admit(name)?.trust();
  assert.equal(limit.size, 4);
  assert.deepEqual(closed, []);
  admit("fifth");
  assert.deepEqual(closed, ["one"], "at the limit the idlest is closed, whoever it is");
  admit("sixth");
  assert.deepEqual(closed, ["one", "fifth"], "first those that have not shown the token");
});

test("callers of a Unix socket have all of it", () => {
  const { admit, closed } = begin(4);
  for (const name of ["one", "two", "three", "four"]) admit(name, { isTrusted: true });
  assert.deepEqual(closed, []);
});

test("a connection that ends leaves its place", () => {
  const { admit, closed, limit } = begin(4);
  const [one] = [admit("one"), admit("two")];
  one?.leave();
  one?.leave();
  admit("three");
  assert.deepEqual(closed, []);
  assert.equal(limit.size, 2);
});

test("a connection counts once, however often it shows the token or leaves", () => {
  const { admit, closed } = begin(4);
  const [trusted, other] = [admit("trusted"), admit("other")];
  trusted?.trust();
  trusted?.trust();
  for (const seat of [trusted, other, other]) seat?.leave();
  for (const name of ["one", "two", "three"]) admit(name);
  assert.deepEqual(closed, ["one"]);
});

function begin(connectionsMax: number): {
  readonly limit: ConnectionLimit;
  readonly admit: (
    name: string,
    options?: { readonly isTrusted: boolean },
  ) => ConnectionSeat | undefined;
  readonly closed: string[];
} {
  const limit = new ConnectionLimit({ connectionsMax });
  const closed: string[] = [];
  return {
    limit,
    closed,
    admit: (name, { isTrusted } = { isTrusted: false }) =>
      limit.admit({ close: () => closed.push(name), isTrusted }),
  };
}
