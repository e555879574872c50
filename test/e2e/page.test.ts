/** The dashboard in a real browser, against a real door. The clock of the plane is moved by hand. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, type TestContext, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import {
  type AgentId,
  agentId,
  type Command,
  groupName,
  policyId,
  taskId,
} from "../../src/core/index.ts";
import { Metrics, openHttpDoor } from "../../src/doors/http/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { Plane } from "../../src/plane/index.ts";
import { ManualClock } from "../../src/testing/manual-clock.ts";
import { findBrowser, launchBrowser } from "./browser.ts";

const executable = findBrowser();
const mustRun = process.env["CI"] === "true";
const skip = executable === undefined && !mustRun && "there is no Chromium on this machine";
const metrics = new Metrics({ methods: [] });
let browser: Browser;

before(async () => {
  if (skip) return;
  assert(executable, "there is no Chromium on this machine, and CI must have one");
  browser = await launchBrowser(executable);
});

after(() => browser?.close());

test("an empty page says what to do next", { skip }, async (t) => {
  const daemon = await start(t);
  const page = await visit(t, daemon.url);
  await shows(page, "#agents", /No agents yet\. Point an AgentKeeper SDK at localhost:7070/);
  await shows(page, "#policies", /every check is answered with no/);
  await shows(page, "#version", /^9\.8\.7$/);
  await shows(page, "#connection", /^live$/);
  assert.equal(await page.locator("tbody tr").count(), 0);
});

test("an agent appears without a reload, goes silent, comes back and dies", { skip }, async (t) => {
  const daemon = await start(t);
  const page = await visit(t, daemon.url);
  const id = await daemon.register("scraper-1", { ttlMs: 1_000, tools: ["browser", "http"] });
  await shows(page, "#agents tbody tr", /alive.*scraper-1.*browser, http.*within 1 s/s);
  await shows(page, "#totals", /1\s*agents alive|agents alive\s*1/);
  await shows(page, "#events ol", /scraper-1 registered/);
  assert.equal(await page.locator("#needs").isVisible(), false);

  daemon.pass(1_600);
  await shows(page, "#agents tbody tr", /unreachable.*scraper-1/s);
  await shows(page, "#needs", /scraper-1 was last heard \d+ s ago/);
  assert.equal(await page.title(), "(1) Tipstaff");

  await daemon.run({ type: "agent.heartbeat", agentId: id });
  await shows(page, "#agents tbody tr", /alive.*scraper-1/s);
  await shows(page, "#events ol", /scraper-1 is back/);

  await daemon.run({ type: "agent.deregister", agentId: id });
  await shows(page, "#agents tbody tr", /dead.*scraper-1/s);
  await shows(page, "#totals", /0\s*agents alive|agents alive\s*0/);
  assert.equal(await page.locator("#needs").isVisible(), false);
});

test("a lease appears with its holder, token and time left, and goes when it is released", {
  skip,
}, async (t) => {
  const daemon = await start(t);
  const page = await visit(t, daemon.url);
  const id = await daemon.register("scraper-1");
  const lease = { taskId: taskId("invoice-42"), agentId: id };
  await daemon.run({ type: "lease.acquire", ...lease, ttlMs: 60_000 });
  await shows(page, "#leases tbody tr", /invoice-42.*scraper-1.*\d{16}.*\d+ s/s);
  await shows(page, "#agents tbody tr", /scraper-1.*invoice-42/s);
  const width = async () => (await page.locator("#leases .fill").boundingBox())?.width ?? 0;
  const before = await width();
  assert.ok(before > 0);
  while ((await width()) >= before) await page.waitForTimeout(50);

  daemon.pass(60_000, { heartbeats: [id] });
  await shows(page, "#leases", /Nothing is held/);
  await shows(page, "#events ol", /invoice-42 expired for scraper-1/);
});

test("elections, tasks and policies follow the log", { skip }, async (t) => {
  const daemon = await start(t);
  const page = await visit(t, daemon.url);
  const first = await daemon.register("first");
  const second = await daemon.register("second");
  for (const id of [first, second]) {
    await daemon.run({ type: "election.campaign", group: groupName("planners"), agentId: id });
  }
  await shows(page, "#elections tbody tr", /planners.*first.*1.*2/s);
  await daemon.run({ type: "election.resign", group: groupName("planners"), agentId: first });
  await shows(page, "#elections tbody tr", /planners.*second.*2.*1/s);

  const policy = { id: policyId("p"), subject: "parser-*", action: "read", resource: "*" };
  await daemon.run({ type: "policy.set", policy: { ...policy, effect: "allow" } });
  await shows(page, "#policies tbody tr", /allow.*parser-\*.*read/s);
  await daemon.run({ type: "policy.delete", policyId: policyId("p") });
  await shows(page, "#policies", /No policies/);

  const task = { taskId: taskId("t-1"), agentId: second };
  const rest = { requiredTools: [], maxRetries: 1, claimMs: 60_000 };
  await daemon.run({ type: "task.create", ...task, taskType: "ocr", input: "", ...rest });
  await shows(page, "#tasks tbody tr", /pending.*ocr.*0\/2/s);
  for (const tries of [/pending.*ocr.*too dark.*1\/2/s, /dead.*ocr.*second.*too dark.*2\/2/s]) {
    await daemon.run({ type: "task.claim", agentId: second });
    await shows(page, "#tasks tbody tr", /claimed.*ocr.*second/s);
    await daemon.run({ type: "task.fail", ...task, reason: "too dark" });
    await shows(page, "#tasks tbody tr", tries);
  }
  await shows(page, "#needs", /task ocr was given up: too dark/);
});

test("a page opened late shows the same rows as one that saw it all", { skip }, async (t) => {
  const daemon = await start(t);
  const early = await visit(t, daemon.url);
  const ids: AgentId[] = [];
  for (const name of ["a", "b", "c", "d"]) ids.push(await daemon.register(name));
  for (const [index, id] of ids.entries()) {
    await daemon.run({ type: "election.campaign", group: groupName("all"), agentId: id });
    const lease = { taskId: taskId(`t-${index}`), agentId: id, ttlMs: 600_000 };
    await daemon.run({ type: "lease.acquire", ...lease });
    const policy = { id: policyId(`p-${index}`), subject: "*", action: "*", resource: "*" };
    await daemon.run({ type: "policy.set", policy: { ...policy, effect: "deny" } });
    const rest = { requiredTools: [], maxRetries: 0, claimMs: 600_000, input: "" };
    await daemon.run({ type: "task.create", taskId: taskId(`t-${index}`), taskType: "x", ...rest });
    await daemon.run({ type: "task.claim", agentId: id });
    daemon.pass(1_000);
  }
  const policy = { id: policyId("p-1"), subject: "changed", action: "*", resource: "*" };
  await daemon.run({ type: "policy.set", policy: { ...policy, effect: "allow" } });
  const [first, second] = ids;
  assert(first && second);
  await daemon.run({ type: "task.complete", taskId: taskId("t-1"), agentId: second, output: "" });
  await daemon.run({ type: "agent.deregister", agentId: first });
  await shows(early, "#agents tbody tr", /dead.*a/s);

  const late = await visit(t, daemon.url);
  await shows(late, "#events li", /a died/);
  const rows = async (page: Page) => {
    const lines = await page.locator("tbody tr").allInnerTexts();
    return lines.map((line) => line.replaceAll(/\d+ (?:s|min)/g, "some time"));
  };
  assert.deepEqual(await rows(late), await rows(early));
  assert.equal((await rows(late)).length, 4 + 3 + 1 + 4 + 4);
});

test("hostile names stay text", { skip }, async (t) => {
  const daemon = await start(t);
  const hostile = `<img src=x onerror="document.title='owned'"><b id=owned>`;
  const early = await daemon.register(hostile, { tools: [hostile] });
  const page = await visit(t, daemon.url);
  const late = await daemon.register(`${hostile}</td><script>document.title='owned'</script>`);
  await daemon.run({
    type: "lease.acquire",
    taskId: taskId(hostile),
    agentId: early,
    ttlMs: 60_000,
  });
  await daemon.run({ type: "election.campaign", group: groupName(hostile), agentId: late });
  const policy = { id: policyId(hostile), subject: hostile, action: hostile, resource: hostile };
  await daemon.run({ type: "policy.set", policy: { ...policy, effect: "deny" } });
  const rest = { requiredTools: [], maxRetries: 0, claimMs: 60_000 };
  const id = taskId("t-1");
  await daemon.run({ type: "task.create", taskId: id, taskType: hostile, input: "", ...rest });
  await daemon.run({ type: "task.claim", agentId: early });
  await daemon.run({ type: "task.fail", taskId: id, agentId: early, reason: hostile });

  await shows(page, "#needs", /given up: <img src=x/);
  for (const section of ["#agents", "#leases", "#elections", "#policies", "#tasks", "#events ol"]) {
    await shows(page, section, /<img src=x onerror=/);
  }
  assert.equal(await page.locator("img, #owned, body script:not([type=module])").count(), 0);
  assert.doesNotMatch(await page.title(), /owned/);
});

test("the page heals after a restart, with another log in the same place", { skip }, async (t) => {
  const first = await start(t);
  const page = await visit(t, first.url);
  await first.register("from-before");
  await shows(page, "#agents tbody tr", /from-before/);

  await first.stop();
  await shows(page, "#connection", /^connection lost, retrying$/);
  await shows(page, "#agents tbody tr", /from-before/);

  const second = await start(t, { port: first.port });
  for (const name of ["new-1", "new-2", "new-3"]) await second.register(name);
  await shows(page, "#connection", /^live$/);
  await shows(page, "#agents tbody tr", /new-3/);
  assert.equal(await page.getByText("from-before").count(), 0, "nothing of the old log is left");
  await second.register("later");
  await shows(page, "#agents tbody tr", /later/);
});

test("the page goes on after a restart with the same log", { skip }, async (t) => {
  const log = new MemoryLog();
  const planeId = randomUUID();
  const first = await start(t, { log, planeId });
  const page = await visit(t, first.url);
  const id = await first.register("survivor");
  await shows(page, "#agents tbody tr", /alive.*survivor/s);
  await first.stop();
  await shows(page, "#connection", /^connection lost, retrying$/);

  const second = await start(t, { log, planeId, port: first.port });
  await second.run({ type: "agent.deregister", agentId: id });
  await shows(page, "#connection", /^live$/);
  await shows(page, "#agents tbody tr", /dead.*survivor/s);
  const events = await page.locator("#events li").allTextContents();
  const happened = events.map((line) => line.slice(8)).reverse();
  assert.deepEqual(happened, [
    "the daemon started",
    "survivor registered",
    "the daemon started",
    "survivor died",
  ]);
});

test("more than the page holds is counted, and the page stays bounded", { skip }, async (t) => {
  const daemon = await start(t);
  for (let number = 0; number < 450; number += 1) await daemon.register(`early-${number}`);
  const page = await visit(t, daemon.url);
  await shows(page, "#agents h2", /Agents\s*450/);
  for (let number = 0; number < 450; number += 1) await daemon.register(`late-${number}`);
  await shows(page, "#agents h2", /first 500 of 900/);
  await shows(page, "#totals", /900/);
  assert.equal(await page.locator("#agents tbody tr").count(), 500);
  await shows(page, "#agents tbody tr:first-child", /late-449/);
  assert.equal(await page.locator("#events li").count(), 300);
});

/** Waits until some element found by the selector has a text that matches. */
async function shows(page: Page, selector: string, text: RegExp): Promise<void> {
  await page.locator(selector).filter({ hasText: text }).first().waitFor({ timeout: 15_000 });
}

/** A page that is live. Whatever it reports as an error fails the test. */
async function visit(t: TestContext, url: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    // A connection that is refused while the daemon is away is reported by the browser itself.
    const isExpected = message.text().includes("net::ERR_");
    if (message.type() === "error" && !isExpected) errors.push(message.text());
  });
  t.after(async () => {
    await page.close();
    assert.deepEqual(errors, []);
  });
  await page.goto(url);
  await shows(page, "#connection", /^live$/);
  return page;
}

/** A plane and its door in this process. */
async function start(
  t: TestContext,
  options: { readonly port?: number; readonly log?: MemoryLog; readonly planeId?: string } = {},
) {
  const clock = new ManualClock(Date.now());
  const log = options.log ?? new MemoryLog();
  const plane = await Plane.open({ log, clock, onFault: (fault) => assert.fail(String(fault)) });
  const door = await openHttpDoor(plane, {
    places: [{ host: "127.0.0.1", port: options.port ?? 0 }],
    about: {
      version: "9.8.7",
      planeId: options.planeId ?? randomUUID(),
      startedAtMs: clock.nowMs(),
      pid: process.pid,
      isKept: false,
    },
    metrics,
    isReady: () => true,
    onFault: (fault) => assert.fail(String(fault)),
  });
  const stop = async () => {
    await door[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  };
  t.after(stop);
  const [place] = door.places;
  const port = place && "port" in place ? place.port : 0;

  const run = async (command: Command): Promise<void> => {
    const { refusal } = await plane.submit(command, { actor: "tester" }, () => undefined);
    assert.equal(refusal, undefined);
  };
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    stop,
    run,
    register: async (
      name: string,
      card: { readonly ttlMs?: number; readonly tools?: readonly string[] } = {},
    ): Promise<AgentId> => {
      const id = agentId(randomUUID().replaceAll("-", ""));
      const { ttlMs = 60_000, tools = [] } = card;
      const rest = { description: "", version: "", capabilities: [], tools, metadata: [] };
      await run({ type: "agent.register", agentId: id, card: { name, ...rest }, ttlMs });
      return id;
    },
    /** Time passes, in steps: a longer one would look as if the process had slept. */
    pass: (ms: number, { heartbeats = [] }: { readonly heartbeats?: readonly AgentId[] } = {}) => {
      for (let left = ms; left > 0; left -= 1_000) {
        clock.leap(Math.min(left, 1_000));
        plane.tick();
        for (const id of heartbeats) void run({ type: "agent.heartbeat", agentId: id });
      }
    },
  };
}
