import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { Child } from "../testing/child.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import { limits as wireLimits } from "../wire/status-file/index.ts";
import { type DirectoryRead, prune, readDirectory, readFirst, readStatusFile } from "./index.ts";

function recordOf(id: string, updatedAt = "2026-06-20T16:45:00Z"): string {
  return JSON.stringify({
    schema_version: "agent-status/v1alpha1",
    agent_id: id,
    agent_name: "n",
    runtime: { lifecycle: "running", updated_at: updatedAt },
  });
}

function idsOf({ files }: DirectoryRead): readonly string[] {
  return files.map(({ record }) => record.agent_id);
}

/** By the name of the file: what kind it is, and the first thing that is wrong. */
function toldOf({ warnings }: DirectoryRead, directory: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    warnings.map(({ path, kind, errors }) => {
      assert(path.startsWith(`${directory}/`), path);
      return [path.slice(directory.length + 1), `${kind}: ${errors[0]}`];
    }),
  );
}

test("[AS-36] no directory, an empty one and a file in its place are no records, and no warning", async () => {
  await using scratch = await temporaryDirectory();
  const file = join(scratch.path, "file");
  writeFileSync(file, recordOf("a"));
  mkdirSync(join(scratch.path, "empty"));
  for (const name of ["missing", "empty", "file", "file/below"]) {
    const read = readDirectory(join(scratch.path, name));
    assert.deepEqual(read, { files: [], warnings: [] }, name);
  }
});

test("[AS-36] a directory that may not be read says so", async () => {
  await using scratch = await temporaryDirectory();
  const directory = join(scratch.path, "closed");
  mkdirSync(directory);
  writeFileSync(join(directory, "a.json"), recordOf("a"));
  chmodSync(directory, 0);
  chmodSync(scratch.path, 0o755);
  assert.deepEqual(await readAsNobody(directory), {
    files: [],
    warnings: [
      { path: directory, kind: "unreadable", errors: ["permission denied"], isDirectory: true },
    ],
  });
  chmodSync(directory, 0o700);
});

test("[AS-7] [TV-25] exactly the names that end in .json are read, those with a dot in front too", async () => {
  await using scratch = await temporaryDirectory();
  const { path } = scratch;
  for (const name of [".hid.json", "UP.JSON", "x.json.tmp", ".x.json.abcdefgh.tmp", "json"]) {
    writeFileSync(join(path, name), recordOf(".hid"));
  }
  mkdirSync(join(path, "sub"));
  writeFileSync(join(path, "sub/s.json"), recordOf("s"));
  const read = readDirectory(path);
  assert.deepEqual(
    read.files.map((file) => file.path),
    [join(path, ".hid.json")],
  );
  assert.deepEqual(read.warnings, []);
});

test("[AS-37] [AS-38] [AS-39] [TV-22] what is no record is told of in the order of names, and skipped", async () => {
  await using scratch = await temporaryDirectory();
  const { path } = scratch;
  writeFileSync(join(path, "good.json"), recordOf("good"));
  writeFileSync(join(path, "bad.json"), "{bad");
  writeFileSync(join(path, "arr.json"), "[]");
  const read = readDirectory(path);
  assert.deepEqual(idsOf(read), ["good"]);
  assert.deepEqual(
    read.warnings.map(({ path: at, kind }) => [at, kind]),
    [
      [join(path, "arr.json"), "invalid-status"],
      [join(path, "bad.json"), "invalid-json"],
    ],
  );
  assert.deepEqual(read.warnings[0]?.errors, ["payload must be object"]);
  assert.match(read.warnings[1]?.errors[0] ?? "", /line 1 column 2/);
});

test("[AS-37] names are ordered by code point, also beyond the first plane", async () => {
  await using scratch = await temporaryDirectory();
  const names = ["\ufffdk.json", "\u{1f600}k.json", "a.json"];
  for (const name of names) writeFileSync(join(scratch.path, name), "");
  assert.deepEqual(
    readDirectory(scratch.path).warnings.map(({ path }) => path),
    ["a.json", "\ufffdk.json", "\u{1f600}k.json"].map((name) => join(scratch.path, name)),
  );
});

test("[AS-54] records come newest first, and those of one second in the order of names", async () => {
  await using scratch = await temporaryDirectory();
  const times = { d: "16:45:01", b: "16:45:00", c: "16:45:00", a: "16:44:00", e: "16:46:00" };
  for (const [id, time] of Object.entries(times)) {
    writeFileSync(join(scratch.path, `${id}.json`), recordOf(id, `2026-06-20T${time}Z`));
  }
  assert.deepEqual(idsOf(readDirectory(scratch.path)), ["e", "d", "b", "c", "a"]);
});

test("[AS-9] a record with another id than its file is read, and told of", async () => {
  await using scratch = await temporaryDirectory();
  writeFileSync(join(scratch.path, "one.json"), recordOf("same"));
  writeFileSync(join(scratch.path, "same.json"), recordOf("same"));
  const read = readDirectory(scratch.path);
  assert.deepEqual(idsOf(read), ["same", "same"]);
  assert.deepEqual(toldOf(read, scratch.path), {
    "one.json": "id-mismatch: agent_id is same, the file is named one",
  });
});

test("[AS-41] [AS-43] [AS-44] [TV-23] [TV-24] each thing that is no readable file has its own reason", async () => {
  await using scratch = await temporaryDirectory();
  const { path } = scratch;
  await using socket = createServer().listen(join(path, "socket.json"));
  await once(socket, "listening");
  await makeHostile(path);
  const read = await readAsNobody(path);
  assert.deepEqual(idsOf(read).toSorted(), ["aim", "good"]);
  assert.deepEqual(toldOf(read, path), {
    "bytes.json": "unreadable: not valid UTF-8",
    "deep.json": "unreadable: too deeply nested",
    "device.json": "unreadable: not a regular file",
    "directory.json": "unreadable: not a regular file",
    "dangling.json": "unreadable: dangling symlink",
    "large.json": "unreadable: too large",
    "loop.json": "unreadable: symlink loop",
    "pipe.json": "unreadable: not a regular file",
    "secret.json": "unreadable: permission denied",
    "socket.json": "unreadable: not a regular file",
    "sparse.json": "unreadable: too large",
    "through.json": "id-mismatch: agent_id is aim, the file is named through",
  });
});

test("a hundred entries of every kind at once take no more than the good ones say", async () => {
  await using scratch = await temporaryDirectory();
  const { path } = scratch;
  for (let index = 0; index < 10; index++) {
    const at = join(path, `${index}`);
    writeFileSync(`${at}-good.json`, recordOf(`${index}-good`));
    writeFileSync(`${at}-empty.json`, "");
    writeFileSync(`${at}-half.json`, recordOf("half").slice(0, 50));
    writeFileSync(`${at}-mark.json`, `\ufeff${recordOf(`${index}-mark`)}`);
    writeFileSync(`${at}-bytes.json`, Buffer.from([0x22, 0xff, 0x22]));
    writeFileSync(`${at}-deep.json`, "[".repeat(100_000));
    writeFileSync(`${at}-sparse.json`, "");
    truncateSync(`${at}-sparse.json`, 2 ** 30);
    symlinkSync(`${at}-nowhere`, `${at}-dangling.json`);
    mkdirSync(`${at}-directory.json`);
    execFileSync("mkfifo", [`${at}-pipe.json`]);
  }
  const read = readDirectory(path);
  assert.equal(read.files.length, 10);
  assert.equal(read.warnings.length, 90);
  const kinds = new Map<string, number>();
  for (const { kind } of read.warnings) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  assert.deepEqual(Object.fromEntries(kinds), { "invalid-json": 30, unreadable: 60 });
});

test("[AS-44] a record of exactly 1 MiB is read, and one byte more is too large", async () => {
  await using scratch = await temporaryDirectory();
  const path = join(scratch.path, "a.json");
  const record = recordOf("a");
  writeFileSync(path, record + " ".repeat(1_048_576 - record.length));
  assert.equal(readStatusFile(path).record?.agent_id, "a");
  writeFileSync(path, record + " ".repeat(1_048_577 - record.length));
  assert.deepEqual(readStatusFile(path).problem, { kind: "unreadable", errors: ["too large"] });
});

test("[AS-42] a file that is not there any more is no file, and no warning", async () => {
  await using scratch = await temporaryDirectory();
  const path = join(scratch.path, "a.json");
  assert.deepEqual(readStatusFile(path).problem, { kind: "unreadable", errors: ["ENOENT"] });
  // Another process makes and removes files while this one reads: what it catches, it catches whole.
  await using child = new Child(`
    import { renameSync, rmSync, writeFileSync } from "node:fs";
    console.log("begun");
    for (;;) for (let index = 0; index < 50; index++) {
      const path = ${JSON.stringify(scratch.path)} + "/" + index + ".json";
      writeFileSync(path + ".tmp", ${JSON.stringify(recordOf("x"))});
      renameSync(path + ".tmp", path);
      rmSync(${JSON.stringify(scratch.path)} + "/" + (index + 25) % 50 + ".json", { force: true });
    }
  `);
  await child.line();
  let files = 0;
  while (files < 5_000) {
    const read = readDirectory(scratch.path);
    files += read.files.length;
    const problems = read.warnings.filter(({ kind }) => kind !== "id-mismatch");
    assert.deepEqual(problems, []);
  }
});

test("a record whose file has a name that is not UTF-8 is read, and pruned, like any other", {
  skip: process.platform !== "linux",
}, async () => {
  await using scratch = await temporaryDirectory();
  const name = Buffer.concat([
    Buffer.from(`${scratch.path}/`),
    Buffer.from([0xff]),
    Buffer.from(".json"),
  ]);
  writeFileSync(name, recordOf("x"));
  const { files } = readDirectory(scratch.path);
  assert.deepEqual(
    files.map(({ path, record }) => [path, record.agent_id]),
    [[join(scratch.path, "\udcff.json"), "x"]],
  );
  const nowMs = Date.now() + 2 * wireLimits.pruneAfterMs;
  assert.equal(prune(scratch.path, { nowMs }).length, 1);
  assert.deepEqual(readdirSync(scratch.path), []);
});

test("a program that cannot wait reads only the first files, and is told that there are more", async () => {
  await using scratch = await temporaryDirectory();
  for (const id of ["a", "b", "c"]) writeFileSync(join(scratch.path, `${id}.json`), recordOf(id));
  const { files, warnings } = readFirst(scratch.path, 2);
  assert.equal(files.length, 2);
  const errors = ["has more than 2 status files; the others are ignored"];
  const warning = { path: scratch.path, kind: "too-many", errors, isDirectory: true };
  assert.deepEqual(warnings, [warning]);
  assert.deepEqual(readFirst(scratch.path, 3).warnings, []);
});

test("[AS-45] reading changes nothing", async () => {
  await using scratch = await temporaryDirectory();
  await makeHostile(scratch.path);
  const list = (): readonly unknown[] =>
    readdirSync(scratch.path).map((name) => {
      const { ino, mode, size, mtimeMs, ctimeMs } = lstatSync(join(scratch.path, name));
      return { name, ino, mode, size, mtimeMs, ctimeMs };
    });
  const before = list();
  readDirectory(scratch.path);
  assert.deepEqual(list(), before);
});

test("[AS-47] text is UTF-8, whatever the locale", async () => {
  await using scratch = await temporaryDirectory();
  writeFileSync(join(scratch.path, "日本 😀.json"), recordOf("日本 😀"));
  const module = new URL("./index.ts", import.meta.url).href;
  await using child = new Child(
    `
    import { readDirectory } from ${JSON.stringify(module)};
    console.log(JSON.stringify(readDirectory(${JSON.stringify(scratch.path)})));
  `,
    { command: "env", args: ["LC_ALL=C", "LANG=C"] },
  );
  const read: DirectoryRead = JSON.parse(await child.line());
  assert.deepEqual(idsOf(read), ["日本 😀"]);
  assert.deepEqual(read.warnings, []);
});

test("an open pipe with a writer is not waited for", { timeout: 10_000 }, async () => {
  await using scratch = await temporaryDirectory();
  const path = join(scratch.path, "pipe.json");
  execFileSync("mkfifo", [path]);
  await using child = new Child(`
    import { openSync } from "node:fs";
    openSync(${JSON.stringify(path)}, "r+");
    console.log("open");
    setInterval(() => {}, 1000);
  `);
  await child.line();
  assert.deepEqual(readStatusFile(path).problem?.errors, ["not a regular file"]);
});

async function makeHostile(path: string): Promise<void> {
  const at = (name: string): string => join(path, name);
  writeFileSync(at("good.json"), recordOf("good"));
  writeFileSync(at("aim"), recordOf("aim"));
  symlinkSync("aim", at("through.json"));
  symlinkSync("nowhere", at("dangling.json"));
  symlinkSync("loop.json", at("loop.json"));
  symlinkSync("/dev/zero", at("device.json"));
  mkdirSync(at("directory.json"));
  execFileSync("mkfifo", [at("pipe.json")]);
  writeFileSync(at("secret.json"), recordOf("secret"));
  chmodSync(at("secret.json"), 0);
  writeFileSync(
    at("bytes.json"),
    Buffer.from(recordOf("bytes").replace('"n"', '"\u00ff"'), "latin1"),
  );
  writeFileSync(at("large.json"), JSON.stringify("x".repeat(5_000_000)));
  writeFileSync(at("sparse.json"), "");
  truncateSync(at("sparse.json"), 2 ** 30);
  const nested = `${"[".repeat(600)}${"]".repeat(600)}`;
  writeFileSync(at("deep.json"), recordOf("deep").replace("{", `{"x":${nested},`));
  chmodSync(path, 0o755);
}

/** Root may read everything: what may not be read is seen by somebody else. */
async function readAsNobody(directory: string): Promise<DirectoryRead> {
  const module = new URL("./index.ts", import.meta.url).href;
  await using child = new Child(`
    import { readDirectory } from ${JSON.stringify(module)};
    if (process.getuid() === 0) { process.setgroups([]); process.setgid(65534); process.setuid(65534); }
    console.log(JSON.stringify(readDirectory(${JSON.stringify(directory)})));
  `);
  return JSON.parse(await child.line());
}
