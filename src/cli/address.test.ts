/** Addresses as people type them: AgentKeeper contract 3.1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAddress, placesFor } from "./address.ts";

test("[AK-3.1-3] host:port, :port, [v6]:port and unix:/path are addresses", () => {
  assert.deepEqual(parseAddress("localhost:7070"), { host: "localhost", port: 7070 });
  assert.deepEqual(parseAddress("10.0.0.1:1"), { host: "10.0.0.1", port: 1 });
  assert.deepEqual(parseAddress(":7070"), { host: "", port: 7070 });
  assert.deepEqual(parseAddress("[::1]:7070"), { host: "::1", port: 7070 });
  assert.deepEqual(parseAddress("[::]:65535"), { host: "::", port: 65_535 });
  assert.deepEqual(parseAddress("[::ffff:127.0.0.1]:80"), { host: "::ffff:127.0.0.1", port: 80 });
  assert.deepEqual(parseAddress("unix:/run/a:b.sock"), { path: "/run/a:b.sock" });
  assert.deepEqual(parseAddress("a-host.example:0"), { host: "a-host.example", port: 0 });
});

test("what is none of these is no address", () => {
  for (const text of [
    "",
    "7070",
    "localhost",
    "localhost:",
    "localhost:http",
    ":65536",
    ":-1",
    ":+1",
    ": 1",
    "::1:7070",
    "[::1]",
    "[::1]7070",
    "[localhost]:7070",
    "unix:relative.sock",
    "unix:",
    "http://localhost:7070",
    "localhost:7070/",
    "localhost:7070\n",
    "a:b:1",
  ]) {
    assert.equal(parseAddress(text), undefined, text);
  }
});

test("[AK-3.1-9] NOT MET: a wildcard means this machine, on both its addresses, unless more was asked for", () => {
  const loopback = [
    { host: "127.0.0.1", port: 7070 },
    { host: "::1", port: 7070, isOptional: true },
  ];
  for (const host of ["", "0.0.0.0", "::"]) {
    assert.deepEqual(placesFor({ host, port: 7070 }, { isInsecure: false }), {
      places: loopback,
      isNarrowed: true,
    });
  }
  assert.deepEqual(placesFor({ host: "localhost", port: 7070 }, { isInsecure: false }), {
    places: loopback,
    isNarrowed: false,
  });
});

test("with --insecure, a wildcard is what it says", () => {
  const exposed = (host: string): unknown => placesFor({ host, port: 1 }, { isInsecure: true });
  assert.deepEqual(exposed("0.0.0.0"), {
    places: [{ host: "0.0.0.0", port: 1 }],
    isNarrowed: false,
  });
  assert.deepEqual(exposed("::"), { places: [{ host: "::", port: 1 }], isNarrowed: false });
  assert.deepEqual(exposed("10.0.0.1"), {
    places: [{ host: "10.0.0.1", port: 1 }],
    isNarrowed: false,
  });
});

test("[AK-3.1-11] where IPv6 is off, :port falls back to 0.0.0.0", () => {
  assert.deepEqual(placesFor({ host: "", port: 1 }, { isInsecure: true }), {
    places: [{ host: "::", port: 1, ifAbsent: "0.0.0.0" }],
    isNarrowed: false,
  });
});

test("an address of this machine needs no flag, one of a network does", () => {
  for (const host of ["127.0.0.1", "127.9.9.9", "::1"]) {
    const { refusal } = placesFor({ host, port: 1 }, { isInsecure: false });
    assert.equal(refusal, undefined, host);
  }
  for (const host of ["10.0.0.1", "192.168.1.5", "example.com", "fe80::1", "127.evil.example"]) {
    const { refusal = "" } = placesFor({ host, port: 1 }, { isInsecure: false });
    assert.match(refusal, /--insecure/, host);
  }
});

test("a socket's path is taken as it is", () => {
  const path = "/run/tipstaff.sock";
  assert.deepEqual(placesFor({ path }, { isInsecure: false }), {
    places: [{ path }],
    isNarrowed: false,
  });
});
