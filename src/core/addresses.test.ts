import assert from "node:assert/strict";
import { BlockList, isIPv4 } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { isLoopback, isPublicAddress } from "./addresses.ts";

const notPublic = [
  "0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.255",
  "169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1",
  "198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255",
  ":: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:7f00:1 [::1] [::ffff:7f00:1] fe80::1",
  "febf::1 fec0::1 fc00::1 fdff::1 ff02::1 100::1 64:ff9b::10.0.0.1 64:ff9b::7f00:1 64:ff9b:1::1",
  "2001::1 2001:1ff::1 2001:db8::1 2002:7f00:1::1 3fff:fff::1 4000::1 5f00::1",
].flatMap((line) => line.split(" "));

const open = [
  "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1",
  "169.253.255.255 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0",
  "223.255.255.255 2606:4700:4700::1111 [2a00:1450:4001:81b::200e] 2001:200::1 3ffe::1 3fff:1000::1",
  "64:ff9b::808:808 64:ff9b::8.8.8.8 2620:fe::fe",
].flatMap((line) => line.split(" "));

test("addresses of this machine, its networks and of nobody are not public", () => {
  for (const address of notPublic) assert.equal(isPublicAddress(address), false, address);
});

test("all others are", () => {
  for (const address of open) assert.equal(isPublicAddress(address), true, address);
});

test("a name is no address, nor is half of one", () => {
  const names =
    "localhost example.com 1.2.3 1.2.3.4.5 256.1.1.1 1:2:3 ::1::1 1:2:3:4:5:6:7:8:9 fe80::1%eth0";
  for (const name of [...names.split(" "), "", "[]", ":", "[::1"]) {
    assert.equal(isPublicAddress(name), undefined, name);
  }
});

test("it does not matter how an address of IPv6 is written", () => {
  const groups = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), {
    minLength: 8,
    maxLength: 8,
  });
  fc.assert(
    fc.property(groups, (eight) => {
      const long = eight.map((group) => group.toString(16).padStart(4, "0")).join(":");
      const canonical = new URL(`http://[${long}]/`).hostname;
      assert.equal(isPublicAddress(canonical), isPublicAddress(long));
      assert.notEqual(isPublicAddress(long), undefined);
    }),
  );
});

test("what Node calls private, loopback, link-local or multicast is never public", () => {
  const list = new BlockList();
  list.addSubnet("10.0.0.0", 8);
  list.addSubnet("127.0.0.0", 8);
  list.addSubnet("169.254.0.0", 16);
  list.addSubnet("172.16.0.0", 12);
  list.addSubnet("192.168.0.0", 16);
  list.addSubnet("224.0.0.0", 4);
  list.addSubnet("fc00::", 7, "ipv6");
  list.addSubnet("fe80::", 10, "ipv6");
  list.addSubnet("ff00::", 8, "ipv6");
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
      const isListed = list.check(address, isIPv4(address) ? "ipv4" : "ipv6");
      if (isListed) assert.equal(isPublicAddress(address), false);
    }),
    { numRuns: 2_000 },
  );
});

test("loopback is 127.0.0.0/8 and ::1", () => {
  for (const host of ["127.0.0.1", "127.9.9.9", "::1", "[::1]"]) assert(isLoopback(host), host);
  for (const host of ["128.0.0.1", "::", "::ffff:7f00:1", "localhost"]) assert(!isLoopback(host));
});
