/** `tipstaff job` against a daemon: real processes, and a real terminal where that matters. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connectWorker, type Handler } from "../../src/arcp-server.ts";
import { call } from "../../src/cli/daemon.ts";
import { serve } from "../../src/serve.ts";
import { type Output, patienceMs, scratch, tipstaff, until, within } from "../e2e/processes.ts";
import { agentsModule } from "./arcp-command.ts";
import { SlowDoor } from "./slow-door.ts";

const executable = join(import.meta.dirname, "../../bin/tipstaff");

describe("jobs", { concurrency: 2 }, () => {
  const place = scratch();
  const data = join(place.path, "data");
  let daemon: ChildProcess;
  let url = "";
  const run = (...words: readonly string[]): Promise<Output> =>
    tipstaff("job", ...words, "--data-dir", data);
  before(async () => {
    let banner = "";
    [daemon, banner] = await startWithAgents(data);
    url = `ws://127.0.0.1:${/ARCP +localhost:(\d+)/.exec(banner)?.[1]}/arcp`;
  });
  after(async () => {
    const ended = once(daemon, "exit");
    daemon.kill();
    await ended;
    place[Symbol.dispose]();
  });

  test("a job that is submitted is told as it goes, and its result last", async () => {
    const lease = '{"tool.call": ["search"]}';
    const { code, stdout } = await run(
      "submit",
      "researcher",
      "ducks",
      "--lease",
      lease,
      "--budget",
      "USD:1.00",
    );
    assert.equal(code, 0);
    const [head = "", ...lines] = stdout.trimEnd().split("\n");
    assert.match(head, /^researcher@1\.2\.0 job_\w{26}$/);
    const story = lines.join("\n").replaceAll(/\d+ ms/g, "some ms");
    assert.equal(
      story,
      `  thought where to begin?
  progress 1 of 2 pages
  ✓ search {"query":"ducks"} → {"hits":3} · some ms
  metric  cost.model 0.25 USD
  progress 2 of 2 pages
✓ done in some ms · 0.25 of 1.00 USD
{
  "about": "ducks"
}`,
    );
  });

  test("a job that delegates ends with the cost of all of it, as the list shows it", async () => {
    const lease = '{"tool.call": ["search"], "agent.delegate": ["*"]}';
    const parts = ["--lease", lease, "--budget", "USD:1.00"];
    const done = await run("submit", "editor", "words", ...parts);
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stdout, /✓ done in .* · 0\.26 of 1\.00 USD\n/);
    const id = /job_\w{26}/.exec(done.stdout)?.[0] ?? "";
    const tail = await run("tail", id);
    assert.match(tail.stdout, /✓ done in .* · 0\.26 of 1\.00 USD\n/);
    const failed = await run("submit", "editor", "fail", ...parts);
    assert.equal(failed.code, 1);
    assert.match(failed.stderr, /0\.26 of 1\.00 USD/);
    const listed = JSON.parse((await run("list", "--json")).stdout);
    const row = listed.rows.find((job: { readonly id: string }) => job.id === id);
    const [cost] = row?.cost ?? [];
    assert.deepEqual([cost?.total, cost?.own, cost?.children], ["0.26", "0.01", "0.25"]);
    // Out of the log, without the daemon.
    assert.equal((await run("replay", id)).stdout, tail.stdout);
  });

  test("submit, tail and replay print the question of a job, and who answered it", async () => {
    const submitted = run("submit", "decorator");
    const values = { "data-dir": data };
    const { id: questionId, asker } = await until(
      async () => (await call(values, "listQuestions", { state: ["open"] })).rows[0],
      "the job to ask",
    );
    await call(values, "answerQuestion", { questionId, answer: "blue", by: "ada" });
    const { stdout } = await submitted;
    assert.match(
      stdout,
      /\n {2}\? asks: Which colour\? \(red \| blue\) {2}tipstaff answer \w{6} <choice>\n {2}\? answered by ada\n✓ done/,
    );
    assert.equal((await run("tail", asker.id)).stdout, stdout);
    assert.equal((await run("replay", asker.id)).stdout, stdout);
  });

  test("machines get a line of JSON for each event, and how it ended", async () => {
    const { code, stdout } = await run("submit", "echo", '{"a": 1}', "--json");
    assert.equal(code, 0);
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map(({ agent, kind, final_status }) => agent ?? kind ?? final_status),
      ["echo", "status", "log", "success"],
    );
    assert.deepEqual(lines[3].result, { echoed: { a: 1 } });
  });

  test("a job that fails, an agent that is not there and input that is no JSON are told apart", async () => {
    const [failed, unknown, broken] = await Promise.all([
      run("submit", "fail"),
      run("submit", "nobody"),
      run("submit", "echo", '{"a":'),
    ]);
    assert.deepEqual([failed.code, unknown.code, broken.code], [1, 1, 2]);
    assert.equal(failed.stderr, "tipstaff: fail failed: INTERNAL_ERROR boom\n");
    assert.match(unknown.stderr, /nobody offers the agent nobody\n {2}tipstaff job agents lists/);
    assert.match(broken.stderr, /the input is no JSON/);
  });

  test("what is left to itself is listed, tailed by the end of its id, and cancelled", async () => {
    const detached = await run("submit", "endless", "--detach");
    const id = detached.stdout.trim();
    const listed = await run("list", "--agent", "endless");
    assert.match(listed.stdout, new RegExp(`^endless +running .* ${id}$`, "m"));
    const ending = id.slice(-10).toLowerCase();
    const [tailed, cancelled] = await Promise.all([
      run("tail", ending),
      run("cancel", ending, "--yes", "--reason", "enough"),
    ]);
    assert.equal(cancelled.stdout, `${id} is asked to end\n`);
    assert.equal(tailed.code, 1);
    assert.match(tailed.stderr, /endless failed.*: CANCELLED enough/);
    const replayed = await run("replay", id);
    assert.equal(replayed.code, 1);
    assert.equal(replayed.stdout, tailed.stdout);
    const none = await run("tail", "zzzz");
    assert.match(none.stderr, /there is no job zzzz/);
  });

  test("what was typed wrong, or not allowed, is told with what to write", async () => {
    const [amount, dollars, broken, twice, denied] = await Promise.all([
      run("submit", "echo", "--budget", "5"),
      run("submit", "echo", "--budget", "$5"),
      run("submit", "echo", "[a]"),
      run("submit", "echo", "a", "--input", "b"),
      run("submit", "researcher"),
    ]);
    assert.deepEqual(
      [amount, dollars, broken, twice, denied].map(({ code }) => code),
      [2, 2, 2, 2, 1],
    );
    assert.match(amount.stderr, /--budget 5 names no currency; write --budget USD:5\n/);
    assert.match(dollars.stderr, /--budget \$5 is no amount; write --budget USD:1\.00\n/);
    assert.match(
      broken.stderr,
      /the input is no JSON: .*\n {2}for the text itself, write '"\[a\]"'/,
    );
    assert.match(twice.stderr, /the input is given twice/);
    assert.match(denied.stderr, /PERMISSION_DENIED .*\n {2}--lease says what it may do, such as/);
    const flagged = await run("submit", "echo", "--input", "hello", "--quiet");
    assert.equal(flagged.stdout, '{\n  "echoed": "hello"\n}\n');
  });

  test("a job goes by the beginning of its id too, as it is shown, and several are told apart", async () => {
    const [one, other] = await Promise.all([
      run("submit", "echo", "--detach"),
      run("submit", "echo", "--detach"),
    ]);
    const [id, second] = [one.stdout.trim(), other.stdout.trim()];
    const tailed = await run("tail", `${id.slice(0, -2)}…`);
    assert.match(tailed.stdout, new RegExp(`^echo ${id}\n`));
    for (const verb of ["tail", "replay"]) {
      const end = await run(verb, `…${id.slice(-8)}`, "--quiet");
      assert.equal(end.code, 0, end.stderr);
      const many = await run(verb, id.slice("job_".length, 8));
      assert.equal(many.code, 1);
      assert.match(many.stderr, /\d+ jobs go by \w+: .*\n {2}write more of the one you mean/);
      assert.match((await run(verb, "zzzz")).stderr, /no job zzzz/);
    }
    const ended = await run("cancel", second.slice(0, -2), "--yes");
    assert.equal(ended.code, 1);
    assert.equal(ended.stderr, `tipstaff: ${second} has ended already, and needs no cancelling\n`);
  });

  test("a job that nobody can take says whom it waits for, wherever it is looked at", async () => {
    const token = readFileSync(join(data, "token"), "utf8").trim();
    const endless: Handler = (_, { signal }) => once(signal, "abort");
    const offers = [{ name: "painter", handler: endless }];
    const gone = new AbortController();
    await connectWorker(url, { token, offers, jobsAtOnce: 1, signal: gone.signal });
    await run("submit", "painter", "--detach");
    const second = await run("submit", "painter", "--detach");
    const id = second.stdout.trim();
    assert.equal(second.stderr, "waits for painter; the only one is busy\n");
    const tailing = spawn(executable, ["job", "tail", id, "--data-dir", data]);
    const ended = once(tailing, "close");
    let tailed = "";
    tailing.stdout.setEncoding("utf8").on("data", (text: string) => {
      tailed += text;
    });
    await until(() => tailed.includes("waits for"), "the tail to say why it has nothing to say");
    gone.abort();
    const none = "waits for painter; none is connected";
    const isTold = async (): Promise<boolean> => (await run("list")).stdout.includes(none);
    while (!(await isTold()));
    const listed = await run("list", "--agent", "painter");
    assert.match(listed.stdout, /^2 jobs · 1 running · 1 waits$/m);
    assert.match((await tipstaff("ps", "--data-dir", data)).stdout, new RegExp(none));
    await run("cancel", id, "--yes");
    await ended;
    assert.match(tailed, /^painter job_\w+\n {2}waits for painter; /);
  });

  test("ctrl-c before the job is accepted cancels it when it is, also one that is to be left to itself", async () => {
    for (const flags of [[], ["--detach"]]) {
      await using door = await SlowDoor.before(Number(new URL(url).port));
      // A daemon that has that door, and no word on any job.
      const overview = { version: "0.1.0", counts: {}, arcpAddress: door.address };
      const api = createServer(({ url: path = "" }, response) => {
        if (!path.startsWith("/api/v1/overview")) response.statusCode = 404;
        response.end(JSON.stringify(overview));
      });
      api.listen(0, "127.0.0.1");
      await once(api, "listening");
      const address = api.address();
      const http = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
      const words = ["job", "submit", "sleeper", ...flags, "--data-dir", data, "--http", http];
      const child = spawn(executable, words);
      const ended = once(child, "close");
      let [stdout, stderr] = ["", ""];
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        stdout += text;
      });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        stderr += text;
      });
      try {
        await until(() => door.kept.includes("job.accepted"), "the job to be accepted");
        child.kill("SIGINT");
        await until(() => stderr.includes("ctrl-c again leaves it"), "ctrl-c to be heard");
        door.open();
        const [code] = await within(patienceMs, ended, "the command to end");
        assert.equal(code, 130);
      } finally {
        child.kill("SIGKILL");
        api.close();
      }
      const [, jobId = ""] =
        /\n(job_\w{26}) was accepted, and is asked to end\n$/.exec(stderr) ?? [];
      assert.match(stdout, flags.length > 0 ? /^$/ : /^sleeper job_\w+\n.*\n?✗ cancelled/s);
      const listed = await run("list", "--agent", "sleeper", "--state", "cancelled");
      assert.match(listed.stdout, new RegExp(`cancelled with ctrl-c.* ${jobId}$`, "m"));
    }
  });

  test("machines are told how a job ended that ctrl-c has cancelled", async () => {
    const child = spawn(executable, ["job", "submit", "endless", "--json", "--data-dir", data]);
    let stdout = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    const ended = once(child, "close");
    await until(() => stdout.includes("begun"), "the job to begin");
    child.kill("SIGINT");
    assert.deepEqual(await ended, [130, null]);
    const last = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "");
    assert.deepEqual([last.final_status, last.code], ["cancelled", "CANCELLED"]);
  });

  test("on a terminal ctrl-c cancels the job, and the line that showed how it stands is gone", async () => {
    const command = `${executable} job submit endless --data-dir ${data}`;
    const child = spawn("script", ["-qfec", command, "/dev/null"], {
      env: { ...process.env, TERM: "xterm", COLUMNS: "80" },
    });
    let seen = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      seen += text;
    });
    await until(() => seen.includes("begun"), "the job to begin");
    child.stdin.write("\x03");
    const [code] = await once(child, "close");
    assert.equal(code, 130);
    assert.match(seen, /cancelling; ctrl-c again leaves it/);
    const listed = await run("list", "--agent", "endless", "--state", "cancelled");
    assert.match(listed.stdout, /cancelled with ctrl-c/);
    assert.match(seen, /\r\x1b\[K\x1b\[33m✗ cancelled after [\d.]+ m?s\x1b\[0m\r?\n$/);
  });
});

test("what an agent leaves to nobody is in the daemon's log; what it throws there ends the daemon, as a fault", async () => {
  using place = scratch();
  const data = join(place.path, "data");
  const [daemon, , log] = await startWithAgents(data);
  const ended = once(daemon, "exit");
  const careless = await tipstaff("job", "submit", "careless", "--data-dir", data);
  assert.equal(careless.code, 0);
  await until(() => /a failure was left to nobody.*left behind/s.test(log()), "the failure");
  assert.equal((await tipstaff("job", "submit", "echo", "--data-dir", data)).code, 0);
  await tipstaff("job", "submit", "reckless", "--data-dir", data, "--detach");
  assert.deepEqual(await ended, [5, null]);
  assert.match(log(), /stopped; everything acknowledged before is kept.*out of reach/s);
});

test("[ARCP-37] a command that leaves an unfinished job behind leaves no session", async () => {
  using place = scratch();
  const token = "secret";
  writeFileSync(join(place.path, "token"), token);
  const somewhere = [{ host: "127.0.0.1", port: 0 }] as const;
  await using daemon = await serve({
    version: "1.0.0",
    token,
    grpc: [],
    http: somewhere,
    isHttpOptional: false,
    arcp: { places: somewhere, isOptional: false },
    isAnyHostAllowed: false,
    warn: () => {},
    onFault: (fault) => {
      throw fault;
    },
  });
  daemon.work.registerAgent("endless", (_, { signal }) => once(signal, "abort"));
  const [http] = daemon.http;
  const address = http && "port" in http ? `127.0.0.1:${http.port}` : "";
  const flags = ["--detach", "--data-dir", place.path, "--http", address];
  const { code, stdout, stderr } = await tipstaff("job", "submit", "endless", ...flags);
  assert.equal(code, 0, stderr);
  const look = () =>
    daemon.plane.read(({ sessions, jobs }) => ({
      sessionCount: sessions.byId.size,
      states: [...jobs.byId.values()].map(({ id, state }) => `${id} ${state}`),
    }));
  const endedMs = performance.now();
  while ((await look()).sessionCount > 0) {
    assert(performance.now() - endedMs < 5_000, "the session is still there after 5 s");
    await sleep(50);
  }
  assert.deepEqual((await look()).states, [`${stdout.trim()} running`]);
});

/** A daemon with the agents of these tests, what it said when it was up, and what it has logged. */
async function startWithAgents(data: string): Promise<[ChildProcess, string, () => string]> {
  const doors = ["--http=", "--grpc=127.0.0.1:0", "--arcp=127.0.0.1:0", "--status-dir="];
  const words = ["up", ...doors, "--data-dir", data, "--agents", agentsModule];
  const child = spawn(executable, words, { stdio: ["ignore", "pipe", "pipe"] });
  let [banner, logged] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    banner += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    logged += text;
  });
  await until(() => banner.includes("ctrl-c stops"), "the daemon to be up");
  return [child, banner, () => logged];
}
