/** How the daemon starts, stops, is looked at, and refuses to start: real processes, real signals. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { connect, createServer, type Server } from "node:net";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { AgentStatus, TaskStatus } from "../../src/wire/agentkeeper/index.ts";
import { done, KeeperClient, millis, refusal } from "./client.ts";
import { Daemon, freePort, patienceMs, scratch, tipstaff, until, within } from "./processes.ts";

const wellEnded = { code: 0, signal: null };

describe("stopping", { concurrency: 2 }, () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    test(`${signal} answers everyone, ends within 3 s, and frees the port at once`, async () => {
      using directory = scratch();
      const dataDirectory = join(directory.path, "data");
      await using daemon = await Daemon.start({ dataDirectory });
      const { address } = daemon;
      using client = new KeeperClient(address);
      const { agentId } = done(await client.register("worker"));
      using watch = client.watch();
      await within(patienceMs, watch.began, "the watch to begin");
      const claims = [client.claimTask(agentId), client.claimTask(agentId)];
      // Answered after the claims have arrived: calls of one connection are taken in order.
      done(await client.getAgent(agentId));

      const startedMs = performance.now();
      assert.deepEqual(await daemon.end(signal), wellEnded);
      assert(performance.now() - startedMs < 3_000);
      for (const end of [await watch.ended, ...(await Promise.all(claims))]) {
        assert("code" in end, "a claim was answered with a task");
        const { code, message } = end;
        assert.deepEqual([code, message], ["UNAVAILABLE", "the daemon is shutting down"]);
      }
      assert.equal(await accepts(address), false);

      await using next = await Daemon.start({ dataDirectory, address });
      assert.equal(next.address, address);
      using again = new KeeperClient(address);
      assert.equal(done(await again.getAgent(agentId)).agent?.status, AgentStatus.ALIVE);
    });
  }

  test("a watcher that takes nothing holds up the end for a second, not for good", async () => {
    await using daemon = await Daemon.start();
    using _stalled = await stallWatch(daemon);
    const startedMs = performance.now();
    assert.deepEqual(await daemon.end("SIGTERM"), wellEnded);
    assert(performance.now() - startedMs < 3_000);
  });

  for (const [first, second] of [
    ["SIGTERM", "SIGTERM"],
    ["SIGINT", "SIGINT"],
    ["SIGTERM", "SIGINT"],
    ["SIGINT", "SIGTERM"],
  ] as const) {
    test(`${second} after ${first} ends it at once`, async () => {
      await using daemon = await Daemon.start();
      using _stalled = await stallWatch(daemon);
      daemon.send(first);
      await until(() => daemon.stderr.includes("stopping"), "the first signal to be heard");
      const startedMs = performance.now();
      const exit = await daemon.end(second);
      const tookMs = performance.now() - startedMs;
      assert(tookMs < 700, `it took ${tookMs} ms`);
      assert.deepEqual(exit, { code: 1, signal: null });
    });
  }

  test("a signal that comes as soon as it accepts connections stops it in good order", async () => {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const address = `127.0.0.1:${await freePort()}`;
      await using daemon = Daemon.spawn({ address });
      // Without a pause: what is looked for is over within milliseconds.
      const giveUpAtMs = performance.now() + patienceMs;
      while (!(await accepts(address))) assert(performance.now() < giveUpAtMs, daemon.stderr);
      assert.deepEqual(await daemon.end("SIGTERM"), wellEnded);
    }
  });
});

test("a refusal is told as such, on a new connection and on one that is no longer new", async () => {
  await using daemon = await Daemon.start();
  using client = new KeeperClient(daemon.address);
  for (let calls = 0; calls < 100; calls += 1) {
    assert.equal(refusal(await client.renew("invoice-42", "nobody", 1n, 60)), "NOT_FOUND");
  }
});

describe("one directory, one daemon", { concurrency: 2 }, () => {
  test("a second daemon is refused and names the directory; kill -9 frees it", async () => {
    using directory = scratch();
    const dataDirectory = join(directory.path, "data");
    await using first = await Daemon.start({ dataDirectory });
    await using second = Daemon.spawn({ dataDirectory });
    assert.deepEqual(await within(patienceMs, second.exited, "the refusal"), failed);
    assert.match(second.stderr, new RegExp(`${dataDirectory} is in use by another daemon`));
    assert.equal(second.stdout, "");

    using client = new KeeperClient(first.address);
    done(await client.register("undisturbed"));
    await first.end("SIGKILL");
    await using third = await Daemon.start({ dataDirectory });
    assert.equal(third.exit, undefined);
  });

  test("it is made with its parents, for its owner only", async () => {
    using directory = scratch();
    const dataDirectory = join(directory.path, "some", "where", "data");
    await using _daemon = await Daemon.start({ dataDirectory });
    for (const path of [dataDirectory, dirname(dataDirectory), dirname(dirname(dataDirectory))]) {
      assert.equal(statSync(path).mode & 0o777, 0o700, path);
    }
  });

  test("a directory that cannot be made is a reason, not a crash", async () => {
    using directory = scratch();
    const file = join(directory.path, "file");
    writeFileSync(file, "in the way");
    const dataDirectory = join(file, "data");
    await using daemon = Daemon.spawn({ dataDirectory });
    assert.deepEqual(await within(patienceMs, daemon.exited, "the refusal"), failed);
    assert.match(daemon.stderr, new RegExp(`^\\S+ fatal cannot .*${dataDirectory}.*\n$`));
  });
});

describe("looking at it", { concurrency: 2 }, () => {
  test("status tells what is in it, through the data directory", async () => {
    using directory = scratch();
    const dataDirectory = join(directory.path, "data");
    await using daemon = await Daemon.start({ dataDirectory });
    using client = new KeeperClient(daemon.address);
    const { agentId } = done(await client.register("worker"));
    done(await client.acquire("invoice-42", agentId, 60));
    done(await client.createTask("work"));

    const text = await tipstaff("status", "--data-dir", dataDirectory);
    assert.equal(text.code, 0, text.stderr);
    assert.match(text.stdout, new RegExp(`^tipstaff .* process ${daemon.pid}$`, "m"));
    assert.match(text.stdout, /^ {2}agents +1 alive$/m);
    assert.match(text.stdout, /^ {2}leases +1 held$/m);
    assert.match(text.stdout, new RegExp(`^ {2}gRPC +localhost:${daemon.port}$`, "m"));

    const json = await tipstaff("status", "--json", "--data-dir", dataDirectory);
    assert.equal(json.code, 0, json.stderr);
    const facts = JSON.parse(json.stdout);
    assert.equal(facts.pid, daemon.pid);
    assert.equal(facts.dataDirectory, dataDirectory);
    assert.equal(facts.grpcAddress, daemon.address);
    assert.equal(facts.isKept, true);
    assert.equal(facts.counts.leases, 1);
    assert.equal(facts.counts.tasks.pending, 1);

    await daemon.end("SIGKILL");
    for (const flags of [[], ["--json"]]) {
      const none = await tipstaff("status", "--data-dir", dataDirectory, ...flags);
      assert.equal(none.code, 3);
      assert.match(none.stderr, /no daemon answers/);
      assert.equal(none.stdout, "");
    }
  });

  test("doctor reads the log beside a running daemon, and disturbs nobody", async () => {
    using directory = scratch();
    const dataDirectory = join(directory.path, "data");
    await using daemon = await Daemon.start({ dataDirectory });
    using client = new KeeperClient(daemon.address);
    const examining = tipstaff("doctor", "--data-dir", dataDirectory);
    const { promise: over, resolve } = Promise.withResolvers<void>();
    let isOver = false;
    examining
      .finally(() => {
        isOver = true;
        resolve();
      })
      .catch(() => {});
    let calls = 0;
    for (; !isOver; calls += 1) done(await client.register(`agent-${calls}`));
    await over;
    const { code, stdout } = await examining;
    assert.match(stdout, /^no check failed: [\d,]+ (entry|entries) and 0 snapshots/m);
    assert.equal(code, 0);

    const json = await tipstaff("doctor", "--json", "--data-dir", dataDirectory);
    const { isWell, entries, lastSequence, problems } = JSON.parse(json.stdout);
    assert.deepEqual({ isWell, problems }, { isWell: true, problems: [] });
    assert.equal(entries, calls + 1);
    assert.equal(lastSequence, calls + 1);
  });

  test("doctor says that there is no log", async () => {
    using directory = scratch();
    const { code, stdout } = await tipstaff("doctor", "--data-dir", directory.path);
    assert.equal(code, 1);
    assert.match(stdout, /there is no log in/);
  });
});

describe("a log that is not as it was", { concurrency: 2 }, () => {
  test("a changed entry in the middle is named, by the daemon and by the doctor", async () => {
    using directory = scratch();
    const dataDirectory = await makeLog(directory.path);
    const change = (from: string, to: string) => (database: DatabaseSync) =>
      database
        .prepare("update entries set body = replace(body, ?, ?) where sequence = 3")
        .run(from, to);
    edit(dataDirectory, change("agent-1", "agent-9"));
    await assertRefused(dataDirectory, /entry 3 of the log is damaged/);
    const { code, stdout } = await tipstaff("doctor", "--data-dir", dataDirectory);
    assert.equal(code, 1);
    assert.match(stdout, /^fail +log +entry 3 is damaged$/m);
    assert.match(stdout, /^\d checks? failed: /m);

    edit(dataDirectory, change("agent-9", "agent-1"));
    await using daemon = await Daemon.start({ dataDirectory });
    assert.equal(daemon.exit, undefined);
  });

  test("a missing entry in the middle is named", async () => {
    using directory = scratch();
    const dataDirectory = await makeLog(directory.path);
    edit(dataDirectory, (database) => database.exec("delete from entries where sequence = 3"));
    await assertRefused(dataDirectory, /entry 3 of the log is (damaged|missing)/);
    const { code, stdout } = await tipstaff("doctor", "--data-dir", dataDirectory);
    assert.equal(code, 1);
    assert.match(stdout, /entries 3 to 3 are missing/);
  });

  test("a missing beginning is named", async () => {
    using directory = scratch();
    const dataDirectory = await makeLog(directory.path);
    edit(dataDirectory, (database) => database.exec("delete from entries where sequence <= 2"));
    await assertRefused(
      dataDirectory,
      /entries 1 to 2 are missing from the log \(\S+log\.db\), .* restore the directory/,
    );
  });

  test("a damaged last entry is refused, until somebody accepts its loss", async () => {
    using directory = scratch();
    const dataDirectory = await makeLog(directory.path);
    const last = edit(dataDirectory, (database) => {
      database.exec(
        "update entries set body = body || ' ' where sequence = (select max(sequence) from entries)",
      );
      return database.prepare("select max(sequence) as last from entries").get()?.["last"];
    });
    await assertRefused(
      dataDirectory,
      new RegExp(`log\\.db is damaged: entry ${last}, the last one\\. Nothing was changed`),
    );
    const ill = await tipstaff("doctor", "--data-dir", dataDirectory);
    assert.equal(ill.code, 1);
    assert.match(ill.stdout, new RegExp(`log\\.db is damaged: entry ${last}, the last one`));
    const accepted = await tipstaff("doctor", "--accept-loss", "--data-dir", dataDirectory);
    assert.equal(accepted.code, 0, accepted.stdout);
    assert.match(accepted.stdout, new RegExp(`gave up entry ${last}: its effects are lost`));
    await using daemon = await Daemon.start({ dataDirectory });
    assert.equal(daemon.stderr, "");
  });

  test("a newer format is refused and left as it is", async () => {
    using directory = scratch();
    const dataDirectory = await makeLog(directory.path);
    edit(dataDirectory, (database) => database.exec("pragma user_version = 2"));
    await assertRefused(dataDirectory, /format 2; .* up to 1\. Install the newer release/);
    const found = edit(dataDirectory, (database) => database.prepare("pragma user_version").get());
    assert.equal(found?.["user_version"], 2);
  });

  test("a file that is no log is refused", async () => {
    using directory = scratch();
    const dataDirectory = await makeLog(directory.path);
    edit(dataDirectory, (database) => database.exec("drop table about"));
    await assertRefused(dataDirectory, /log\.db is damaged: no such table: about/);
  });
});

describe("starting again", { concurrency: 2 }, () => {
  test("agents keep their ids, leases and offices, beat on, and are given time to", async () => {
    using directory = scratch();
    const dataDirectory = join(directory.path, "data");
    const before = await Daemon.start({ dataDirectory });
    await using _before = before;
    using client = new KeeperClient(before.address);
    const { agentId: beating } = done(await client.register("beating", { ttlSeconds: 1 }));
    const { agentId: silent } = done(await client.register("silent", { ttlSeconds: 1 }));
    const { lease } = done(await client.acquire("invoice-42", beating, 600));
    const { state } = done(await client.campaign("leaders", beating));
    const registered = done(await client.getAgent(beating)).agent;
    await before.end("SIGKILL");

    await using after = await Daemon.start({ dataDirectory });
    const startedMs = performance.now();
    using again = new KeeperClient(after.address);
    const restored = done(await again.getAgent(beating)).agent;
    assert.deepEqual(restored?.card, registered?.card);
    assert.deepEqual(restored?.registeredAt, registered?.registeredAt);
    assert.equal(restored?.status, AgentStatus.ALIVE);
    done(await again.renew("invoice-42", beating, lease?.token?.value ?? 0n, 600));
    assert.deepEqual(done(await again.campaign("leaders", beating)).state, state);

    // Twice its ttl and more: without the grace after a start, the silent one would be dead.
    const statusOf = async (id: string) => done(await again.getAgent(id)).agent?.status;
    let hasBeenLost = false;
    while (performance.now() - startedMs < 3_500) {
      done(await again.heartbeat(beating));
      assert.equal(await statusOf(beating), AgentStatus.ALIVE);
      const status = await statusOf(silent);
      assert.notEqual(status, AgentStatus.DEAD);
      hasBeenLost ||= status === AgentStatus.UNREACHABLE;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert(hasBeenLost, "silence does not go unnoticed");
    done(await again.heartbeat(silent));
    assert.equal(await statusOf(silent), AgentStatus.ALIVE);
  });

  test("what fell due while it was down ends right after the start, with its events", async () => {
    using directory = scratch();
    const dataDirectory = join(directory.path, "data");
    const before = await Daemon.start({ dataDirectory });
    await using _before = before;
    using client = new KeeperClient(before.address);
    const { agentId: holder } = done(await client.register("holder"));
    const { agentId: heir } = done(await client.register("heir"));
    const { lease } = done(await client.acquire("invoice-42", holder, 1));
    const { task } = done(await client.createTask("work", { ttlSeconds: 1 }));
    done(await client.claimTask(holder));
    await before.end("SIGKILL");
    const dueAtMs = millis(lease?.expiresAt) + 1_000;
    await until(() => Date.now() > dueAtMs, "the lease and the claim to fall due");

    await using after = await Daemon.start({ dataDirectory });
    using again = new KeeperClient(after.address);
    const { acquired, lease: next } = done(await again.acquire("invoice-42", heir, 60));
    assert(acquired);
    assert((next?.token?.value ?? 0n) > (lease?.token?.value ?? 0n));
    const inherited = done(await within(patienceMs, again.claimTask(heir), "the task")).task;
    assert.equal(inherited?.id, task?.id);
    assert.equal(inherited?.status, TaskStatus.CLAIMED);
    const own = lease?.token?.value ?? 0n;
    assert.equal(refusal(await again.renew("invoice-42", holder, own, 1)), "PERMISSION_DENIED");

    const entries = readEntries(dataDirectory);
    const opened = entries.findLastIndex(({ type }) => type === "plane.opened");
    const [start, ...ends] = entries.slice(opened, opened + 3);
    assert.deepEqual(ends.map(({ type }) => type).sort(), ["lease.expired", "task.requeued"]);
    for (const { atMs, bus } of ends) {
      const afterMs = atMs - (start?.atMs ?? 0);
      assert(afterMs < 1_000, `it took ${afterMs} ms`);
      assert(bus > 0, "it was not published");
    }
  });

  test("without a data directory nothing is kept, but tokens and sequences do not go back", async () => {
    const seen: { readonly token: bigint; readonly sequence: bigint }[] = [];
    for (let life = 0; life < 2; life += 1) {
      await using daemon = await Daemon.start();
      using client = new KeeperClient(daemon.address);
      using watch = client.watch();
      await within(patienceMs, watch.began, "the watch to begin");
      const { agentId } = done(await client.register("worker"));
      const { acquired, lease } = done(await client.acquire("invoice-42", agentId, 600));
      assert(acquired);
      await until(() => watch.events.length === 2, "both events");
      const sequence = watch.events[0]?.sequenceNumber ?? 0n;
      seen.push({ token: lease?.token?.value ?? 0n, sequence });
      await daemon.end("SIGKILL");
    }
    const [one, other] = seen;
    assert(one && other && one.token < other.token && one.sequence < other.sequence);
  });
});

describe("where it listens", { concurrency: 2 }, () => {
  test("a busy default address for HTTP is worth a warning, no more", async () => {
    using directory = scratch();
    const dataDirectory = join(directory.path, "data");
    // If another program has the port already, all the better.
    using _taken = await listenOn(9090).catch(() => undefined);
    await using daemon = await Daemon.start({ dataDirectory, flags: [] });
    await until(() => daemon.stderr !== "", "the warning");
    assert.match(daemon.stderr, /warn \S+:9090 is in use: the dashboard and metrics are off/);
    using client = new KeeperClient(daemon.address);
    done(await client.register("undisturbed"));
    assert.equal((await tipstaff("status", "--data-dir", dataDirectory)).code, 0);
  });

  test("a busy address that was asked for is a reason not to start", async () => {
    using directory = scratch();
    const dataDirectory = join(directory.path, "data");
    const port = await freePort();
    using _taken = await listenOn(port);
    const busy = `127.0.0.1:${port}`;
    for (const options of [{ address: busy }, { flags: [`--metrics-addr=${busy}`] }]) {
      await using daemon = Daemon.spawn({ dataDirectory, ...options });
      assert.deepEqual(await within(patienceMs, daemon.exited, "the refusal"), failed);
      assert.match(
        daemon.stderr,
        new RegExp(
          `^\\S+ fatal ${busy} is in use by .*; choose another port with --addr or --metrics-addr\n$`,
        ),
      );
      assert.equal(daemon.stdout, "");
    }
    await using daemon = await Daemon.start({ dataDirectory });
    assert.equal(daemon.exit, undefined);
  });

  const isLinux = existsSync("/proc/net/tcp");

  test("0.0.0.0 means this machine", { skip: !isLinux }, async () => {
    await using daemon = await Daemon.start({ address: "0.0.0.0:0" });
    assert.match(daemon.stdout, /only this machine can connect/);
    const hosts = listeners(daemon.port);
    assert(hosts.includes(loopback4));
    assert.deepEqual(
      hosts.filter((host) => host !== loopback4 && host !== loopback6),
      [],
    );
  });

  test("0.0.0.0 means everyone if that was asked for", { skip: !isLinux }, async () => {
    await using daemon = await Daemon.start({
      address: "0.0.0.0:0",
      flags: ["--metrics-addr=", "--insecure"],
    });
    assert.match(daemon.stdout, /OTHER MACHINES CAN CONNECT/);
    assert.deepEqual(listeners(daemon.port), ["00000000"]);
  });

  test("an address of another network must be asked for", async () => {
    await using daemon = Daemon.spawn({ address: "192.0.2.1:7070" });
    const exit = await within(patienceMs, daemon.exited, "the refusal");
    assert.deepEqual(exit, { code: 2, signal: null });
    assert.match(daemon.stderr, /add --insecure/);
  });
});

const failed = { code: 1, signal: null };

/** Addresses as the kernel prints them: in the byte order of this machine. */
const loopback4 = "0100007F";
const loopback6 = "00000000000000000000000001000000";

/** On which addresses the kernel listens for this port. */
function listeners(port: number): readonly string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const isListening = "0A";
  return ["/proc/net/tcp", "/proc/net/tcp6"]
    .filter((path) => existsSync(path))
    .flatMap((path) => readFileSync(path, "utf8").trim().split("\n").slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(suffix) && state === isListening)
    .map(([, local = ""]) => local.slice(0, -suffix.length));
}

/** A raw watch with no room for anything, and an event that waits for room. */
async function stallWatch(daemon: Daemon): Promise<Disposable> {
  const session = connectHttp2(`http://${daemon.address}`, { settings: { initialWindowSize: 0 } });
  session.on("error", () => {});
  const stream = session.request({
    ":method": "POST",
    ":path": "/agentkeeper.v1.RegistryService/Watch",
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => {});
  stream.end(Buffer.alloc(5));
  await once(stream, "response");
  using client = new KeeperClient(daemon.address);
  done(await client.register("unseen"));
  return { [Symbol.dispose]: () => session.destroy() };
}

async function accepts(address: string): Promise<boolean> {
  const [host = "", port] = address.split(":");
  const socket = connect(Number(port), host);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function listenOn(port: number): Promise<Disposable> {
  const server: Server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  return { [Symbol.dispose]: () => server.close() };
}

/** The log of a daemon with which a few agents registered; it has stopped. */
async function makeLog(directory: string): Promise<string> {
  const dataDirectory = join(directory, "data");
  await using daemon = await Daemon.start({ dataDirectory });
  using client = new KeeperClient(daemon.address);
  for (let index = 0; index < 5; index += 1) done(await client.register(`agent-${index}`));
  assert.deepEqual(await daemon.end("SIGTERM"), wellEnded);
  return dataDirectory;
}

function edit<Value>(dataDirectory: string, change: (database: DatabaseSync) => Value): Value {
  const database = new DatabaseSync(join(dataDirectory, "log.db"));
  try {
    return change(database);
  } finally {
    database.close();
  }
}

async function assertRefused(dataDirectory: string, message: RegExp): Promise<void> {
  await using daemon = Daemon.spawn({ dataDirectory });
  assert.deepEqual(await within(patienceMs, daemon.exited, "the refusal"), failed, daemon.stderr);
  assert.match(daemon.stderr, message);
  assert.equal(daemon.stderr.trim().split("\n").length, 1, "one line says it");
  assert.equal(daemon.stdout, "");
}

type Line = {
  readonly sequence: number;
  readonly bus: number;
  readonly type: string;
  readonly atMs: number;
};

function readEntries(dataDirectory: string): readonly Line[] {
  const database = new DatabaseSync(join(dataDirectory, "log.db"), { readOnly: true });
  try {
    const select = "select sequence, bus, type, atMs from entries order by sequence";
    return database.prepare(select).all() as unknown as Line[];
  } finally {
    database.close();
  }
}
