import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { Child } from "../testing/child.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import type { StatusRecord } from "../wire/status-file/index.ts";
import {
  isTemporaryName,
  readStatusFile,
  removeStatusFile,
  writeStatusFile,
  writeStatusFileInBackground,
} from "./index.ts";

const run = promisify(execFile);
const module = JSON.stringify(new URL("./index.ts", import.meta.url).href);

function recordOf(id: string, more: Partial<StatusRecord> = {}): StatusRecord {
  return {
    schema_version: "agent-status/v1alpha1",
    agent_id: id,
    agent_name: "n",
    runtime: { lifecycle: "running", updated_at: "2026-06-20T16:45:00Z" },
    ...more,
  };
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

/** Both ways to write, by name. */
const ways: Readonly<
  Record<string, (directory: string, record: StatusRecord) => string | Promise<string>>
> = { "at once": writeStatusFile, "in the background": writeStatusFileInBackground };

for (const [way, write] of Object.entries(ways)) {
  test(`[AS-5] [AS-6] [AS-12] [TV-1] a record is written ${way}, with its directories, for nobody else to read`, async () => {
    await using scratch = await temporaryDirectory();
    const directory = join(scratch.path, "new/dir");
    const umask = process.umask(0o022);
    try {
      assert.equal(await write(directory, recordOf("a")), join(directory, "a.json"));
    } finally {
      process.umask(umask);
    }
    assert.deepEqual(readdirSync(directory), ["a.json"]);
    assert.equal(modeOf(join(directory, "a.json")), "600");
    assert.equal(modeOf(directory), "700");
    assert.equal(modeOf(join(scratch.path, "new")), "755");
    assert.equal(
      readFileSync(join(directory, "a.json"), "utf8"),
      `{
  "agent_id": "a",
  "agent_name": "n",
  "runtime": {
    "lifecycle": "running",
    "updated_at": "2026-06-20T16:45:00Z"
  },
  "schema_version": "agent-status/v1alpha1"
}
`,
    );
  });

  test(`[AS-5] [AS-6] a file that others could read is private after it was replaced ${way}, and its directory as it was`, async () => {
    await using scratch = await temporaryDirectory();
    chmodSync(scratch.path, 0o755);
    const path = join(scratch.path, "a.json");
    writeFileSync(path, "{}", { mode: 0o644 });
    const umask = process.umask(0o777);
    try {
      await write(scratch.path, recordOf("a"));
    } finally {
      process.umask(umask);
    }
    assert.equal(modeOf(path), "600");
    assert.equal(modeOf(scratch.path), "755");
  });

  test(`[AS-14] [TV-26] a link is replaced ${way}, and what it leads to is left alone`, async () => {
    await using scratch = await temporaryDirectory();
    const aim = join(scratch.path, "aim");
    writeFileSync(aim, "untouched");
    symlinkSync(aim, join(scratch.path, "sym.json"));
    await write(scratch.path, recordOf("sym"));
    assert.equal(readFileSync(aim, "utf8"), "untouched");
    assert(lstatSync(join(scratch.path, "sym.json")).isFile());
  });

  test(`[AS-12] [AS-14] a directory in the way is an error ${way}, and nothing is left behind`, async () => {
    await using scratch = await temporaryDirectory();
    mkdirSync(join(scratch.path, "a.json"));
    await assert.rejects(async () => await write(scratch.path, recordOf("a")), { code: "EISDIR" });
    assert.deepEqual(readdirSync(scratch.path), ["a.json"]);
  });

  test(`[AS-17] what is no record is not written ${way}`, async () => {
    await using scratch = await temporaryDirectory();
    const directory = join(scratch.path, "none");
    const runtime = { lifecycle: "running", updated_at: "yesterday" } as const;
    await assert.rejects(async () => await write(directory, recordOf("a/b", { runtime })), {
      code: "invalid_status",
      errors: ["invalid timestamp: yesterday"],
    });
    assert.throws(() => statSync(directory), { code: "ENOENT" });
  });

  test(`[AS-8] [TV-5] an id that can be no name of a file is refused ${way}`, async () => {
    await using scratch = await temporaryDirectory();
    for (const id of ["a/b", "a\\b", "a\nb", "a\u007f", "x".repeat(237), "é".repeat(119)]) {
      await assert.rejects(async () => await write(scratch.path, recordOf(id)), {
        code: "unsafe_id",
        message: "agent_id must be non-empty and filename-safe",
      });
    }
    assert.deepEqual(readdirSync(scratch.path), []);
  });
}

test("[AS-8] [TV-6] ids of dots, blanks and 236 bytes are names of files", async () => {
  await using scratch = await temporaryDirectory();
  for (const id of [".", "..", ".hidden", " a b ", "x".repeat(236), "é".repeat(118)]) {
    const path = writeStatusFile(scratch.path, recordOf(id));
    assert.equal(path, join(scratch.path, `${id}.json`));
    assert.equal(readStatusFile(path).record?.agent_id, id);
  }
  assert.equal(readdirSync(scratch.path).length, 6);
});

test("a record that no reader would read is not written", async () => {
  await using scratch = await temporaryDirectory();
  const record = recordOf("a", { x_meta: { text: "x".repeat(1_048_576) } });
  assert.throws(() => writeStatusFile(scratch.path, record), { code: "too_large" });
  assert.deepEqual(readdirSync(scratch.path), []);
});

test("[AS-13] temporary names are random, hidden, and end in .tmp", async () => {
  await using scratch = await temporaryDirectory();
  const names = new Set<string>();
  for (let count = 0; count < 20; count++) {
    await writeStatusFileInBackground(scratch.path, recordOf("a"), (path) => {
      if (path === undefined) return;
      assert.equal(modeOf(path), "600");
      names.add(path.slice(scratch.path.length + 1));
    });
  }
  assert.equal(names.size, 20);
  for (const name of names) {
    assert.match(name, /^\.a\.json\.[a-z0-9]{8}\.tmp$/);
    assert(isTemporaryName(name));
  }
  assert(!isTemporaryName("a.json"));
  assert(!isTemporaryName(".a.json"));
});

test("[AS-16] [TV-2] nothing of an older record stays", async () => {
  await using scratch = await temporaryDirectory();
  const path = writeStatusFile(scratch.path, recordOf("a", { task: { state: "working" } }));
  writeStatusFile(scratch.path, recordOf("a"));
  assert.deepEqual(readStatusFile(path).record, recordOf("a"));
});

test("[AS-15] of many who write one record the last wins, whole, and nobody leaves anything", async () => {
  await using scratch = await temporaryDirectory();
  const program = `
    import { writeStatusFile, writeStatusFileInBackground } from ${module};
    const [directory, writer] = process.argv.slice(1);
    const write = Number(writer) % 2 ? writeStatusFile : writeStatusFileInBackground;
    for (let round = 0; round < 25; round++) await write(directory, {
      schema_version: "agent-status/v1alpha1", agent_id: "a", agent_name: writer,
      runtime: { lifecycle: "running", updated_at: "2026-06-20T16:45:00Z" },
      x_meta: { filler: writer.repeat(Number(writer) * 500) },
    });
  `;
  let isDone = false;
  const writers = Promise.all(
    Array.from({ length: 6 }, (_, writer) =>
      run(process.execPath, ["--input-type=module", "--eval", program, scratch.path, `${writer}`]),
    ),
  ).finally(() => {
    isDone = true;
  });
  let reads = 0;
  while (!isDone) {
    const { record, problem } = readStatusFile(join(scratch.path, "a.json"));
    if (problem) assert.deepEqual(problem.errors, ["ENOENT"], "before the first");
    else {
      const writer = record.agent_name;
      assert.equal(record.x_meta?.["filler"], writer.repeat(Number(writer) * 500));
      reads += 1;
    }
    await new Promise(setImmediate);
  }
  await writers;
  assert(reads > 10, `only ${reads} reads`);
  assert.deepEqual(readdirSync(scratch.path), ["a.json"]);
});

test("a writer that is killed leaves a whole file, whenever that happens", async () => {
  await using scratch = await temporaryDirectory();
  const path = join(scratch.path, "a.json");
  for (let round = 0; round < 5; round++) {
    await using child = new Child(`
      import { writeStatusFile } from ${module};
      for (let count = 0; ; count++) {
        writeStatusFile(${JSON.stringify(scratch.path)}, {
          schema_version: "agent-status/v1alpha1", agent_id: "a", agent_name: "n" + count,
          runtime: { lifecycle: "running", updated_at: "2026-06-20T16:45:00Z" },
          x_meta: { filler: "x".repeat(300_000), count },
        });
        if (count === ${round * 7}) console.log("writing");
      }
    `);
    await child.line();
    await child.kill();
    const { record } = readStatusFile(path);
    assert.equal(record?.agent_name, `n${record?.x_meta?.["count"]}`);
  }
  // What it was writing when it died is left, hidden, and no reader looks at it.
  for (const name of readdirSync(scratch.path)) assert(name === "a.json" || isTemporaryName(name));
});

test("removing what is not there is done already", async () => {
  await using scratch = await temporaryDirectory();
  writeStatusFile(scratch.path, recordOf("a"));
  removeStatusFile(scratch.path, "a");
  removeStatusFile(scratch.path, "a");
  assert.deepEqual(readdirSync(scratch.path), []);
});
