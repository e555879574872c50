/** `up` and `history` as people run them, on a status directory of their own. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { call } from "../../src/cli/daemon.ts";
import { writeStatusFile } from "../../src/status-files/index.ts";
import { printTimestamp, schemaVersion } from "../../src/wire/status-file/index.ts";
import { type Output, scratch, tipstaff, until } from "../e2e/processes.ts";

test("of a name that several agents had on a day all are told, and none is shown for the others", async () => {
  using place = scratch();
  const status = join(place.path, "status");
  for (const id of ["codex-1", "codex-2"]) write(status, id, "codex");
  write(status, "only", "pi");
  await using daemon = await Up.start(place.path);
  const history = (...words: readonly string[]): Promise<Output> =>
    tipstaff("history", ...words, "--data-dir", daemon.dataDirectory);
  const several = await history("codex");
  assert.equal(several.code, 1);
  assert.match(several.stderr, /^tipstaff: codex was 2 agents on that day; give the id of one\n/);
  for (const id of ["codex-1", "codex-2"]) {
    assert.match(several.stderr, new RegExp(`^  ${id}  .*\\d\\d:\\d\\d:\\d\\d  /src/${id}$`, "m"));
    assert.match((await history(id)).stdout, new RegExp(`^codex · /src/${id}\n`));
  }
  assert.match((await history("pi")).stdout, /^pi · /);
  // That something else has the same name makes no agent of it.
  const values = { "data-dir": daemon.dataDirectory };
  const { id } = await call(values, "registerAgent", { card: { name: "pi" }, ttlMs: 600_000 });
  await call(values, "acquireLease", { taskId: "codex", agentId: id, ttlMs: 600_000 });
  assert.match((await history("pi")).stderr, new RegExp(`pi was 2 agents .*  ${id}  `, "s"));
  assert.match((await history("codex")).stderr, /codex was 2 agents/);
  assert.match((await history("nobody")).stderr, /nothing is known of an agent nobody\n$/);
});

test("the banner says what is watched, and whether files are written too", async () => {
  using place = scratch();
  write(join(place.path, "status"), "a", "pi");
  {
    await using daemon = await Up.start(place.path);
    assert.match(daemon.banner, /^ {2}status +\S+\/status +watching 1 agent$/m);
  }
  await using mirroring = await Up.start(place.path, "--mirror-status");
  assert.match(mirroring.banner, /watching 1 agent, mirroring those that register$/m);
});

function write(directory: string, id: string, name: string): void {
  const at = printTimestamp(Date.now());
  writeStatusFile(directory, {
    schema_version: schemaVersion,
    agent_id: id,
    agent_name: name,
    runtime: { lifecycle: "running", updated_at: at, workspace: `/src/${id}` },
    task: { state: "working", summary: "npm test", status_timestamp: at },
  });
}

/** A daemon that watches `status` below a directory. */
class Up implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly dataDirectory: string;
  banner = "";

  static async start(path: string, ...flags: readonly string[]): Promise<Up> {
    const up = new Up(path, flags);
    await until(() => up.banner.includes("ctrl-c stops"), "the banner");
    return up;
  }

  private constructor(path: string, flags: readonly string[]) {
    this.dataDirectory = join(path, "data");
    const words = [
      "up",
      "--http=",
      "--grpc=127.0.0.1:0",
      "--arcp=",
      "--data-dir",
      this.dataDirectory,
    ];
    const child = spawn(
      resolve("bin/tipstaff"),
      [...words, "--status-dir", join(path, "status"), ...flags],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.banner += text;
    });
    this.#child = child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill();
    await ended;
  }
}
