import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryDirectory } from "../testing/temporary.ts";
import { unprivileged } from "../testing/unprivileged.ts";
import { applyChanges, checkWritable, type PurposefulChange } from "./file-changes.ts";

function installing(path: string, before: string | undefined, after: string): PurposefulChange {
  return { path, before, after, says: "", details: [], purpose: "install" };
}

/** A directory where this process would write the file first. Nobody could foresee it. */
function inTheWayOf(path: string): string {
  const name = `.${basename(path)}.tipstaff-${process.pid}.tmp`;
  mkdirSync(join(dirname(path), name));
  return name;
}

test("one that cannot be written leaves all others as they were, without a copy or a directory more", async () => {
  await using home = await temporaryDirectory();
  const first = join(home.path, "settings.json");
  writeFileSync(first, "old");
  const fresh = join(home.path, "new", "directory", "module.js");
  const last = join(home.path, "hooks.json");
  writeFileSync(last, "old");
  const obstacle = inTheWayOf(last);
  const changes = [
    installing(first, "old", "new"),
    installing(fresh, undefined, "new"),
    installing(last, "old", "new"),
  ];
  for (const change of changes) checkWritable(change);
  assert.throws(() => applyChanges(changes), {
    name: "Failure",
    code: "no",
    message: /^cannot write .*hooks\.json: EEXIST$/,
    advice: ["nothing was changed"],
  });
  assert.equal(readFileSync(first, "utf8"), "old");
  assert.deepEqual(readdirSync(home.path).toSorted(), [obstacle, "hooks.json", "settings.json"]);
});

test("one that somebody changes meanwhile takes those before it back, with their rights", async () => {
  await using home = await temporaryDirectory();
  const [first, fresh, gone, last] = ["first", "new/fresh", "gone", "last"].map((name) =>
    join(home.path, name),
  );
  assert(first && fresh && gone && last);
  for (const path of [first, gone]) writeFileSync(path, "old");
  chmodSync(first, 0o640);
  writeFileSync(last, "somebody else's");
  const changes: readonly PurposefulChange[] = [
    installing(first, "old", "new"),
    installing(fresh, undefined, "new"),
    { ...installing(gone, "old", ""), after: undefined, purpose: "remove" },
    installing(last, "old", "new"),
  ];
  assert.throws(() => applyChanges(changes), { message: /changed by somebody else$/ });
  assert.deepEqual(
    [first, gone, last].map((path) => readFileSync(path, "utf8")),
    ["old", "old", "somebody else's"],
  );
  assert.equal(statSync(first).mode & 0o777, 0o640);
  assert.deepEqual(readdirSync(home.path).toSorted(), ["first", "gone", "last"]);
});

test("a file keeps its rights whatever those of new files are, and its owner if root changes it", async () => {
  await using home = await temporaryDirectory();
  const path = join(home.path, "settings.json");
  writeFileSync(path, "old");
  chmodSync(path, 0o664);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(path, 65_534, 65_534);
  const { uid, gid } = statSync(path);
  const mask = process.umask(0o077);
  try {
    applyChanges([installing(path, "old", "new")]);
  } finally {
    process.umask(mask);
  }
  const now = statSync(path);
  assert.deepEqual([now.mode & 0o777, now.uid, now.gid], [0o664, uid, gid]);
});

test("what cannot be taken back is named", async () => {
  await using home = await temporaryDirectory();
  const gone = join(home.path, "gone");
  const last = join(home.path, "last");
  writeFileSync(gone, "old");
  inTheWayOf(gone);
  const changes: readonly PurposefulChange[] = [
    { ...installing(gone, "old", ""), after: undefined, purpose: "remove" },
    installing(last, "old", "new"),
  ];
  assert.throws(() => applyChanges(changes), {
    message: /last has just been changed by somebody else$/,
    advice: [`already changed, and could not be changed back: ${gone}`],
  });
});

test("a directory in which nothing may be made is found before anything is", async () => {
  await using home = await temporaryDirectory();
  const first = join(home.path, "settings.json");
  const locked = join(home.path, "locked");
  mkdirSync(locked);
  chmodSync(locked, 0o555);
  const changes = [
    installing(first, undefined, "new"),
    installing(join(locked, "module.js"), undefined, "new"),
  ];
  await unprivileged(home.path, () => {
    assert.throws(() => applyChanges(changes), { code: "no", message: /module\.js: EACCES$/ });
  });
  assert.equal(existsSync(first), false);
  chmodSync(locked, 0o755);
});

test("what a killed process left behind goes; what a living one is writing stays", async () => {
  await using home = await temporaryDirectory();
  const path = join(home.path, "settings.json");
  writeFileSync(path, "old");
  const { pid: dead } = spawnSync("true");
  const living = `.settings.json.tipstaff-${process.ppid}.tmp`;
  const others = ".settings.json.tipstaff-notes";
  for (const name of [
    `.settings.json.tipstaff-${dead}.tmp`,
    `.settings.json.tipstaff-backup-0123456789ab.tipstaff-${dead}.tmp`,
    living,
    others,
  ])
    writeFileSync(join(home.path, name), "half of");
  const [backup = ""] = applyChanges([installing(path, "old", "new")]);
  assert.equal(readFileSync(backup, "utf8"), "old");
  assert.deepEqual(
    readdirSync(home.path).toSorted(),
    [living, others, "settings.json", backup.slice(home.path.length + 1)].toSorted(),
  );
});

/** Installs and removes without end, as fast as it can. */
const flapping = `
const { applyChanges } = await import(process.argv[1]);
const [path, before, after] = process.argv.slice(2);
const change = (before, after, purpose) => applyChanges([{ path, before, after, purpose }]);
const { readFileSync } = await import("node:fs");
if (readFileSync(path, "utf8") === after) change(after, before, "remove");
process.stdout.write("ready");
for (;;) {
  change(before, after, "install");
  change(after, before, "remove");
}
`;

test("whenever it is killed, the file is whole, old or new, and nothing piles up", async () => {
  await using home = await temporaryDirectory();
  const path = join(home.path, "settings.json");
  // Long enough to be written in more than one go.
  const [before, after] = ["a".repeat(100_000), "b".repeat(100_000)];
  writeFileSync(path, before);
  const module = fileURLToPath(new URL("file-changes.ts", import.meta.url));
  const seen = new Set<string>();
  for (let round = 0; round < 20; round += 1) {
    const child = spawn(
      process.execPath,
      ["--input-type=module", "--eval", flapping, module, path, before, after],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    await once(child.stdout, "data");
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
    child.kill("SIGKILL");
    await once(child, "exit");
    const text = readFileSync(path, "utf8");
    assert.ok(text === before || text === after, `round ${round}: torn at ${text.length} bytes`);
    const files = readdirSync(dirname(path));
    assert.ok(files.length <= 4, files.join(" "));
    for (const name of files) seen.add(name.replace(/-\d+\.tmp$/, "-<pid>.tmp"));
  }
  const text = readFileSync(path, "utf8");
  if (text === before) applyChanges([installing(path, before, after)]);
  applyChanges([{ ...installing(path, after, before), purpose: "remove" }]);
  assert.equal(readFileSync(path, "utf8"), before);
  assert.deepEqual(readdirSync(home.path), ["settings.json"]);
  assert.ok(seen.size > 1, "some were killed in the middle");
});
