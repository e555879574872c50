import assert from "node:assert/strict";
import { pbkdf2 } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { promisify } from "node:util";
import { readDirectory } from "../../status-files/index.ts";
import { temporaryDirectory } from "../../testing/temporary.ts";
import type { StatusRecord } from "../../wire/status-file/index.ts";
import { makePlaces, type Places, placesIn } from "./places.ts";
import { identify } from "./processes.ts";
import { openWriter, runWriter, type WriterOptions } from "./writer.ts";

const derive = promisify(pbkdf2);

class Scene {
  readonly options: WriterOptions;
  readonly places: Places;
  #queued = 0;

  constructor(directory: string) {
    const stateDirectory = join(directory, "emitters");
    this.options = { stateDirectory, statusDirectory: join(directory, "status") };
    this.places = placesIn(stateDirectory);
    makePlaces(this.places);
    mkdirSync(this.options.statusDirectory);
  }

  /** As a hook of this process would. */
  queue(name: string, sessionId: string): void {
    this.#queued += 1;
    const path = join(this.places.queue, String(this.#queued));
    const event = { hook_event_name: name, session_id: sessionId, prompt: "x" };
    writeFileSync(`${path}.body`, JSON.stringify(event));
    const head = ["1", "codex", process.pid, "", "", "", "/", "", "", "", "", "."];
    writeFileSync(`${path}.head`, `${head.join("\0")}\0`);
  }

  records(): readonly StatusRecord[] {
    const { files } = readDirectory(this.options.statusDirectory);
    return files.map(({ record }) => record);
  }
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  const giveUpAtMs = performance.now() + 20_000;
  while (!isSo()) {
    assert.ok(performance.now() < giveUpAtMs, `${what} did not come`);
    await turn();
  }
}

test("what is kept of a session and cannot be taken up keeps nobody from writing", async () => {
  await using scratch = await temporaryDirectory();
  const scene = new Scene(scratch.path);
  const session = { host: "codex", agentId: "codex-1", sessionId: "s", hasStarted: true };
  const { statusDirectory } = scene.options;
  const kept = { format: 1, host: identify(process.pid), terminals: [], statusDirectory };
  for (const [name, damage] of [
    ["codex-s", { subagents: null }],
    ["codex-t", { sessionId: "t", lastActivityAtMs: "then" }],
  ] as const) {
    const path = join(scene.places.sessions, `${name}.json`);
    writeFileSync(path, JSON.stringify({ ...kept, session: { ...session, ...damage } }));
  }
  {
    await using _writer = openWriter(scene.options);
    scene.queue("SessionStart", "z");
    await until("the file", () => scene.records().length > 0);
    assert.deepEqual(readdirSync(scene.places.sessions), ["codex-z.json"]);
  }
  assert.equal(existsSync(scene.places.lock), false);
});

for (const kind of ["daemon", "shared"] as const) {
  test(`a ${kind} writer gives the lock back when its last word is in its file`, async () => {
    await using scratch = await temporaryDirectory();
    const scene = new Scene(scratch.path);
    const ids = ["s1", "s2", "s3"];
    const stopped = new AbortController();
    const options = { ...scene.options, signal: stopped.signal };
    const daemon = kind === "daemon" ? openWriter(options) : undefined;
    const done = daemon ? Promise.resolve() : runWriter(options);
    try {
      for (const id of ids) {
        scene.queue("SessionStart", id);
        scene.queue("UserPromptSubmit", id);
      }
      await until("their files", () => scene.records().length === ids.length);
      // The threads that would sync files have something else to do for a moment.
      const others = Array.from({ length: 8 }, () => derive("x", "y", 200_000, 64, "sha512"));
      for (const id of ids) scene.queue("PermissionRequest", id);
      await until("the reading of the queue", () => readdirSync(scene.places.queue).length === 0);
      stopped.abort();
      await until("the end of the lock", () => !existsSync(scene.places.lock));
      const states = scene.records().map(({ task }) => task?.state);
      assert.deepEqual(new Set(states), new Set(["input-required"]));
      const unfinished = readdirSync(scene.options.statusDirectory).filter((name) =>
        name.endsWith(".tmp"),
      );
      assert.deepEqual(unfinished, []);
      await Promise.all(others);
    } finally {
      stopped.abort();
      await done;
      await daemon?.[Symbol.asyncDispose]();
    }
  });
}
