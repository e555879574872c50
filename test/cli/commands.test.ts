/** The command line against a daemon: real processes, a real terminal where that matters. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { call } from "../../src/cli/daemon.ts";
import { widthOf } from "../../src/terminal/index.ts";
import type { Agent, Answer, Input, OperationName } from "../../src/wire/api/index.ts";
import { Daemon, freePort, type Output, scratch, tipstaff, until } from "../e2e/processes.ts";

const evil = "evil \x1b[31mred\x07 \u202egnp";
const executable = join(import.meta.dirname, "../../bin/tipstaff");

/** A daemon with a few things in it, and who asks it. */
type World = AsyncDisposable & {
  readonly directory: string;
  readonly dataDirectory: string;
  readonly daemon: Daemon;
  readonly ask: <Name extends OperationName>(
    name: Name,
    input: Input<Name>,
  ) => Promise<Answer<Name>>;
  readonly run: (...words: readonly string[]) => Promise<Output>;
  readonly register: (name: string, tools?: readonly string[], ttlMs?: number) => Promise<Agent>;
};

async function openWorld(): Promise<World> {
  const directory = scratch();
  const dataDirectory = join(directory.path, "data");
  const daemon = await Daemon.start({ dataDirectory });
  const ask: World["ask"] = (name, input) => call({ "data-dir": dataDirectory }, name, input);
  return {
    directory: directory.path,
    dataDirectory,
    daemon,
    ask,
    run: (...words) => tipstaff(...words, "--data-dir", dataDirectory),
    register: (name, tools = [], ttlMs = 600_000) =>
      ask("registerAgent", { card: { name, tools, description: `${name} does it` }, ttlMs }),
    [Symbol.asyncDispose]: async () => {
      await daemon[Symbol.asyncDispose]();
      directory[Symbol.dispose]();
    },
  };
}

describe("lists and things", { concurrency: 2 }, () => {
  let world: World;
  let scraper: Agent;
  let parser: Agent;
  before(async () => {
    world = await openWorld();
    scraper = await world.register("scraper", ["browser"]);
    parser = await world.register("parser", ["pdf"]);
    await world.register("twin");
    await world.register("twin");
    await world.register(evil);
    await world.ask("heartbeat", {
      agentId: scraper.id,
      activity: { state: "waiting", note: "asks: delete 3 files?" },
    });
    await world.ask("acquireLease", { taskId: "invoice-42", agentId: scraper.id, ttlMs: 590_000 });
    await world.ask("campaign", { group: "indexers", agentId: scraper.id });
    await world.ask("campaign", { group: "indexers", agentId: parser.id });
    const allowed = { subject: "agent:scraper", action: "call", resource: "tool:*" };
    await world.ask("setPolicy", { policyId: "p1", ...allowed, effect: "allow" });
  });
  after(() => world[Symbol.asyncDispose]());

  test("a noun alone lists what matters first, with a line of counts, and without colours in a pipe", async () => {
    const { code, stdout, stderr } = await world.run("agents");
    assert.equal(code, 0, stderr);
    const [titles = "", first = ""] = stdout.split("\n");
    assert.match(titles, /^STATE +FOR +AGENT +ID/);
    assert.match(first, /^waiting +\d+ s +scraper +[0-9a-f]{8} +asks: delete 3 files\?/);
    assert.match(stdout, /\n\n5 agents · 1 waits for you\n$/);
    assert.doesNotMatch(stdout, /\x1b/);
  });

  test("what an agent says of itself cannot steer the terminal", async () => {
    for (const words of [["agents"], ["events"], ["agents", "get", evil], ["find", "gnp"]]) {
      const { stdout, stderr } = await world.run(...words);
      assert.match(stdout, /evil \\x1b\[31mred\\x07 \\u202egnp/, stderr);
      assert.doesNotMatch(stdout.replaceAll("\n", ""), /[\p{Cc}\p{Bidi_Control}]/u);
    }
  });

  test("--json is the API's own rows, with the total", async () => {
    for (const [noun, count] of [
      ["agents", 5],
      ["leases", 1],
      ["elections", 1],
      ["policies", 1],
      ["tasks", 0],
    ] as const) {
      const { stdout } = await world.run(noun, "--json");
      const { rows, total, sequence, nowMs } = JSON.parse(stdout);
      assert.deepEqual([rows.length, total], [count, count], noun);
      assert(sequence > 0 && nowMs > 0);
      assert.equal(stdout.split("\n").length, 2, "one line");
    }
    const { rows } = JSON.parse((await world.run("agents", "--json", "--limit", "2")).stdout);
    assert.equal(rows.length, 2);
    assert.match((await world.run("agents", "--limit", "2")).stdout, /2 of 5 agents · --limit/);
  });

  test("an agent goes by its id, the beginning of its id, or its name", async () => {
    for (const word of [scraper.id, scraper.id.slice(0, 12), "scraper"]) {
      const { code, stdout } = await world.run("agents", "get", word);
      assert.equal(code, 0, word);
      assert.match(stdout, new RegExp(`^scraper\n\n.*${scraper.id}`, "m"));
      assert.match(stdout, /holds +invoice-42 · 9 min left/);
      assert.match(stdout, /leads +indexers/);
    }
    const { stdout } = await world.run("agents", "get", "scraper", "--json");
    assert.equal(JSON.parse(stdout).leases[0].taskId, "invoice-42");
  });

  test("where nothing matches it is said of how many; of none, how to have one", async () => {
    const words = [
      ["--query", "acme"],
      ["--tool", "none"],
      ["--liveness", "dead"],
    ] as const;
    for (const filter of words) {
      const { code, stdout } = await world.run("agents", ...filter);
      assert.deepEqual([code, stdout], [0, "none of 5 agents match\n"]);
    }
    assert.match(
      (await world.run("tasks", "--type", "x")).stdout,
      /^no tasks; tipstaff tasks create/,
    );
  });

  test("a name that two agents have is told with both ids, and nothing is done", async () => {
    const { code, stdout, stderr } = await world.run("agents", "deregister", "twin", "--yes");
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.match(stderr, /twin is 2 agents; give the id of one\n( {2}[0-9a-f]{32} {2}twin.*\n){2}/);
    const { code: none, stderr: why } = await world.run("agents", "get", "nobody");
    assert.equal(none, 1);
    assert.match(why, /there is no agent nobody/);
  });

  test("what can be asked for is answered: leases, elections, policies, find", async () => {
    const lease = await world.run("leases", "get", "invoice-42");
    assert.match(lease.stdout, new RegExp(`holder +scraper \\(${scraper.id}\\)`));
    assert.match((await world.run("leases", "--agent", "scraper")).stdout, /1 lease\n$/);
    const none = await world.run("leases", "--agent", "parser");
    assert.equal(none.stdout, "the only lease does not match\n");
    const group = await world.run("elections", "get", "indexers");
    assert.match(group.stdout, /leader +scraper/);
    const may = ["policies", "check", "agent:scraper", "call", "tool:browser"];
    const yes = await world.run(...may, "--explain");
    assert.equal(yes.code, 0);
    assert.match(yes.stdout, /^yes: .*p1/);
    const no = await world.run("policies", "check", "agent:parser", "call", "tool:x");
    assert.equal(no.code, 1);
    assert.match(no.stdout, /^no: /);
    const who = await world.run("policies", "who", "call", "tool:x");
    assert.match(who.stdout, /5 agents · 1 may/);
    const found = await world.run("find", "who", "can", "use", "a", "browser", "--tool", "browser");
    assert.match(found.stdout, /scraper/);
    assert.equal((await world.run("find", "x", "--tool", "none")).code, 1);
  });

  test("who is found is told in words how well, and in JSON in numbers", async () => {
    const { stdout } = await world.run("find", "scraper");
    assert.match(stdout, /^MATCH +AGENT.*\nstrong +scraper/);
    assert.match(stdout, /\n\n5 agents · ranked by the built-in table\n$/);
    const nonsense = await world.run("find", "xyzzy", "--limit", "2");
    assert.match(nonsense.stdout, /^MATCH.*\nweak .*\nweak .*\n\n2 of 5; --limit shows more · /);
    assert.doesNotMatch(nonsense.stdout, /\d\.\d\d/);
    const one = await world.run("find", "--tool", "pdf", "--limit", "1");
    assert.match(one.stdout, /^AGENT.*\nparser .*\n\n1 agent · /);
    const { hits } = JSON.parse((await world.run("find", "scraper", "--json")).stdout);
    assert.equal(typeof hits[0].score, "number");
  });

  test("what is not there is answered with 1 and why", async () => {
    for (const [words, said] of [
      [["leases", "get", "nothing"], /nothing/],
      [["elections", "get", "nothing"], /nothing/],
      [["policies", "get", "nothing"], /nothing/],
      [["tasks", "get", "nothing"], /there is no task nothing\n {2}tipstaff tasks lists them\n/],
    ] as const) {
      const { code, stdout, stderr } = await world.run(...words);
      assert.equal(code, 1, words.join(" "));
      assert.match(stderr, said);
      assert.equal(stdout, "");
    }
  });

  test("what is typed wrong is answered with 2, and nothing is asked", async () => {
    for (const [words, said] of [
      [["agents", "--liveness", "sick"], /--liveness is alive or unreachable or dead, not sick/],
      [["agents", "--limit", "many"], /--limit is a whole number/],
      [["agents", "--limit", "0"], /--limit is 1 or more/],
      [
        ["tasks", "create", "x", "--delay", "soon"],
        /--delay is a number of seconds, or a duration/,
      ],
      [["tasks", "create", "x", "--input", "@/nowhere/at/all"], /cannot be read/],
      [["policies", "set", "p"], /--subject is needed/],
      [["policies", "apply"], /-f is needed/],
      [["completions", "tcsh"], /bash, zsh or fish/],
      [["agents", "--http", "nowhere"], /nowhere is no address/],
    ] as const) {
      const { code, stdout, stderr } = await tipstaff(...words);
      assert.equal(code, 2, words.join(" "));
      assert.match(stderr, said);
      assert.equal(stdout, "");
    }
  });

  test("status says how much needs a person, if anything does", async () => {
    const { total } = await world.ask("getAttention", {});
    assert(total > 0);
    const { stdout } = await world.run("status");
    assert.match(stdout, new RegExp(`^ *needs you +${total} things?$`, "m"));
    assert.match(stdout, /find +by the built-in table/);
    await using calm = await openWorld();
    assert.doesNotMatch((await calm.run("status")).stdout, /needs you/);
  });

  test("who types stop is told how the daemon is stopped", async () => {
    const { code, stdout, stderr } = await world.run("stop");
    const { pid } = await world.ask("getOverview", {});
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(
      stderr,
      new RegExp(`ctrl-c in the daemon's terminal stops it, or kill ${pid}\\n$`),
    );
    const nobody = await tipstaff("stop", "--data-dir", join(world.directory, "nothing"));
    assert.equal(nobody.code, 2);
    assert.match(nobody.stderr, /ctrl-c .* kill <pid>\n {2}no daemon answers here\n$/);
    assert.doesNotMatch((await tipstaff("--help")).stdout, /^ +stop /m);
  });

  const hasScript = spawnSync("script", ["--version"]).status === 0;

  /** What a terminal of this width gets to see. */
  async function onTerminal(columns: number, command: string, env = {}): Promise<string> {
    const line = `stty cols ${columns} rows 30; ${executable} ${command} --data-dir ${world.dataDirectory}`;
    const child = spawn("script", ["-qec", line, "/dev/null"], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, TERM: "xterm-256color", NO_COLOR: "", ...env },
    });
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk;
    });
    await once(child, "close");
    return text.replaceAll("\r\n", "\n");
  }

  test("on a terminal no line is wider than it, whatever its width", {
    skip: !hasScript,
  }, async () => {
    for (const columns of [30, 47, 80, 100]) {
      const text = (await onTerminal(columns, "agents")).replaceAll(/\x1b\[\d+m/g, "");
      const lines = text.trimEnd().split("\n");
      assert.equal(lines.length, 8, text);
      for (const line of lines) assert(widthOf(line) <= columns, `${columns}: ${line}`);
      assert.match(text, /waiting/);
    }
  });

  test("colours are there on a terminal, and not with NO_COLOR or TERM=dumb", {
    skip: !hasScript,
  }, async () => {
    assert.match(await onTerminal(80, "agents"), /\x1b\[33mwaiting\x1b\[0m/);
    assert.doesNotMatch(await onTerminal(80, "agents", { NO_COLOR: "1" }), /\x1b/);
    assert.doesNotMatch(await onTerminal(80, "agents", { TERM: "dumb" }), /\x1b/);
  });

  test("a person is asked before anything is taken away, and no is no", {
    skip: !hasScript,
  }, async () => {
    const answers = async (answer: string): Promise<string> => {
      const line = `${executable} leases release invoice-42 --data-dir ${world.dataDirectory}`;
      const child = spawn("script", ["-qec", line, "/dev/null"], {
        stdio: ["pipe", "pipe", "inherit"],
      });
      let text = "";
      child.stdout.on("data", (chunk: Buffer) => {
        text += chunk;
        if (text.endsWith("[y/N] ")) child.stdin.write(`${answer}\n`);
      });
      await once(child, "close");
      return text;
    };
    const text = await answers("n");
    assert.match(text, /Take invoice-42 from scraper \([0-9a-f]{8}\), .*\? \[y\/N\]/);
    assert.match(text, /nothing was changed/);
    assert.equal((await world.ask("getLease", { taskId: "invoice-42" })).holder, scraper.id);
  });

  test("a reader that went away is no error", async () => {
    const line = `"${executable}" agents --data-dir "${world.dataDirectory}" | true; echo "\${PIPESTATUS[0]}"`;
    const child = spawn("bash", ["-c", line], { stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk: Buffer) => {
      stdout += chunk;
    });
    child.stderr.on("data", (chunk: Buffer) => {
      stderr += chunk;
    });
    await once(child, "close");
    assert.deepEqual([stdout, stderr], ["0\n", ""]);
  });
});

describe("changing things", { concurrency: 2 }, () => {
  test("what takes something away needs --yes where nobody can be asked", async () => {
    await using world = await openWorld();
    const { id } = await world.register("scraper");
    await world.ask("acquireLease", { taskId: "invoice-42", agentId: id });
    await world.ask("campaign", { group: "g", agentId: id });
    const policy = { subject: "a", action: "b", resource: "c", effect: "allow" } as const;
    await world.ask("setPolicy", { policyId: "p1", ...policy });
    const task = await world.ask("createTask", { type: "t" });
    const empty = join(world.directory, "none.json");
    writeFileSync(empty, "[]");
    const verbs = [
      [["leases", "release", "invoice-42"], /invoice-42 is free/],
      [["elections", "resign", "g"], /g is led by nobody now/],
      [["policies", "apply", "-f", empty, "--prune"], /1 pruned/],
      [["tasks", "cancel", task.id.slice(0, 10)], /is cancelled/],
      [["agents", "deregister", "scraper"], /scraper has left/],
    ] as const;
    for (const [words] of verbs) {
      const { code, stderr } = await world.run(...words);
      assert.equal(code, 2, words.join(" "));
      assert.match(stderr, /add --yes if that is meant/);
    }
    const { leases, elections, policies } = (await world.ask("getOverview", {})).counts;
    assert.deepEqual([leases, elections, policies], [1, 1, 1]);
    for (const [words, said] of verbs) {
      const { code, stdout, stderr } = await world.run(...words, "--yes");
      assert.equal(code, 0, stderr);
      assert.match(stdout, said);
    }
    const { counts } = await world.ask("getOverview", {});
    assert.deepEqual(
      [counts.leases, counts.policies, counts.agents.alive, counts.tasks.cancelled],
      [0, 0, 0, 1],
    );
    const here = await world.run("agents");
    assert.match(here.stdout, /^no agents; .*\n1 deregistered agent hidden; --all shows it\n$/);
    const all = await world.run("agents", "--all");
    assert.match(all.stdout, /^left .*scraper.*\n\n1 agent · 1 left\n$/m);
    assert.match((await world.run("status")).stdout, /agents +0 alive\n/);
    const { stdout } = await world.run("tasks", "requeue", task.id);
    assert.match(stdout, /is pending again/);
  });

  test("a policy is set, shown and deleted", async () => {
    await using world = await openWorld();
    const set = ["policies", "set", "p1", "--subject", "agent:*", "--action", "call"];
    const { stdout } = await world.run(...set, "--resource", "tool:rm", "--effect", "deny");
    assert.equal(stdout, "p1: agent:* may not call tool:rm\n");
    assert.match((await world.run("policies", "get", "p1")).stdout, /effect +deny/);
    assert.equal((await world.run("policies", "rm", "p1", "-y")).code, 0);
    assert.equal((await world.run("policies", "rm", "p1", "-y")).code, 1);
  });

  test("a task is created from text, a file or standard input, byte for byte", async () => {
    await using world = await openWorld();
    const bytes = Buffer.from([0, 255, 27, 91, 50, 74, 10]);
    const file = join(world.directory, "input");
    writeFileSync(file, bytes);
    const flags = ["--tool", "pdf", "--tool", "ocr", "--priority", "-5", "--retries", "2"];
    const created = await world.run("tasks", "create", "invoice", "--input", `@${file}`, ...flags);
    assert.equal(created.code, 0, created.stderr);
    const id = created.stdout.trim();
    const task = await world.ask("getTask", { taskId: id });
    assert.equal(task.input, bytes.toString("base64"));
    assert.deepEqual(
      [task.type, task.requiredTools, task.priority, task.maxRetries],
      ["invoice", ["pdf", "ocr"], -5, 2],
    );
    const command = [...["tasks", "get", id.slice(0, 12)], "--only", "input"];
    const written = spawnSync(executable, [...command, "--data-dir", world.dataDirectory]);
    assert.deepEqual(written.stdout, bytes);
    const piped = spawnSync(
      executable,
      ["tasks", "create", "t", "--input", "-", "--delay", "5m", "--data-dir", world.dataDirectory],
      { input: "piped" },
    );
    const delayed = await world.ask("getTask", { taskId: String(piped.stdout).trim() });
    assert.deepEqual([atob(delayed.input), delayed.state], ["piped", "delayed"]);
    const once = await world.run("tasks", "create", "t", "--key", "k1");
    assert.equal((await world.run("tasks", "create", "t", "--key", "k1")).stdout, once.stdout);
  });

  test("policies are made as they stand in files; applied again, nothing changes", async () => {
    await using world = await openWorld();
    const file = join(world.directory, "policies.json");
    const put = (policies: readonly unknown[]): void =>
      writeFileSync(file, JSON.stringify(policies));
    const policy = (id: string, effect: string): unknown => ({
      ...{ id, subject: "agent:*", action: "call", resource: `tool:${id}`, effect },
    });
    const sequence = async (): Promise<number> => (await world.ask("getOverview", {})).sequence;
    const apply = ["policies", "apply", "-f", file];

    put([policy("a", "allow"), policy("b", "deny")]);
    const before = await sequence();
    const dry = await world.run(...apply, "--dry-run");
    assert.match(dry.stdout, /^\+ a: agent:\* may call tool:a\n\+ b: .* may not .*\n\n2 added · /);
    assert.equal(await sequence(), before);
    assert.match((await world.run(...apply)).stdout, /2 added · 0 changed · 0 pruned · 0 as/);

    const between = await sequence();
    const again = await world.run(...apply, "--prune");
    assert.equal(again.code, 0);
    assert.equal(again.stdout, "0 added · 0 changed · 0 pruned · 2 as they were\n");
    assert.equal(await sequence(), between);

    put([policy("a", "deny"), policy("c", "allow")]);
    const { stdout } = await world.run(...apply, "--prune", "--yes");
    assert.match(
      stdout,
      /^\+ c: .*\n~ a: agent:\* may not call tool:a\n {4}was a: .*may call.*\n- b: /,
    );
    const { rows } = await world.ask("listPolicies", {});
    assert.deepEqual(
      rows.map(({ id, effect }) => [id, effect]),
      [
        ["a", "deny"],
        ["c", "allow"],
      ],
    );

    const found = await world.run("policies", "--subject-prefix", "agent:");
    assert.match(found.stdout, /2 policies/);
    const none = await world.run("policies", "--subject-prefix", "user:");
    assert.match(none.stdout + none.stderr, /no policy has a subject with this prefix/);

    put([policy("d", "allow"), policy("d", "deny")]);
    const bad = await world.run(...apply);
    assert.equal(bad.code, 1);
    assert.match(bad.stderr, /nothing was changed.*\n.*policies\.json\[1\]: id d stands in/);
    assert.equal((await world.ask("listPolicies", {})).total, 2);
  });

  test("without the right token nothing is changed, and it is said where one is looked for", async () => {
    await using world = await openWorld();
    const token = join(world.dataDirectory, "token");
    const own = readFileSync(token, "utf8").trim();
    writeFileSync(token, "not-it\n");
    const create = ["tasks", "create", "t", "--data-dir", world.dataDirectory];
    const { code, stderr } = await tipstaff(...create);
    assert.equal(code, 1);
    assert.match(stderr, /TIPSTAFF_TOKEN \(not set\) and .*token \(not this daemon's\)/);
    assert.equal((await tipstaff("tasks", "--data-dir", world.dataDirectory)).code, 0);
    const env = { ...process.env, TIPSTAFF_TOKEN: own };
    assert.equal(spawnSync(executable, create, { env }).status, 0);
  });
});

describe("where it asks", { concurrency: 2 }, () => {
  test("by address, by TIPSTAFF_URL, and not where another program listens", async () => {
    using directory = scratch();
    const http = `127.0.0.1:${await freePort()}`;
    const dataDirectory = join(directory.path, "data");
    await using _ = await Daemon.start({ dataDirectory, flags: [`--metrics-addr=${http}`] });
    assert.equal((await tipstaff("agents", "--http", http)).code, 0);
    for (const url of [http, `http://${http}`, `http://${http}/`]) {
      const env = { ...process.env, TIPSTAFF_URL: url };
      assert.equal(spawnSync(executable, ["agents"], { env }).status, 0, url);
    }
    const link = await tipstaff("dashboard", "--http", http, "--data-dir", dataDirectory);
    assert.match(link.stdout, new RegExp(`^http://localhost:${http.split(":")[1]}/#key=\\S+\n$`));
    const page = await fetch(link.stdout.trim());
    assert.equal(page.status, 200);

    await using other = await openForeign();
    for (const words of [["status"], ["agents"], ["leases", "get", "x"]]) {
      const { code, stderr } = await tipstaff(...words, "--http", `127.0.0.1:${other.port}`);
      assert.equal(code, 3, stderr);
      assert.match(stderr, /another program/);
    }
  });

  test("where nobody listens it ends with 3, and says where it looked and how to start one", async () => {
    using directory = scratch();
    for (const words of [["agents"], ["events", "--follow"], ["tasks", "create", "x"]]) {
      const { code, stdout, stderr } = await tipstaff(...words, "--data-dir", directory.path);
      assert.equal(code, 3);
      assert.equal(stdout, "");
      assert.match(stderr, /no daemon answers \(.*tipstaff\.sock: there is no socket\)\n/);
      assert.match(stderr, /start one with tipstaff up/);
    }
  });
});

describe("doctor", () => {
  test("says what it checked, and what to do about a token that others can read", async () => {
    await using world = await openWorld();
    const well = await world.run("doctor");
    assert.equal(well.code, 0, well.stdout);
    for (const name of ["node", "daemon", "gRPC", "HTTP", "directory", "token", "socket", "disk"]) {
      assert.match(well.stdout, new RegExp(`^ok +${name} `, "m"));
    }
    for (const name of ["clock", "retention", "log"]) {
      assert.match(well.stdout, new RegExp(`^ok +${name} `, "m"));
    }
    chmodSync(join(world.dataDirectory, "token"), 0o644);
    const { code, stdout } = await world.run("doctor", "--json");
    assert.equal(code, 1);
    const { isWell, checks } = JSON.parse(stdout);
    assert.equal(isWell, false);
    const [failed, ...others] = checks.filter(({ state }: { state: string }) => state !== "ok");
    assert.deepEqual(others, []);
    assert.match(failed.text, /token is open to other users \(644\)/);
    assert.match(failed.advice, /^chmod 600 .*token$/);
  });
});

async function openForeign(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((_, response) => response.end("<html>hello</html>"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(typeof address === "object" && address);
  return {
    port: address.port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await until(() => !server.listening, "the other program to end");
    },
  };
}
