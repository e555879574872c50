/** Agents that only files tell of, from the file to the page, the API, the log and the command line. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, suite, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { removeStatusFile, writeStatusFile } from "../../src/status-files/index.ts";
import type { Sightings } from "../../src/wire/api/index.ts";
import {
  printTimestamp,
  type StatusRecord,
  schemaVersion,
} from "../../src/wire/status-file/index.ts";
import { launchBrowser, skipWithoutBrowser } from "./browser.ts";
import { scratch, tipstaff } from "./processes.ts";

const root = join(import.meta.dirname, "../..");
const skip = skipWithoutBrowser();

suite("agents of this machine", { skip, concurrency: 3 }, () => {
  let browser: Browser;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser?.close());

  test("who waits is on the first page within seconds, and its day is in the log", async () => {
    using place = scratch();
    const directory = join(place.path, "status");
    writeStatusFile(directory, record({ state: "working", summary: "npm test" }));
    await using daemon = await Up.start(place.path, directory);
    const now = await visit(browser, await daemon.link("/"));
    const machine = await visit(browser, await daemon.link("/machine/claude-code-1"));
    await shows(now, "main", /Nothing needs you.*On this machine.*claude-code.*working npm test/s);
    await shows(machine, "tbody", /working.*claude-code.*\/src\/billing.*npm test.*hook · \d+ s/s);

    writeStatusFile(directory, record({ state: "input-required", summary: "delete 3 files?" }));
    await shows(now, ".needs", /waits for you.*claude-code.*asks: delete 3 files\?.*by its hook/s);
    await shows(machine, ".panel", /waiting.*delete 3 files\?.*hook.*says input-required/s);
    await shows(now, ".happening", /claude-code is waiting: delete 3 files\?/);
    const status: Sightings = JSON.parse(await daemon.ask("GET", "/api/v1/status"));
    const [sighting] = status.agents.filter(({ id }) => id === "claude-code-1");
    assert.equal(sighting?.state, "waiting");
    assert.deepEqual(
      sighting.known.map(({ source, word }) => [source, word]),
      [["hook", "input-required"]],
    );
    const metrics = await daemon.ask("GET", "/metrics");
    assert.match(metrics, /^tipstaff_status_files\{state="input-required"\} 1$/m);

    removeStatusFile(directory, "claude-code-1");
    await shows(now, ".needs", /Nothing needs you/);
    const { code, stdout } = await tipstaff("history", "claude-code", ...daemon.words);
    assert.equal(code, 0);
    assert.match(stdout, /working .*npm test\n.*waiting .*delete 3 files\?\n.*gone/s);
  });

  test("a page without the link is not told of what only files tell", async () => {
    using place = scratch();
    const directory = join(place.path, "status");
    writeStatusFile(directory, record({ state: "input-required", summary: "delete 3 files?" }));
    await using daemon = await Up.start(place.path, directory);
    const now = await visit(browser, daemon.url);
    await shows(
      now,
      "main",
      /Nothing needs you.*On this machine.*opened by a link: tipstaff dash/s,
    );
    const machine = await visit(browser, `${daemon.url}/machine`);
    await shows(machine, ".list", /opened by a link\. tipstaff dashboard prints one/);
    for (const page of [now, machine]) {
      assert.doesNotMatch(await page.locator("body").innerText(), /delete 3 files|claude-code-1/);
    }
  });

  test("hostile texts of a file stay text", async () => {
    using place = scratch();
    const directory = join(place.path, "status");
    const summary = '<img src=x onerror="document.title=1">\u202e\u0007';
    writeStatusFile(directory, record({ state: "input-required", summary }));
    await using daemon = await Up.start(place.path, directory);
    const page = await visit(browser, await daemon.link("/"));
    await shows(page, ".needs", /<img src=x onerror="document.title=1">/);
    assert.equal(await page.locator("main img").count(), 0);
    const { stdout } = await tipstaff("history", "claude-code", ...daemon.words);
    assert.doesNotMatch(stdout, /[\u0000-\u0009\u000b-\u001f\u202e]/);
  });
});

function record(task: StatusRecord["task"]): StatusRecord {
  const nowMs = Date.now();
  return {
    schema_version: schemaVersion,
    agent_id: "claude-code-1",
    agent_name: "claude-code",
    runtime: {
      lifecycle: "running",
      updated_at: printTimestamp(nowMs),
      last_activity_at: printTimestamp(nowMs),
      workspace: "/src/billing",
    },
    task: { ...task, status_timestamp: printTimestamp(nowMs) },
    x_meta: { claude_code: { session_id: "s" } },
  };
}

/** `tipstaff up`, watching a directory of its own. */
class Up implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #tokenFile: string;
  readonly url: string;

  static async start(home: string, directory: string): Promise<Up> {
    const words = [
      "up",
      "--memory",
      "--json",
      "--http=127.0.0.1:0",
      "--grpc=127.0.0.1:0",
      "--arcp=",
    ];
    const child = spawn(join(root, "bin/tipstaff"), [...words, `--status-dir=${directory}`], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, HOME: home, XDG_STATE_HOME: join(home, "state") },
    });
    const [line] = await once(createInterface({ input: child.stdout }), "line");
    const { http, tokenFile } = JSON.parse(line);
    return new Up(child, { url: http, tokenFile });
  }

  private constructor(
    child: ChildProcess,
    { url, tokenFile }: { readonly url: string; readonly tokenFile: string },
  ) {
    this.#child = child;
    this.url = url;
    this.#tokenFile = tokenFile;
  }

  /** By which the command line finds it and its token. */
  get words(): readonly string[] {
    const address = this.url.replace("http://", "");
    return [`--http=${address}`, `--data-dir=${dirname(this.#tokenFile)}`];
  }

  async ask(method: string, path: string): Promise<string> {
    const token = readFileSync(this.#tokenFile, "utf8").trim();
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const answer = await fetch(`${this.url}${path}`, { method, headers });
    return await answer.text();
  }

  /** An address of the page, with a key that lets one browser see all. */
  async link(path: string): Promise<string> {
    const made: { readonly path: string } = JSON.parse(await this.ask("POST", "/api/v1/links"));
    return `${this.url}${path}${made.path.replace("/", "")}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill();
    await ended;
  }
}

/** In a profile of its own. */
async function visit(browser: Browser, address: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 800 } });
  await page.goto(address);
  return page;
}

async function shows(page: Page, where: string, words: RegExp): Promise<void> {
  await page.locator(where).filter({ hasText: words }).first().waitFor({ timeout: 30_000 });
}
