import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Child } from "../../testing/child.ts";
import { temporaryDirectory } from "../../testing/temporary.ts";
import { Lock, readHolder } from "./lock.ts";
import { emittersDirectory } from "./places.ts";
import { identify } from "./processes.ts";
import { keyOf } from "./store.ts";

function scene(): Disposable & { readonly path: string } {
  const directory = mkdtempSync(join(tmpdir(), "tipstaff-test-"));
  return {
    path: join(directory, "writer"),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  };
}

test("the lock says who holds it, in words that a shell can read, and until when it is good", () => {
  using where = scene();
  const lock = new Lock(where.path, "shared");
  assert.ok(lock.tryTake());
  const { start } = identify(process.pid) ?? {};
  assert.equal(readFileSync(where.path, "utf8"), `${process.pid} ${start} shared\n`);
  assert.ok(statSync(where.path).mtimeMs > Date.now() + 30_000);
  assert.equal(statSync(where.path).mode & 0o777, 0o600);
  assert.deepEqual(lock.holder(), { pid: process.pid, start, kind: "shared" });
  assert.ok(lock.tryTake(), "it is ours already");
  lock.release();
  assert.deepEqual(readdirSync(join(where.path, "..")), []);
});

test("a lock whose holder lives is not taken", async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, "writer");
  const module = JSON.stringify(new URL("./lock.ts", import.meta.url).href);
  const program = `import { Lock } from ${module}; const lock = new Lock(${JSON.stringify(path)}, "daemon");
    console.log(lock.tryTake()); setInterval(() => {}, 1000);`;
  const lock = new Lock(path, "shared");
  {
    await using holder = new Child(program);
    assert.equal(await holder.line(), "true");
    assert.equal(lock.tryTake(), false);
    assert.equal(lock.holder()?.kind, "daemon");
    lock.release();
    assert.ok(lock.holder(), "another's is not released");
  }
  assert.equal(lock.holder(), undefined);
  assert.ok(lock.tryTake(), "the dead hold nothing");
});

test("the number of a process that is another one by now is no holder", () => {
  using where = scene();
  for (const text of [
    `${process.pid} 1 shared\n`,
    "999999999 1 shared\n",
    "",
    "x",
    "1 2 3\n",
    `${process.pid}\n`,
  ]) {
    writeFileSync(where.path, text);
    assert.equal(readHolder(where.path), undefined, text);
    const lock = new Lock(where.path, "shared");
    assert.ok(lock.tryTake());
    lock.release();
  }
});

test("where no start is known, a lock that was not renewed is nobody's", () => {
  using where = scene();
  // As on a system without /proc; here the numbers alone never match.
  writeFileSync(where.path, `${process.pid} - shared\n`);
  assert.equal(readHolder(where.path), undefined);
});

test("of many that want it at once, one has it", async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, "writer");
  writeFileSync(path, "999999999 1 shared\n");
  const module = JSON.stringify(new URL("./lock.ts", import.meta.url).href);
  const program = `import { Lock } from ${module}; const lock = new Lock(${JSON.stringify(path)}, "shared");
    console.log(lock.tryTake()); setInterval(() => {}, 1000);`;
  const children = Array.from({ length: 6 }, () => new Child(program));
  try {
    const taken = await Promise.all(children.map((child) => child.line()));
    assert.equal(taken.filter((each) => each === "true").length, 1);
  } finally {
    await Promise.all(children.map((child) => child.kill()));
  }
});

test("the hook and the writer mean the same directory", () => {
  const home = "/home/u";
  assert.equal(emittersDirectory({ env: {}, home }), "/home/u/.local/state/tipstaff/emitters");
  assert.equal(
    emittersDirectory({ env: { XDG_STATE_HOME: "" }, home }),
    "/home/u/.local/state/tipstaff/emitters",
  );
  assert.equal(emittersDirectory({ env: { XDG_STATE_HOME: "/x" }, home }), "/x/tipstaff/emitters");
  assert.equal(
    emittersDirectory({ env: { XDG_STATE_HOME: "~/s" }, home }),
    "/home/u/s/tipstaff/emitters",
  );
});

test("a session is a file of its own, whatever its id", () => {
  const host = "claude-code";
  assert.equal(keyOf({ host, sessionId: "0198-ab" }), "claude-code-0198-ab");
  const ids = [
    "a/b",
    "a_b",
    "a\\b",
    "../../x",
    "x".repeat(500),
    `${"x".repeat(500)}y`,
    "😀",
    "a\nb",
    "..",
  ];
  const keys = ids.map((sessionId) => keyOf({ host, sessionId }));
  assert.equal(new Set(keys).size, ids.length);
  for (const key of keys) assert.match(key, /^claude-code-[A-Za-z0-9._=-]{1,200}$/);
});

test("a process that is dead and not buried is dead", async () => {
  // Becomes another program, which does not know that it has a child.
  const parent = spawn("sh", ["-c", "sleep 0 & echo $!; exec sleep 60"]);
  try {
    const [line] = await once(parent.stdout, "data");
    const pid = Number(line);
    const state = (): string =>
      readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.charAt(0) ?? "";
    while (state() !== "Z") await new Promise((resolve) => setImmediate(resolve));
    assert.equal(identify(pid), undefined);
  } finally {
    parent.kill("SIGKILL");
  }
});

test("what is no number of a process is no process", () => {
  for (const pid of [0, -1, 1.5, Number.NaN, 999_999_999]) assert.equal(identify(pid), undefined);
  assert.ok(identify(process.pid)?.start);
});
