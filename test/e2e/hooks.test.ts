/** The real hook and the real writer, as processes; only the host is pretended. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { openWriter } from "../../src/emitters/index.ts";
import { validate } from "../../src/wire/status-file/index.ts";
import {
  endWriter,
  type Installed,
  installHook,
  isRunning,
  namesIn,
  PretendedHost,
  recordsIn,
  writerOf,
} from "./hooks.ts";
import { openSmallDisk, scratch, until } from "./processes.ts";

/** Without a writer at the end, whatever happens. */
async function withHook(
  run: (installed: Installed, directory: string) => Promise<void>,
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  using directory = scratch();
  const installed = await installHook(directory.path, env);
  try {
    await run(installed, directory.path);
  } finally {
    await endWriter(installed);
  }
}

const stateOf = (installed: Installed): string | undefined => {
  const [record] = recordsIn(installed);
  return record && (record.task?.state ?? "idle");
};

/** An event is taken away when it has had its effect, not before. */
async function isTakenAway({ emitters }: Installed): Promise<void> {
  await until(() => namesIn(join(emitters, "queue")).length === 0, "an empty queue");
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

// They mostly wait, for writers to start and for hosts to be missed.
describe("hooks and their writer", { concurrency: 3 }, () => {
  test("[AS-95] a session from its start to its end is kept in private, and nothing is left", async () => {
    await withHook(async (installed) => {
      await using host = new PretendedHost(installed);
      assert.deepEqual(await host.fire("SessionStart", { source: "startup" }), {
        code: 0,
        said: "",
      });
      const record = await until(() => recordsIn(installed)[0], "the file");
      assert.deepEqual(validate(record), []);
      assert.equal(record.runtime.pid, host.pid);
      assert.deepEqual(await host.fire("UserPromptSubmit", { prompt: "fix it" }), {
        code: 0,
        said: "",
      });
      await until(() => stateOf(installed) === "working", "work");
      await host.fire("PreToolUse", { tool_name: "AskUserQuestion", tool_use_id: "t" });
      await until(() => stateOf(installed) === "input-required", "the question");
      await host.fire("PostToolUse", { tool_name: "AskUserQuestion", tool_use_id: "t" });
      await until(() => stateOf(installed) === "working", "the answer");
      assert.deepEqual(await host.fire("Stop", { last_assistant_message: "Done." }), {
        code: 0,
        said: "{}\n",
      });
      await until(() => stateOf(installed) === "idle", "the end of the turn");
      for (const path of [
        installed.emitters,
        join(installed.emitters, "queue"),
        installed.status,
      ]) {
        assert.equal(statSync(path).mode & 0o777, 0o700, path);
      }
      const writer = writerOf(installed);
      assert.ok(writer);
      await host.fire("SessionEnd", { reason: "other" });
      await until(() => namesIn(installed.status).length === 0, "the end of the file");
      await until(() => !isRunning(writer), "the end of the writer");
      // A hook that saw its event still lie there, and nobody to take it, has started another, which finds nothing.
      const left = ["goals", "queue", "sessions"];
      const names = (): readonly string[] => namesIn(installed.emitters).toSorted();
      await until(() => isDeepStrictEqual(names(), left), "nothing more to be there");
      assert.deepEqual(namesIn(join(installed.emitters, "queue")), []);
      assert.deepEqual(namesIn(join(installed.emitters, "sessions")), []);
    });
  });

  test("a host that is killed leaves no file, and no writer", async () => {
    await withHook(async (installed) => {
      await using host = new PretendedHost(installed);
      await host.fire("SessionStart");
      await host.fire("UserPromptSubmit", { prompt: "x" });
      await until(() => stateOf(installed) === "working", "work");
      const writer = writerOf(installed);
      assert.ok(writer);
      await host.kill();
      await until(() => recordsIn(installed).length === 0, "the end of the file");
      await until(() => !isRunning(writer), "the end of the writer");
    });
  });

  test("a writer that is killed is started again by the next event, and goes on under the same ids", async () => {
    await withHook(async (installed) => {
      await using host = new PretendedHost(installed);
      await using other = new PretendedHost(installed, "codex");
      await host.fire("SessionStart");
      await other.fire("SessionStart", { session_id: "s2" });
      await host.fire("UserPromptSubmit", { prompt: "x" });
      await until(() => recordsIn(installed).length === 2, "both files");
      await until(() => recordsIn(installed).some(({ task }) => task?.state === "working"), "work");
      const ids = recordsIn(installed).map(({ agent_id }) => agent_id);
      await endWriter(installed);
      await host.fire("Stop", { last_assistant_message: "Done." });
      await until(() => writerOf(installed), "another writer");
      await until(() => recordsIn(installed).every(({ task }) => !task), "the end of the turn");
      assert.deepEqual(
        recordsIn(installed)
          .map(({ agent_id }) => agent_id)
          .toSorted(),
        ids.toSorted(),
      );
    });
  });

  test("of two writers the second ends at once", async () => {
    await withHook(async (installed) => {
      await using host = new PretendedHost(installed);
      await host.fire("SessionStart");
      await until(() => recordsIn(installed)[0], "the file");
      const writer = writerOf(installed);
      const second = spawnSync(
        process.execPath,
        [join(installed.hook, "..", "writer.cjs"), installed.emitters],
        { env: installed.env, encoding: "utf8" },
      );
      assert.deepEqual([second.status, second.stdout, second.stderr], [0, "", ""]);
      assert.equal(writerOf(installed), writer);
      assert.equal(recordsIn(installed).length, 1);
    });
  });

  test("twenty hooks at once lose nothing, and one writer serves them", async () => {
    await withHook(async (installed) => {
      const hosts = Array.from({ length: 20 }, () => new PretendedHost(installed));
      try {
        const start = async (host: PretendedHost, index: number): Promise<void> => {
          const session = { session_id: `s${index}` };
          await host.fire("SessionStart", session);
          await host.fire("UserPromptSubmit", { ...session, prompt: `prompt ${index}` });
        };
        await Promise.all(hosts.map(start));
        await until(
          () => recordsIn(installed).filter(({ task }) => task?.state === "working").length === 20,
          "all of them at work",
        );
        const summaries = recordsIn(installed).map(({ task }) => task?.summary);
        assert.equal(new Set(summaries).size, 20);
        await isTakenAway(installed);
      } finally {
        await Promise.all(hosts.map((host) => host.kill()));
      }
      await until(() => recordsIn(installed).length === 0, "the end of the files");
    });
  });

  test("an event of megabytes is heard, and the writer stays small", async () => {
    await withHook(async (installed) => {
      await using host = new PretendedHost(installed);
      await host.fire("SessionStart");
      await until(() => recordsIn(installed)[0], "the file");
      const long = 'a \\ " 😀'.repeat(150_000);
      await host.fire("UserPromptSubmit", { prompt: `look: ${long}` });
      await until(() => recordsIn(installed)[0]?.task?.summary?.startsWith("look: a"), "work");
      for (let count = 0; count < 20; count += 1) {
        await host.fire("PostToolUse", {
          tool_name: "Bash",
          tool_response: long,
          tool_use_id: `t${count}`,
        });
      }
      await host.fire("Stop", { last_assistant_message: "Done." });
      await until(() => stateOf(installed) === "idle", "the end of the turn");
      const status = readFileSync(`/proc/${writerOf(installed)}/status`, "utf8");
      const kilobytes = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
      assert.ok(kilobytes < 60_000, `${kilobytes} kB`);
    });
  });

  test("[AS-87] what is no event changes nothing, and the host does not hear of it", async () => {
    await withHook(async (installed) => {
      await using host = new PretendedHost(installed);
      await host.fire("SessionStart");
      const before = await until(() => recordsIn(installed)[0], "the file");
      const bodies = [
        "",
        "{",
        "[]",
        "null",
        "true",
        '"text"',
        "{}",
        '{"session_id":7,"hook_event_name":"Stop"}',
        "\0\0",
        Uint8Array.of(0xff, 0xfe),
      ];
      for (const body of bodies)
        assert.deepEqual(await host.send("PreToolUse", body), { code: 0, said: "" });
      assert.deepEqual(await host.send("Stop", "[]"), { code: 0, said: "{}\n" });
      await host.fire("UserPromptSubmit", { prompt: "x" });
      await until(() => stateOf(installed) === "working", "work");
      assert.equal(recordsIn(installed)[0]?.agent_id, before.agent_id);
      await isTakenAway(installed);
    });
  });

  test("a directory that cannot be made or written to is not the host's concern", async () => {
    const long = JSON.stringify({
      session_id: "s1",
      hook_event_name: "SessionStart",
      pad: "x".repeat(300_000),
    });
    for (const state of ["/proc/none", "/dev/null"]) {
      await withHook(
        async (installed) => {
          await using host = new PretendedHost(installed);
          assert.deepEqual(await host.send("SessionStart", long), { code: 0, said: "" });
          assert.deepEqual(await host.send("Stop", long), { code: 0, said: "{}\n" });
        },
        { XDG_STATE_HOME: state },
      );
    }
  });

  test("without a home nothing is written anywhere, and the host does not hear of it", async () => {
    // A name of its own, should it come to lie below `/` after all.
    const own = `no-home-${process.pid}`;
    const cases = [
      { HOME: "", XDG_STATE_HOME: `~/${own}` },
      { HOME: undefined, XDG_STATE_HOME: `~/${own}` },
      { HOME: undefined, XDG_STATE_HOME: undefined },
      { HOME: "", XDG_STATE_HOME: "" },
    ];
    for (const env of cases) {
      await withHook(async (installed) => {
        await using host = new PretendedHost(installed);
        const wereThere = existsSync("/.local");
        assert.deepEqual(await host.fire("SessionStart"), { code: 0, said: "" });
        assert.deepEqual(await host.fire("Stop"), { code: 0, said: "{}\n" });
        assert.deepEqual([existsSync("/.local"), existsSync(`/${own}`)], [wereThere, false]);
      }, env);
    }
  });

  test("an event without end stays within 64 MB of disk, is read to the end, and is thrown away", async () => {
    await withHook(async (installed) => {
      await using host = new PretendedHost(installed);
      await host.fire("SessionStart");
      await until(() => recordsIn(installed)[0], "the file");
      const queue = join(installed.emitters, "queue");
      const hook = spawn(installed.hook, ["claude-code", "Stop"], {
        env: installed.env,
        stdio: ["pipe", "pipe", "inherit"],
      });
      const [said, ended] = [text(hook.stdout), once(hook, "exit")];
      const megabyte = Buffer.alloc(1_048_576, "x");
      let most = 0;
      for (let count = 0; count < 100; count += 1) {
        if (!hook.stdin.write(megabyte)) await once(hook.stdin, "drain");
        const sizes = namesIn(queue).map((name) => sizeOf(join(queue, name)));
        most = Math.max(most, ...sizes);
      }
      hook.stdin.end();
      assert.deepEqual(await ended, [0, null]);
      assert.equal(await said, "{}\n");
      assert.ok(most > 60_000_000 && most <= 67_108_864, `${most} bytes`);
      assert.deepEqual(namesIn(queue), []);
      await host.fire("UserPromptSubmit", { prompt: "x" });
      await until(() => stateOf(installed) === "working", "work");
    });
  });

  test("a hook that its host kills, tired of waiting for its own words, leaves nothing for long", async () => {
    await withHook(async (installed) => {
      await using host = new PretendedHost(installed);
      await host.fire("SessionStart");
      await until(() => recordsIn(installed)[0], "the file");
      const queue = join(installed.emitters, "queue");
      const hook = spawn(installed.hook, ["claude-code", "UserPromptSubmit"], {
        env: installed.env,
        stdio: ["pipe", "ignore", "inherit"],
      });
      hook.stdin.write('{"session_id":"s1","hook_event_name":"UserPromptSubmit","prompt":"half');
      const half = await until(
        () => namesIn(queue).find((name) => sizeOf(join(queue, name)) > 0),
        "half of an event",
      );
      hook.kill("SIGKILL");
      await once(hook, "exit");
      hook.stdin.end();
      await host.fire("PreToolUse", { tool_name: "Bash" });
      await until(() => stateOf(installed) === "working", "work");
      assert.equal(recordsIn(installed)[0]?.goal, undefined);
      const longAgoS = Date.now() / 1000 - 61;
      utimesSync(join(queue, half), longAgoS, longAgoS);
      const writer = writerOf(installed);
      assert.ok(writer);
      await host.fire("SessionEnd");
      await until(() => !isRunning(writer), "the end of the writer");
      assert.deepEqual(namesIn(queue), []);
    });
  });

  test("a full disk is not the host's concern, and no half of an event stays", async (context) => {
    await withHook(async (installed) => {
      using disk = await openSmallDisk(1);
      if (!disk) return context.skip("this user may not mount a small file system");
      const full = disk.path;
      const small = { ...installed, env: { ...installed.env, XDG_STATE_HOME: full } };
      await using host = new PretendedHost(small);
      const long = JSON.stringify({
        session_id: "s1",
        hook_event_name: "SessionStart",
        pad: "x".repeat(3_000_000),
      });
      assert.deepEqual(await host.send("SessionStart", long), { code: 0, said: "" });
      assert.deepEqual(namesIn(join(full, "tipstaff", "emitters", "queue")), []);
      return undefined;
    });
  });

  test("a disk that fills up while a session runs leaves whole files only, and is forgotten when there is room", async (context) => {
    await withHook(async (installed) => {
      using disk = await openSmallDisk(1);
      if (!disk) return context.skip("this user may not mount a small file system");
      const full = disk.path;
      const [status, emitters] = [join(full, "agent-status"), join(full, "tipstaff", "emitters")];
      const env = { ...installed.env, XDG_STATE_HOME: full };
      const small: Installed = { ...installed, status, emitters, env };
      try {
        await using host = new PretendedHost(small);
        await host.fire("SessionStart");
        await host.fire("UserPromptSubmit", { prompt: "x" });
        const { agent_id: id } = await until(
          () => recordsIn(small).find(({ task }) => task?.state === "working"),
          "work",
        );
        fillUp(join(full, "filler"));
        assert.deepEqual(await host.fire("Stop"), { code: 0, said: "{}\n" });
        // Nobody can lay anything down now, a new writer least of all.
        await endWriter(small);
        const before = namesBelow(full);
        const words = [join(installed.hook, "..", "writer.cjs"), emitters];
        assert.equal(spawnSync(process.execPath, words, { env }).status, 0);
        assert.deepEqual(namesBelow(full), before);
        assert.deepEqual(namesIn(status), [`${id}.json`]);
        assert.equal(stateOf(small), "working", "the last that could be written");
        rmSync(join(full, "filler"));
        await host.fire("Stop", { last_assistant_message: "Done." });
        await until(() => stateOf(small) === "idle", "the end of the turn");
        assert.equal(recordsIn(small)[0]?.agent_id, id);
      } finally {
        await endWriter(small);
      }
      return undefined;
    });
  });

  function fillUp(path: string): void {
    const file = openSync(path, "w");
    try {
      for (;;) writeSync(file, Buffer.alloc(4_096));
    } catch (error) {
      assert.match(String(error), /ENOSPC/);
    } finally {
      closeSync(file);
    }
  }

  function namesBelow(directory: string): readonly string[] {
    return readdirSync(directory, { recursive: true, encoding: "utf8" }).toSorted();
  }

  test("a writer that is killed again and again in the middle of its work leaves nothing torn, and nothing lying about", async () => {
    await withHook(async (installed) => {
      await using host = new PretendedHost(installed);
      await host.fire("SessionStart");
      const { agent_id: id } = await until(() => recordsIn(installed)[0], "the file");
      for (let round = 0; round < 12; round += 1) {
        await host.fire("UserPromptSubmit", { prompt: `prompt ${round}` });
        // Each time at another point of what the event makes it do.
        await sleep(round);
        await endWriter(installed);
        for (const name of namesIn(installed.status).filter((each) => each.endsWith(".json"))) {
          const written: unknown = JSON.parse(readFileSync(join(installed.status, name), "utf8"));
          assert.deepEqual(validate(written), []);
        }
        await host.fire("PreToolUse", { tool_name: "Bash" });
        await until(
          () => recordsIn(installed)[0]?.task?.summary === `prompt ${round}`,
          "the prompt",
        );
      }
      // What it had begun when it was killed, should it never have come to that.
      await endWriter(installed);
      const [key] = namesIn(join(installed.emitters, "sessions"));
      assert.ok(key);
      const session = readFileSync(join(installed.emitters, "sessions", key));
      writeFileSync(join(installed.emitters, "sessions", `${key}.tmp`), session);
      writeFileSync(join(installed.emitters, "goals", `${key}.tmp`), "{");
      writeFileSync(join(installed.status, `.${id}.json.a1B2c3D4.tmp`), "{");
      await host.fire("Stop", { last_assistant_message: "Done." });
      await until(() => stateOf(installed) === "idle", "the end of the turn");
      // It may be about to write once more.
      await until(() => namesIn(installed.status).join() === `${id}.json`, "only the file");
      await until(
        () => namesIn(join(installed.emitters, "sessions")).join() === key,
        "the session",
      );
      await isTakenAway(installed);
    });
  });

  test("where there is no Node, nothing is kept", async () => {
    await withHook(async (installed, directory) => {
      const bin = join(directory, "bin");
      mkdirSync(bin);
      for (const tool of ["sh", "cat", "mkdir", "rm"]) symlinkSync(`/bin/${tool}`, join(bin, tool));
      const bare = { ...installed, env: { ...installed.env, PATH: bin, TIPSTAFF_NODE: "/none" } };
      await using host = new PretendedHost(bare);
      assert.deepEqual(await host.fire("SessionStart"), { code: 0, said: "" });
      assert.deepEqual(namesIn(join(installed.emitters, "queue")), []);
    });
  });

  test("a writer that never comes to write is not started for ever, and nothing piles up", async () => {
    await withHook(async (installed, directory) => {
      const broken = join(directory, "node");
      writeFileSync(broken, `#!/bin/sh\necho x >>'${join(directory, "attempts")}'\nexit 1\n`, {
        mode: 0o755,
      });
      const failing = { ...installed, env: { ...installed.env, TIPSTAFF_NODE: broken } };
      await using host = new PretendedHost(failing);
      const attempts = (): number =>
        namesIn(directory).includes("attempts")
          ? statSync(join(directory, "attempts")).size / 2
          : 0;
      const queued = (): number => namesIn(join(installed.emitters, "queue")).length;
      // The last one may still be on its way out, and is then not taken for dead.
      for (let count = 0; count < 100 && attempts() < 20; count += 1) {
        await host.fire("PreToolUse", { tool_name: "Bash" });
      }
      const before = queued();
      for (let count = 0; count < 10; count += 1) {
        await until(() => attempts() === 20, "the last one to be gone");
        await host.fire("PreToolUse", { tool_name: "Bash" });
      }
      assert.equal(attempts(), 20);
      assert.ok(queued() <= before + 2, `${before} and then ${queued()}`);
      await using mended = new PretendedHost(installed);
      await mended.fire("SessionStart");
      await until(() => recordsIn(installed)[0], "the file");
      await isTakenAway(installed);
    });
  });

  test("a hook whose package is gone says nothing and fails at nothing", async () => {
    await withHook(async (installed) => {
      await using host = new PretendedHost(installed);
      rmSync(installed.hook);
      assert.deepEqual(await host.fire("Stop"), { code: 0, said: "" });
    });
  });

  test("a daemon takes over from the shared writer, and the next one from the daemon, under the same ids", async () => {
    await withHook(async (installed) => {
      await using host = new PretendedHost(installed);
      await host.fire("SessionStart");
      const { agent_id: id } = await until(() => recordsIn(installed)[0], "the file");
      const shared = writerOf(installed);
      assert.ok(shared);
      {
        await using _daemon = openWriter({
          stateDirectory: installed.emitters,
          statusDirectory: installed.status,
        });
        await until(() => writerOf(installed) === process.pid, "the daemon to write");
        assert.ok(!isRunning(shared));
        await host.fire("UserPromptSubmit", { prompt: "x" });
        await until(() => stateOf(installed) === "working", "work");
        assert.equal(writerOf(installed), process.pid, "the hook has started nobody");
        assert.equal(recordsIn(installed)[0]?.agent_id, id);
        await using second = openWriter({
          stateDirectory: installed.emitters,
          statusDirectory: installed.status,
        });
        assert.ok(second);
      }
      assert.equal(writerOf(installed), undefined);
      assert.equal(recordsIn(installed)[0]?.agent_id, id, "the session goes on");
      await host.fire("Stop", { last_assistant_message: "Done." });
      await until(() => stateOf(installed) === "idle", "the end of the turn");
      assert.equal(recordsIn(installed)[0]?.agent_id, id);
      assert.notEqual(writerOf(installed), undefined);
    });
  });

  test("a daemon that ends leaves its sessions to a writer, at once", async () => {
    await withHook(async (installed) => {
      await using host = new PretendedHost(installed);
      const { emitters, status, hook } = installed;
      const successor = join(hook, "..", "writer.cjs");
      {
        const options = { stateDirectory: emitters, statusDirectory: status, successor };
        await using _daemon = openWriter(options);
        await until(() => writerOf(installed) === process.pid, "the daemon to write");
        await host.fire("SessionStart");
        await until(() => recordsIn(installed)[0], "the file");
      }
      await until(() => writerOf(installed), "the next writer");
      assert.equal(recordsIn(installed).length, 1);
    });
  });

  test("the queue may vanish while the writer runs", async () => {
    await withHook(async (installed) => {
      await using host = new PretendedHost(installed);
      await host.fire("SessionStart");
      await until(() => recordsIn(installed)[0], "the file");
      rmSync(join(installed.emitters, "queue"), { recursive: true });
      await host.fire("UserPromptSubmit", { prompt: "x" });
      await until(() => stateOf(installed) === "working", "work");
    });
  });

  test("a host's own variable says where its file goes, also next to another's", async () => {
    await withHook(async (installed, directory) => {
      const own = join(directory, "own place");
      const elsewhere = { ...installed, env: { ...installed.env, AGENT_STATUS_DIR: own } };
      await using host = new PretendedHost(installed);
      await using other = new PretendedHost(elsewhere);
      await host.fire("SessionStart");
      await other.fire("SessionStart", { session_id: "s2" });
      await until(() => recordsIn(installed).length === 1, "one file");
      await until(
        () => namesIn(own).filter((name) => name.endsWith(".json")).length === 1,
        "the other",
      );
    });
  });

  test("the hook of every plugin is the same, and is one that may be run", () => {
    const hooks = ["claude-code", "codex"].map(
      (host) => new URL(`../../plugins/${host}/hook`, import.meta.url),
    );
    const [first, second] = hooks.map((hook) => readFileSync(hook, "utf8"));
    assert.equal(first, second);
    for (const hook of hooks) assert.ok(statSync(hook).mode & 0o111);
  });

  test("other shells than the usual one run the hook as well", async (context) => {
    const shells = ["/bin/dash", "/bin/bash", "/bin/busybox"].filter((shell) => existsSync(shell));
    for (const shell of shells) {
      await context.test(shell, async () => {
        await withHook(async (installed, directory) => {
          const script = readFileSync(installed.hook, "utf8");
          const line = shell.endsWith("busybox")
            ? `#!${shell} sh`
            : shell.endsWith("bash")
              ? `#!${shell} --posix`
              : `#!${shell}`;
          writeFileSync(installed.hook, script.replace(/^#!.*/, line));
          cpSync(installed.hook, join(directory, "kept"));
          await using host = new PretendedHost(installed);
          assert.deepEqual(await host.fire("SessionStart"), { code: 0, said: "" });
          await until(() => recordsIn(installed)[0], "the file");
          assert.deepEqual(await host.fire("Stop"), { code: 0, said: "{}\n" });
        });
      });
    }
  });
});
