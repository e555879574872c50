import assert from "node:assert/strict";
import { test } from "node:test";
import { ConnectionLimit, type ConnectionSeat } from "./connection-limit.ts";

test("callers without a token have half of the connections, and the next closes the idlest", () => {
  const { admit, closed } = begin(6);
  const [used, silent] = [admit("used"), admit("silent"), admit("silent too")];
  request(used);
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
  for (const seat of [one, other, one]) request(seat);
  admit("third");
  assert.deepEqual(closed, ["other"]);
});

test("a connection is idle since its last request ended, and one with a request in progress is closed last", () => {
  const { admit, closed } = begin(6);
  const [download, one, other] = [admit("download"), admit("one"), admit("other")];
  download?.beginRequest();
  other?.beginRequest();
  request(one);
  other?.endRequest();
  admit("fourth")?.beginRequest();
  admit("fifth")?.beginRequest();
  assert.deepEqual(closed, ["one", "other"]);
  admit("sixth");
  assert.deepEqual(closed, ["one", "other", "download"]);
});

test("a connection with an open watch is not closed for another while others have none", () => {
  const { admit, closed } = begin(32);
  const watching = Array.from({ length: 14 }, (_, index) => admit(`watch ${index}`));
  for (const seat of watching) seat?.beginWatch();
  for (const name of ["one", "two", "three", "four"]) assert(admit(name));
  assert.deepEqual(closed, ["one", "two"]);
  watching[3]?.endWatch();
  assert(admit("five"));
  assert.deepEqual(closed, ["one", "two", "watch 3"]);
});

test("watches of callers without a token do not keep a caller out that is about to show its token", () => {
  const { admit, closed } = begin(32);
  for (let count = 0; count < 16; count += 1) admit(`watch ${count}`)?.beginWatch();
  const newcomers = ["one", "two", "three"].map((name) => admit(name));
  // Two of sixteen connections stay free for newcomers, who are not closed for each other before these are used up.
  assert.deepEqual(closed, ["watch 15", "watch 14", "one"]);
  newcomers[1]?.trust();
  newcomers[2]?.trust();
  assert(admit("four"));
  assert(admit("five"));
  assert.deepEqual(closed, ["watch 15", "watch 14", "one"]);
});

test("a trusted caller's request in progress is not ended for another connection, which is refused", () => {
  const { admit, closed } = begin(4);
  const seats = ["one", "two", "three", "four"].map((name) => {
    const seat = admit(name);
    seat?.trust();
    seat?.beginRequest();
    return seat;
  });
  assert.equal(admit("fifth"), undefined);
  assert.equal(admit("sixth", { isTrusted: true }), undefined);
  seats[1]?.endRequest();
  assert(admit("seventh"));
  assert.deepEqual(closed, ["two"]);
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

function request(seat: ConnectionSeat | undefined): void {
  seat?.beginRequest();
  seat?.endRequest();
}

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
