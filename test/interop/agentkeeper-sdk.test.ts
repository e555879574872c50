/**
 * The unmodified AgentKeeper SDK for Python against the real daemon: first the peer's own tests, which
 * are wired to localhost:7070, then ours (`python/`), which bring their daemons along.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposableSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Peer, preparePeer } from "./peer.ts";

const daemonFile = resolve("bin/agentkeeper");
const peerPort = 7070;

/** What the peer's tests assert is in the contract, sections 5.2 and 5.3. */
const peerTests: Readonly<Record<string, string>> = {
  "[AK-5.2-1]": "test_register_returns_agent_id",
  "[AK-5.2-2]": "test_get_agent_alive",
  "[AK-5.2-3]": "test_deregister_marks_dead",
  "[AK-5.2-4]": "test_find_returns_alive_agents",
  "[AK-5.2-5]": "test_acquire_lease_returns_handle",
  "[AK-5.2-6]": "test_acquire_lease_exclusive",
  "[AK-5.2-7]": "test_lease_context_manager_releases",
  "[AK-5.2-8]": "test_campaign_returns_leader",
  "[AK-5.2-9]": "test_resign_triggers_reelection",
  "[AK-5.2-10]": "test_set_and_check_allow_policy",
  "[AK-5.2-11]": "test_deny_overrides_allow",
  "[AK-5.2-12]": "test_default_deny",
  "[AK-5.2-13]": "test_list_policies_prefix_filter",
  "[AK-5.2-14]": "test_watch_receives_agent_registered",
  "[AK-5.2-15]": "test_watch_receives_agent_died",
  "[AK-5.2-16]": "test_watch_empty_topics_receives_all",
  "[AK-5.2-17]": "test_watch_election_receives_leader_changed",
  "[AK-5.2-18]": "test_watch_subscription_cancel",
  "[AK-5.3-1]": "test_embedded_starts_and_stops",
  "[AK-5.3-2]": "test_embedded_context_manager",
  "[AK-5.3-3]": "test_embedded_uses_free_port",
  "[AK-5.3-4]": "test_embedded_explicit_port",
  "[AK-5.3-5]": "test_embedded_daemon_stops_on_close",
};

const prepared = await preparePeer();

if ("unavailable" in prepared) {
  test("the AgentKeeper SDK for Python", (context) => {
    // Where everything must be tested, what cannot be tested has failed.
    assert.notEqual(process.env["CI"], "true", prepared.unavailable);
    context.skip(prepared.unavailable);
  });
} else {
  const peer = prepared;

  describe("the peer's own tests, against one daemon on port 7070", () => {
    let daemon: ChildProcess | undefined;
    before(async () => {
      daemon = await startOnPeerPort();
    });
    after(async () => {
      await stop(daemon);
    });

    for (const round of ["once", "twice: nothing may depend on a fresh state"]) {
      test(`[AK-5.1-1] all 23 pass, ${round}`, async (context) => {
        const { output, outcomes } = await pytest(peer, ["tests/"], peer.source);
        assert.match(output, /\b23 passed\b/, output);
        for (const [id, name] of Object.entries(peerTests)) {
          await context.test(`${id} ${name}`, () => assert.equal(outcomes.get(name), "PASSED"));
        }
      });
    }

    // Takes over 20 s: 50 starts of Python with its gRPC, each a fresh process as the claim says.
    test("[AK-5.1-2] [AK-2.6.4-3] each watch test passes alone, in a fresh process, ten times", async () => {
      const names = Object.values(peerTests).filter((name) => name.startsWith("test_watch"));
      assert.equal(names.length, 5);
      const runs = names.flatMap((name) => Array<string>(10).fill(name));
      const lost: string[] = [];
      await Promise.all(
        [1, 2, 3, 4].map(async () => {
          for (let name = runs.pop(); name !== undefined; name = runs.pop()) {
            const { outcomes, output } = await pytest(
              peer,
              ["tests/test_sdk.py", "-k", name],
              peer.source,
            );
            if (outcomes.get(name) !== "PASSED") lost.push(output);
          }
        }),
      );
      assert.deepEqual(lost, []);
    });
  });

  // Takes over 20 s: it is one run of pytest, with a test for each claim about the SDK.
  test("our own tests, with the peer's SDK as the client", async (context) => {
    const directory = resolve("test/interop/python");
    const { output, outcomes } = await pytest(peer, ["-p", "xdist", "-n", "5", "."], directory);
    assert(outcomes.size > 0, output);
    for (const [name, outcome] of outcomes) {
      await context.test(name, () => assert.equal(outcome, "PASSED"));
    }
    tellUnlessPassed(context, output);
  });
}

type Run = {
  readonly output: string;
  /** By the name of the test, without its file. */
  readonly outcomes: ReadonlyMap<string, string>;
};

async function pytest({ python }: Peer, words: string[], directory: string): Promise<Run> {
  using scratch = mkdtempDisposableSync(join(tmpdir(), "tipstaff-pytest-"));
  const flags = ["-B", "-m", "pytest", "-v", "--color=no", "-p", "no:cacheprovider"];
  flags.push(`--basetemp=${join(scratch.path, "tests")}`);
  const running = spawn(python, [...flags, ...words], {
    cwd: directory,
    // To look for plugins takes as long as to import the SDK.
    env: { ...process.env, AGENTKEEPER_BIN: daemonFile, PYTEST_DISABLE_PLUGIN_AUTOLOAD: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [running.stdout, running.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk;
    });
  }
  await once(running, "close");
  // `file::name PASSED [ 5%]`, or with several workers `[gw0] [ 5%] PASSED file::name`.
  const outcomes = new Map<string, string>();
  const outcome = "(PASSED|FAILED|ERROR|SKIPPED)";
  for (const [, name = "", verdict = ""] of output.matchAll(
    new RegExp(`^\\S+\\.py::(.+?) ${outcome}\\b`, "gm"),
  )) {
    outcomes.set(name, verdict);
  }
  for (const [, verdict = "", name = ""] of output.matchAll(
    new RegExp(`^\\[gw\\d+\\] \\[ *\\d+%\\] ${outcome} \\S+?\\.py::(.+?) *$`, "gm"),
  )) {
    outcomes.set(name, verdict);
  }
  return { output, outcomes };
}

/** What pytest said, for whoever must find out why. */
function tellUnlessPassed(context: TestContext, output: string): void {
  if (/\b(failed|error)/.test(output.trim().split("\n").at(-1) ?? "")) context.diagnostic(output);
}

async function startOnPeerPort(): Promise<ChildProcess> {
  const givesUpAtMs = performance.now() + 20_000;
  while (await accepts(peerPort)) {
    assert(
      performance.now() < givesUpAtMs,
      `port ${peerPort} is in use: the peer's tests are wired to it; stop what listens there`,
    );
    await sleep(200);
  }
  const daemon = spawn(daemonFile, [], { stdio: "ignore" });
  while (!(await accepts(peerPort))) {
    assert.equal(daemon.exitCode, null, "the daemon did not start");
    assert(performance.now() < givesUpAtMs, `the daemon does not listen on port ${peerPort}`);
    await sleep(50);
  }
  return daemon;
}

async function stop(daemon: ChildProcess | undefined): Promise<void> {
  if (!daemon || daemon.exitCode !== null) return;
  const ended = once(daemon, "exit");
  daemon.kill("SIGTERM");
  const forced = setTimeout(() => daemon.kill("SIGKILL"), 5_000);
  await ended;
  clearTimeout(forced);
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "localhost");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
