/** Listening in several places at once, on this machine. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ListenError, type Listening, listen, type Place, printPlace } from "./listen.ts";
import { clearSocket, socketIn } from "./unix-socket.ts";

test("[AK-3.1-4] a port of 0 is any free one, and the places after the first take the same", async () => {
  await using scene = open();
  const { places } = await scene.listen([
    { host: "127.0.0.1", port: 0 },
    { host: "::1", port: 0, isOptional: true },
  ]);
  const ports = new Set(places.map((place) => ("port" in place ? place.port : 0)));
  assert.equal(ports.size, 1);
  assert(!ports.has(0));
  for (const place of places) await scene.reach(place);
});

test("a place that the machine does not have is left out if it is optional, and an error if not", async () => {
  await using scene = open();
  // 192.0.2.0/24 is kept for documentation: no machine has it.
  const foreign = { host: "192.0.2.1", port: 0 };
  const here = { host: "127.0.0.1", port: 0 };
  const { places } = await scene.listen([here, { ...foreign, isOptional: true }]);
  assert.equal(places.length, 1);
  await assert.rejects(scene.listen([here, foreign]), (error) => {
    assert(error instanceof ListenError);
    assert.equal(error.code, "cannot_listen");
    assert.match(error.message, /192\.0\.2\.1/);
    return true;
  });
});

test("if one place is taken, none is kept", async () => {
  await using scene = open();
  const {
    places: [taken],
  } = await scene.listen([{ host: "127.0.0.1", port: 0 }]);
  assert(taken);
  const path = join(scene.directory, "first.sock");
  await assert.rejects(scene.listen([{ path }, taken]), (error) => {
    assert(error instanceof ListenError);
    assert.equal(error.code, "address_in_use");
    assert.equal(error.message, `${printPlace(taken)} is in use`);
    return true;
  });
  await assert.rejects(scene.reach({ path }));
});

test("[AK-3.1-3] a Unix socket is a place like any other", async () => {
  await using scene = open();
  const path = join(scene.directory, "a.sock");
  const { places } = await scene.listen([{ path }]);
  assert.deepEqual(places, [{ path }]);
  await scene.reach({ path });
});

test("places are printed as people type them", () => {
  assert.equal(printPlace({ host: "127.0.0.1", port: 1 }), "127.0.0.1:1");
  assert.equal(printPlace({ host: "::1", port: 1 }), "[::1]:1");
  assert.equal(printPlace({ path: "/run/a.sock" }), "unix:/run/a.sock");
});

test("what an earlier daemon left behind is cleared, but a path too long for a socket is refused", async () => {
  await using scene = open();
  const path = socketIn(scene.directory);
  assert.equal(path, join(scene.directory, "tipstaff.sock"));
  clearSocket(path);
  const { servers } = await scene.listen([{ path }]);
  assert.equal(servers.length, 1);
  clearSocket(path);
  await scene.listen([{ path }]);
  await scene.reach({ path });
  assert.throws(() => clearSocket(`/${"x".repeat(103)}`), /too long/);
});

test("[AK-3.1-11] a place that this machine does not have is exchanged for the one named instead", async () => {
  await using scene = open();
  // An address of the documentation range: no machine has it.
  const absent = { host: "2001:db8::1", port: 0, ifAbsent: "127.0.0.1" };
  const { places } = await scene.listen([absent]);
  const [place] = places;
  assert(place && "host" in place);
  assert.equal(place.host, "127.0.0.1");
  await scene.reach(place);
});

type Scene = AsyncDisposable & {
  readonly directory: string;
  readonly listen: (places: readonly Place[]) => Promise<Listening>;
  /** Rejects if nobody is there. */
  readonly reach: (place: Place) => Promise<void>;
};

function open(): Scene {
  const directory = mkdtempSync(join(tmpdir(), "tipstaff-listen-"));
  const servers = new Set<Server>();
  return {
    directory,
    listen: (places) =>
      listen(() => {
        const server = createServer((socket) => socket.destroy());
        servers.add(server);
        return server;
      }, places),
    reach: async (place) => {
      const socket = "path" in place ? connect(place.path) : connect(place.port, place.host);
      socket.on("error", () => {});
      await once(socket, "connect");
      socket.destroy();
    },
    [Symbol.asyncDispose]: async () => {
      for (const server of servers) server.close();
      rmSync(directory, { recursive: true });
    },
  };
}
