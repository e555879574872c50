/** The dashboard as it ships, in a real browser, over a daemon in a process of its own. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, suite, type TestContext, test } from "node:test";
import type { Browser, ConsoleMessage, Page, Request, Route } from "playwright-core";
import { build } from "vite";
import type { Handler } from "../../src/runtime/index.ts";
import { type Answer, type Input, type OperationName, request } from "../../src/wire/api/index.ts";
import { type JobEntry, linesOf, moneyOf, wordsOfCost } from "../../web/src/words/job.ts";
import { duration, timeLeft } from "../../web/src/words/time.ts";
import { launchBrowser, skipWithoutBrowser } from "./browser.ts";
import { fillAgents } from "./fill.ts";
import { Daemon, freePort, scratch } from "./processes.ts";
import { Workshop } from "./workshop.ts";

const root = join(import.meta.dirname, "../..");
const skip = skipWithoutBrowser();
const patienceMs = 30_000;
/** Nobody beats or renews, and on a busy machine a test takes a while. */
const ttlMs = 3_600_000;
let browser: Browser;

test("ages count what is over, times left what is to come, and neither goes backwards", () => {
  const ages = [51_900, 71_000, 119_999, 120_000, 7_199_000, 7_200_000, 172_800_000];
  assert.deepEqual(ages.map(duration), ["51 s", "71 s", "119 s", "2 min", "119 min", "2 h", "2 d"]);
  const left = [0, 100, 119_001, 599_000, 7_141_000, 172_000_000];
  assert.deepEqual(left.map(timeLeft), ["0 s", "1 s", "2 min", "10 min", "2 h", "2 d"]);
});

test("money is said as people say it, and exactly as far as they read", () => {
  const said = [
    ["1234.5", "USD"],
    ["0.0042", "USD"],
    ["-0.25", "EUR"],
    ["12.50", "credits"],
  ] as const;
  assert.deepEqual(
    said.map(([amount, currency]) => moneyOf(amount, currency)),
    ["$1\u202f234.50", "$0.0042", "−€0.25", "12.5 credits"],
  );
});

test("a cost says what it is of, what is set aside, and what others spent for the job", () => {
  const dollars = { currency: "USD", total: "0.26", own: "0.01", children: "0.25" };
  const delegated = ", including $0.25 of delegated jobs";
  assert.deepEqual(wordsOfCost({ ...dollars, cap: "1.00", reserved: "0.50" }), {
    spent: "$0.26",
    bound: "$1.00",
    aside: ", $0.50 set aside",
    parts: delegated,
  });
  const free = { spent: "$0.26", bound: "", aside: "", parts: "" };
  assert.deepEqual(wordsOfCost(dollars), { ...free, parts: delegated });
  const all = wordsOfCost({ ...dollars, own: "0", children: "0.26" });
  assert.deepEqual(all, { ...free, parts: ", all of it by delegated jobs" });
  assert.deepEqual(wordsOfCost({ ...dollars, own: "0.26", children: "0" }), free);
  assert.deepEqual(wordsOfCost({ currency: "USD", total: "0.26" }), free);
});

test("what belongs together in a job is one line, and pieces of a result are counted in bytes", () => {
  const said = (sequence: number, kind: string, body: object): JobEntry => {
    const rest = { busSequence: 0, topic: "", atMs: sequence, actor: "", id: "job" };
    return { ...rest, sequence, type: "job.emitted", kind, body } as const;
  };
  const lines = linesOf(
    [
      said(1, "progress", { current: 1, total: 3 }),
      said(2, "progress", { current: 2, total: 3 }),
      said(3, "tool_call", { tool: "search", call_id: "a", args: { q: 1 } }),
      said(4, "tool_call", { tool: "fetch", call_id: "b", args: {} }),
      said(5, "tool_result", { call_id: "b", error: { code: "TIMEOUT", message: "no route" } }),
      said(6, "tool_result", { call_id: "a", result: [1] }),
      said(7, "result_chunk", { data: "b2s=", encoding: "base64", more: true }),
      said(8, "result_chunk", { data: "é…", encoding: "utf8", more: false }),
      said(9, "tool_result", { call_id: "of long ago", result: null }),
      said(10, "log", { message: 7, level: {} }),
      said(11, "x-vendor.acme.note", { a: 1 }),
    ].reverse(),
  );
  const words = lines.toReversed().map((line): unknown => {
    switch (line.kind) {
      case "progress":
        return [line.progress.current, line.times];
      case "tool":
        return [line.tool, line.result?.value, line.result?.error?.message];
      case "chunks":
        return [line.count, line.bytes, line.isOver, line.end];
      default:
        return line.kind;
    }
  });
  assert.deepEqual(words, [
    [2, 2],
    ["search", [1], undefined],
    ["fetch", null, "no route"],
    [2, 7, true, "é…"],
    ["of long ago", null, undefined],
    "log",
    "other",
  ]);
});

test("what a job made, wrote, asked and could not do is told in words", () => {
  const entries = [
    [
      "artifact",
      { name: "report", uri: "file:///r.pdf", mime_type: "application/pdf", size_bytes: 9 },
    ],
    ["error", { message: "no route", code: "ENETUNREACH" }],
    ["text_delta", { text: "Once " }],
    ["text_delta", { text: "upon" }],
    ["question", { question_id: "q_1", prompt: "Pay?" }],
    ["status", { phase: "input_required", message: "Pay?" }],
    ["question_closed", { question_id: "q_1", outcome: "answered", by: "ada" }],
    ["scope_request", { request_id: "q_2", reason: "to compare" }],
    ["question_closed", { question_id: "q_2", outcome: "timed_out" }],
  ] as const;
  const at = { busSequence: 0, topic: "", actor: "", id: "job", type: "job.emitted" } as const;
  const lines = linesOf(
    entries.map(([kind, body], sequence) => ({ ...at, sequence, atMs: 0, kind, body })).reverse(),
  );
  const told = lines.toReversed().map(({ key: _, atMs: __, ...line }) => line);
  assert.deepEqual(told, [
    { kind: "artifact", name: "report", uri: "file:///r.pdf", type: "application/pdf", bytes: 9 },
    { kind: "problem", text: "no route", code: "ENETUNREACH" },
    { kind: "writing", text: "Once upon" },
    { kind: "question", word: "asks", text: "Pay?" },
    { kind: "question", word: "answered by", text: "ada" },
    { kind: "question", word: "asks for access", text: "to compare" },
    { kind: "question", word: "no answer", text: "timed out" },
  ]);
});

// Most of the time is spent waiting for what the page asks for once a second.
suite("the dashboard", { skip, concurrency: 3 }, () => {
  before(async () => {
    if (isStale()) await build({ configFile: join(root, "web/vite.config.ts") });
    browser = await launchBrowser();
  });

  after(() => browser?.close());

  test("an empty plane says what to do next, in every view", async (t) => {
    const daemon = await start(t);
    const page = await visit(t, daemon.url);
    await shows(page, "main", /Nothing needs you\./);
    await shows(page, "main", /No agents yet.*first-steps\/main\.ts.*one-holder\/main\.py/s);
    await shows(
      page,
      ".start",
      new RegExp(`TIPSTAFF_URL=${daemon.url} .*GRPC_PORT=\\d+ python3`, "s"),
    );
    await shows(page, ".totals", /0 agents registered/);
    for (const [path, words] of [
      ["/agents", /No agents yet/],
      ["/coordination", /Nothing is held/],
      ["/coordination/elections", /No groups yet/],
      ["/coordination/policies", /every check is answered with no/],
      ["/tasks", /No tasks/],
      ["/work", /takes a page that was opened by a link/],
      ["/log", /the daemon started/],
      ["/pace", /The daemon/],
    ] as const) {
      await page.goto(daemon.url + path);
      await shows(page, "main", words);
    }
  });

  test("agents appear, wait for a person and die, without a reload", async (t) => {
    const daemon = await start(t);
    const page = await visit(t, daemon.url);
    const agents = await visit(t, `${daemon.url}/agents`);
    const id = await daemon.register("scraper-1", { tools: ["browser", "http"] });
    await shows(page, ".at-work", /scraper-1/);
    await shows(page, ".happening li", /scraper-1 registered/);
    await shows(page, ".totals", /1 agent registered/);
    await shows(agents, "tbody tr", /scraper-1.*browser.*http.*registry · \d+ s ago/s);

    const activity = { state: "waiting", note: "delete 3 files?" } as const;
    await daemon.call("heartbeat", { agentId: id, activity });
    await shows(
      page,
      ".needs",
      /Needs you 1.*waits for you.*scraper-1.*delete 3 files\?.*\d+ s since/s,
    );
    await shows(agents, "tbody tr", /waiting delete 3 files\?/);
    for (const dot of [page.locator(".at-work .dot"), agents.locator("tbody .dot")]) {
      await until(async () => (await dot.getAttribute("data-tone")) === "red");
    }
    await until(async () => (await agents.title()) === "(1) Tipstaff");

    await daemon.call("heartbeat", { agentId: id, activity: { state: "reading", note: "page 7" } });
    await shows(page, ".needs", /Nothing needs you\./);
    await shows(page, ".at-work", /scraper-1.*reading page 7/s);

    await daemon.call("deregisterAgent", { agentId: id });
    await shows(page, ".happening li", /scraper-1 left/);
    await shows(page, ".totals", /0 agents registered/);
    await shows(page, ".at-work", /No agent is here now/);
    await shows(agents, "main", /No agents now\./);
    await agents.goto(`${daemon.url}/agents?state=left`);
    await shows(agents, "tbody tr", /scraper-1.*left/s);
  });

  test("what needs a person is all shown, or a button says how much more there is", async (t) => {
    const daemon = await start(t);
    const page = await visit(t, daemon.url);
    await page.setViewportSize({ width: 390, height: 700 });
    const wait = async (name: string): Promise<void> => {
      const agentId = await daemon.register(name);
      await daemon.call("heartbeat", { agentId, activity: { state: "waiting", note: "go on?" } });
    };
    for (let index = 1; index <= 6; index += 1) await wait(`agent-${index}`);
    await shows(page, ".needs h2", /6/);
    assert.equal(await page.locator(".need").count(), 6);
    assert.equal(await page.locator(".needs-more").count(), 0);
    await wait("agent-7");
    await shows(page, ".needs-more", /^2 more$/);
    assert.equal(await page.locator(".need").count(), 5);
    await page.locator(".needs-more").click();
    await until(async () => (await page.locator(".need").count()) === 7);
    const hidden = await page
      .locator(".needs ul")
      .evaluate((list) => list.scrollHeight - list.clientHeight);
    assert.equal(hidden, 0, "the rows scroll with the page alone");
  });

  test("under the pointer items that are over stay, hide no open item, and do not pile up", async (t) => {
    const daemon = await start(t);
    const page = await visit(t, daemon.url);
    const ids = new Map<string, string>();
    const wait = async (name: string): Promise<void> => {
      const agentId = await daemon.register(name);
      ids.set(name, agentId);
      await daemon.call("heartbeat", { agentId, activity: { state: "waiting", note: "go on?" } });
    };
    const goOn = async (names: readonly string[]): Promise<void> => {
      for (const name of names) {
        const agentId = ids.get(name) ?? "";
        await daemon.call("heartbeat", { agentId, activity: { state: "thinking" } });
      }
    };
    const rows = page.locator(".need");
    const namesOf = (isOver: boolean): Promise<string[]> =>
      page.locator(`.need[data-over="${isOver}"] .name`).allInnerTexts();
    for (let index = 1; index <= 13; index += 1) await wait(`agent-${index}`);
    await shows(page, ".needs-more", /^8 more$/);

    await rows.first().hover();
    const first = await namesOf(false);
    await goOn(first);
    await shows(page, ".needs h2", /Needs you 8/);
    assert.deepEqual(await namesOf(true), first, "rows under the pointer stay");
    assert.equal((await namesOf(false)).length, 5);
    await shows(page, ".needs-more", /^3 more$/);

    // The same with all rows shown: above the row that is pointed at all stay, and below it a few.
    await page.mouse.move(5, 5);
    for (let index = 14; index <= 19; index += 1) await wait(`agent-${index}`);
    await shows(page, ".needs-more", /^9 more$/);
    await page.locator(".needs-more").click();
    await page.mouse.move(5, 5);
    await until(async () => (await rows.count()) === 14);
    const names = await namesOf(false);
    await rows.nth(3).hover();
    const place = await rows.nth(3).boundingBox();
    await goOn(names.filter((_, index) => index !== 3));
    await shows(page, ".needs h2", /Needs you 1/);
    await until(async () => (await namesOf(false)).length === 1);
    assert.deepEqual(await namesOf(false), [names[3]]);
    assert.deepEqual(await rows.nth(3).boundingBox(), place);
    assert.equal((await namesOf(true)).length, 3 + 5);
  });

  test("on a phone only the page scrolls, and what it leaves out is a link away", async (t) => {
    const daemon = await start(t);
    const id = await daemon.register("agent-0");
    for (let index = 1; index <= 20; index += 1) {
      await daemon.register(`agent-${index}`);
      await daemon.call("acquireLease", { taskId: `invoice-${index}`, agentId: id, ttlMs });
      await daemon.call("campaign", { group: `group-${index}`, agentId: id });
    }
    const page = await visit(t, daemon.url);
    await page.setViewportSize({ width: 390, height: 700 });
    await shows(page, ".held .rest", /^12 more held$/);
    await shows(page, ".leaders .rest", /^12 more with a leader$/);
    await shows(page, ".at-work .rest", /^13 more here$/);
    assert.equal(await page.locator(".held tbody tr:visible").count(), 8);
    for (const part of [".needs", ".held .card-scroll", ".at-work .card-scroll", ".happening ol"]) {
      const hidden = await page
        .locator(part)
        .evaluate((element) => element.scrollHeight - element.clientHeight);
      assert.ok(hidden <= 1, `${part} scrolls for itself`);
    }
    const nav = page.locator("header nav");
    const cut = await nav.evaluate((element) => element.scrollWidth - element.clientWidth);
    assert.equal(cut, 0, "every view can be seen and reached");

    // Reading further down, nothing moves; back at the top, what came meanwhile is there.
    await page.locator(".happening li").nth(15).scrollIntoViewIfNeeded();
    await shows(page, ".happening li", /agent-20 registered|group-20/);
    const before = await page.locator(".happening li").first().innerText();
    await daemon.register("late");
    await shows(page, ".happening h2", /1 new/);
    assert.match(await page.locator(".happening li").first().innerText(), wordsOf(before));
    await page.locator("main").evaluate((element) => element.scrollTo({ top: 0 }));
    await shows(page, ".happening li:first-child", /late registered/);
  });

  test("what needs a person is snoozed or dismissed, and other rows stay in place", async (t) => {
    const daemon = await start(t);
    const page = await visit(t, daemon.link);
    for (const name of ["first", "second"]) {
      const agentId = await daemon.register(name);
      await daemon.call("heartbeat", { agentId, activity: { state: "waiting", note: "go on?" } });
    }
    const press = async (name: string, button: string): Promise<void> => {
      const row = page.locator(".need", { hasText: name });
      await row.getByRole("button", { name: button }).click();
    };
    await press("first", "Snooze");
    await shows(page, ".notice", /first is snoozed for an hour/);
    await shows(page, '.need[data-over="true"]', /first.*over/s);
    assert.equal(await page.locator(".need").count(), 2);
    await press("second", "Dismiss");
    await shows(page, ".notice", /second is dismissed/);
    await page.mouse.move(5, 5);
    await page.locator(".brand").focus();
    await shows(page, ".needs", /Nothing needs you/);
    const { items } = await daemon.call("getAttention", { dismissed: true });
    assert.deepEqual(
      items.map(({ name, dismissed }) => [name, dismissed?.untilMs !== undefined]),
      [
        ["first", true],
        ["second", false],
      ],
    );
  });

  test("a click on a choice answers the question where it stands", async (t) => {
    const daemon = await start(t);
    const page = await visit(t, daemon.link);
    const agentId = await daemon.register("payer");
    const choices = ["pay now", "<b>never</b>"];
    const asked = { agentId, prompt: "Pay 3 EUR?", choices };
    const first = await daemon.call("askQuestion", asked);
    const second = await daemon.call("askQuestion", { ...asked, prompt: "Pay 7 EUR?" });
    await shows(page, ".need", /asks you.*payer.*Pay 3 EUR\?/s);
    const row = page.locator(".need", { hasText: "Pay 3 EUR?" });
    assert.deepEqual(await row.locator(".answer button").allInnerTexts(), choices);
    await row.getByRole("button", { name: "pay now" }).click();
    await shows(page, ".need .ended", /answered by dashboard: pay now, \d+ s ago/);
    await shows(page, ".happening li", /payer asks: Pay 3 EUR\?/);
    await shows(page, ".happening li", /payer was answered by dashboard/);
    const { state, answer, answeredBy } = await daemon.call("getQuestion", {
      questionId: first.id,
    });
    assert.deepEqual([state, answer, answeredBy], ["answered", "pay now", "dashboard"]);
    await shows(page, ".needs h2", /Needs you 1/);
    assert.equal(await page.locator(".need").count(), 2, "rows stay while the pointer is on them");
    await page.mouse.move(5, 5);
    await until(async () => (await page.locator(".need").count()) === 1);

    // Somebody else is faster, first before the page hears of it and then while the page shows it.
    const answerFirst = async (route: Route): Promise<void> => {
      const answered = { questionId: second.id, answer: "pay now", by: "ada" };
      await daemon.call("answerQuestion", answered);
      await route.continue();
    };
    await page.route("**/answer", answerFirst, { times: 1 });
    await page.getByRole("button", { name: "<b>never</b>" }).click();
    await shows(page, ".need .ended", /answered by ada: pay now, \d+ s ago/);
    await page.mouse.move(5, 5);
    await shows(page, ".needs", /Nothing needs you/);

    const third = await daemon.call("askQuestion", { agentId, prompt: "Which invoice?" });
    const text = page.getByLabel("Answer", { exact: true });
    await text.fill("number 4");
    await daemon.call("answerQuestion", { questionId: third.id, answer: "5", by: "ada" });
    await shows(page, ".need .ended", /answered by ada: 5, \d+ s ago/);
    await page.locator(".brand").focus();
    await shows(page, ".needs", /Nothing needs you/);
  });

  test("a form is made of the question's schema, and checked before it is sent", async (t) => {
    const daemon = await start(t);
    const page = await visit(t, daemon.link);
    const agentId = await daemon.register("planner");
    const schema = {
      type: "object",
      properties: {
        title: { type: "string", maxLength: 20, description: "as it is printed" },
        copies: { type: "integer", minimum: 1, maximum: 5 },
        urgent: { type: "boolean" },
        paper: { enum: ["A3", "A4", "A5", "letter", "legal", "tabloid"] },
        colours: { type: "array", items: { enum: ["cyan", "magenta", "black"] } },
        limits: { type: "object", title: "Page limits" },
      },
      required: ["title", "copies", "urgent"],
    };
    const { id: questionId } = await daemon.call("askQuestion", {
      agentId,
      prompt: "How should the plan be printed?",
      schema,
    });
    const form = page.getByRole("form", { name: "Answer planner" });
    await form.getByLabel("title").fill("spring");
    await form.getByLabel("copies").fill("many");
    await form.getByLabel("Yes").check();
    await form.getByLabel("paper").selectOption("letter");
    await form.getByLabel("cyan").check();
    await form.getByLabel("black").check();
    await form.getByLabel("Page limits").fill("{");
    const send = form.getByRole("button", { name: "Answer" });
    await send.click();
    await shows(page, ".answer [role=alert]", /^Copies must be a number\.$/);
    await form.getByLabel("copies").fill("9");
    await send.click();
    await shows(page, ".answer [role=alert]", /^Page limits must be JSON such as/);
    await form.getByLabel("Page limits").fill('{"to":3}');
    await send.click();
    await shows(page, ".answer [role=alert]", /^Copies: must be at most 5\.$/);
    assert.equal((await daemon.call("getQuestion", { questionId })).state, "open");
    await form.getByLabel("copies").fill("2");
    await form.getByLabel("title").press("Enter");
    await shows(page, ".need .ended", /answered by dashboard/);
    const { answer } = await daemon.call("getQuestion", { questionId });
    assert.deepEqual(answer, {
      title: "spring",
      copies: 2,
      urgent: true,
      paper: "letter",
      colours: ["cyan", "black"],
      limits: { to: 3 },
    });
  });

  test("an open question puts a dot on the icon, and notifies those who switched it on", async (t) => {
    const daemon = await start(t);
    const page = await visit(t, daemon.link);
    await page.addInitScript(recordNotifications);
    await page.goto(daemon.url);
    const agentId = await daemon.register("payer");
    const ask = (prompt: string) => daemon.call("askQuestion", { agentId, prompt });
    const hasDot = async (): Promise<boolean> => {
      const address = await page.locator("link[rel=icon]").getAttribute("href");
      return /icon-dot/.test(address ?? "");
    };
    const told = (): Promise<unknown> => page.evaluate("window.told");
    await ask("Pay 3 EUR?");
    await until(hasDot);
    await page.getByRole("button", { name: "notifications for questions: off" }).click();
    const on = page.getByRole("button", { name: "notifications for questions: on" });
    await on.waitFor();
    await ask("Pay 7 EUR?");
    await shows(page, ".need", /Pay 7 EUR\?/);
    await until(async () => JSON.stringify(await told()) === '[["payer","asks: Pay 7 EUR?"]]');

    await page.reload();
    await on.waitFor();
    await shows(page, ".need", /Pay 7 EUR\?/);
    assert.deepEqual(await told(), [], "what was open before is no news");
    assert.equal(await hasDot(), true);
    const icon = await page.locator("link[rel=icon]").getAttribute("href");
    assert.equal((await fetch(daemon.url + icon)).status, 200);

    await on.click();
    await ask("Pay 9 EUR?");
    await shows(page, ".need", /Pay 9 EUR\?/);
    assert.deepEqual(await told(), []);
    await daemon.call("deregisterAgent", { agentId });
    await until(async () => !(await hasDot()));
  });

  test("a row of the tasks says what it needs and when it is ready", async (t) => {
    const daemon = await start(t);
    await daemon.call("createTask", { type: "ocr", requiredTools: ["scanner"], delayMs: 600_000 });
    const page = await visit(t, `${daemon.url}/tasks`);
    await shows(page, "tbody tr", /ocr\s*[\w-]{8}.*delayed, in (10|9) min.*scanner/s);
  });

  test("the first view says who holds what, since when and for how long", async (t) => {
    const daemon = await start(t);
    const page = await visit(t, daemon.url);
    const id = await daemon.register("scraper-1");
    const lease = { taskId: "invoice-42", agentId: id, ttlMs: 119_000 };
    const { token } = await daemon.call("acquireLease", lease);
    const row = ".held tbody tr";
    await shows(page, row, /invoice-42.*scraper-1.*\d+ s since \d\d:\d\d.*\d+ s left/s);
    await shows(page, ".happening li", new RegExp(`scraper-1 acquired invoice-42, token ${token}`));
    const width = async (): Promise<number> =>
      (await page.locator(`${row} .fill`).boundingBox())?.width ?? 0;
    const wide = await width();
    assert.ok(wide > 0);
    await until(async () => (await width()) < wide);

    await daemon.call("campaign", { group: "planners", agentId: id });
    await shows(page, ".leaders tbody tr", /planners.*scraper-1/s);
    await page.locator(`${row} a`).first().click();
    await shows(page, ".panel", /invoice-42.*held by.*scraper-1.*Who held it.*acquired/s);
    await page.waitForURL(/\/coordination\?lease=invoice-42$/);
    await daemon.call("releaseLease", { taskId: "invoice-42", agentId: id, token });
    await shows(page, ".panel", /Nobody holds it/);
    await page.goBack();
    await shows(page, ".held", /Nothing is held/);
  });

  test("without the link the page only reads", async (t) => {
    const daemon = await start(t);
    const id = await daemon.register("scraper-1");
    await daemon.call("acquireLease", { taskId: "invoice-42", agentId: id, ttlMs });
    const page = await visit(t, `${daemon.url}/agents/${id}`);
    await shows(page, ".panel", /read only; tipstaff dashboard prints a link that lets you act/);
    assert.equal(await page.locator(".actions button").count(), 0);
    const mark = page.locator("header").getByText("read only");
    assert.match((await mark.getAttribute("title")) ?? "", /tipstaff dashboard prints a link/);
    await page.goto(`${daemon.url}/coordination?lease=invoice-42`);
    await shows(page, ".panel", /read only/);
    await page.goto(`${daemon.url}/coordination/policies`);
    await shows(page, "main", /Who may do this/);
    assert.equal(await page.getByText("Add a policy").count(), 0);
    const status = await page.evaluate(
      async (path) => (await fetch(path, { method: "DELETE" })).status,
      `/api/v1/agents/${id}`,
    );
    assert.equal(status, 401, "the daemon would not have let it either");
    await daemon.call("askQuestion", { agentId: id, prompt: "Pay 3 EUR?" });
    await page.goto(daemon.url);
    const hint = /1 question is hidden: open the link that tipstaff dashboard prints/;
    await shows(page, ".needs", hint);
    assert.equal(await page.getByText("Pay 3 EUR?").count(), 0);
    await page.goto(`${daemon.link.replace("/#", "/agents#")}`);
    await shows(page, ".agents tr", /scraper-1\s+waiting\s+asks: Pay 3 EUR\?/);
  });

  test("the link lets the page act; each action asks first and says what follows", async (t) => {
    const daemon = await start(t);
    const page = await visit(t, daemon.link);
    assert.equal(page.url(), `${daemon.url}/`, "the key is gone from the address");
    assert.equal(await page.locator("header").getByText("read only").count(), 0);
    const one = await daemon.register("one");
    const two = await daemon.register("two");
    await daemon.call("acquireLease", { taskId: "invoice-42", agentId: one, ttlMs });
    for (const agentId of [one, two]) await daemon.call("campaign", { group: "planners", agentId });
    const dead = await daemon.call("createTask", { type: "ocr", maxRetries: 0 });
    await daemon.call("claimTask", { agentId: one });
    await daemon.call("failTask", { taskId: dead.id, agentId: one, reason: "too dark" });

    await page.goto(`${daemon.url}/coordination?lease=invoice-42`);
    await act(page, "Release invoice-42", /one loses it at once/);
    await shows(page, ".panel", /Nobody holds it/);

    await page.goto(`${daemon.url}/coordination/elections?group=planners`);
    await act(page, "Resign one", /two leads then/);
    await shows(page, ".panel", /led by\s*two/);
    await shows(page, ".panel", /2\s*two.*1\s*one\s*for \d+ s/s);

    await page.goto(`${daemon.url}/tasks/${dead.id}`);
    await shows(page, ".panel", /dead.*too dark.*tried\s*1 of 1/s);
    await shows(page, "tbody tr", /ocr.*dead.*too dark\s*1 of 1/s);
    for (const place of [".panel", "tbody"]) {
      assert.equal(await page.locator(`${place} .dot`).first().getAttribute("data-tone"), "red");
    }
    await act(page, "Requeue ocr", /goes back to the queue/);
    await act(page, "Cancel ocr", /no agent will get it/);
    await shows(page, ".panel", /cancelled/);

    await page.goto(`${daemon.url}/agents/${two}`);
    await act(page, "Deregister two", /it leaves 1 group/);
    await shows(page, ".panel .standing", /left/);
    const { rows } = await daemon.call("listAgents", { liveness: ["alive"] });
    assert.deepEqual(
      rows.map(({ card }) => card.name),
      ["one"],
    );

    const late = await visit(t, daemon.link);
    await shows(late, ".notice", /The link could not be used/);
    const looked = page.waitForResponse(
      (response) => /\/session$/.test(response.url()) && response.request().method() === "GET",
    );
    await page.goto(daemon.link);
    assert.equal((await (await looked).json()).mayWrite, true);
    assert.equal(await page.locator(".notice").textContent(), "", "it has a session");
  });

  test("policies are added, explained and deleted", async (t) => {
    const daemon = await start(t);
    await daemon.register("parser-1");
    await daemon.register("scraper-1");
    const page = await visit(t, daemon.link);
    await page.goto(`${daemon.url}/coordination/policies`);
    await page.getByRole("button", { name: "Add a policy" }).click();
    const form = page.locator("dialog");
    await form.getByLabel("Name").fill("parsers");
    await form.getByLabel("Subject").fill("agent:parser-*");
    await form.getByLabel("Action").fill("read");
    await form.getByLabel("Resource").fill("invoices/*");
    await shows(page, "dialog", /From then on, agent:parser-\* may read invoices\/\*/);
    await form.getByRole("button", { name: "Add parsers" }).click();
    await shows(page, "tbody tr", /parsers.*allow.*agent:parser-\*.*read.*invoices/s);

    const tester = page.locator(".tester");
    await tester.getByLabel("Action").fill("read");
    await tester.getByLabel("Resource").fill("invoices/42");
    await shows(page, ".verdict", /1 of 2 agents may/);
    await tester.getByLabel("Subject").fill("agent:parser-1");
    await shows(page, ".verdict", /Yes.*parsers.*decides/s);
    const rule = { subject: "*", action: "*", resource: "invoices/42", effect: "deny" } as const;
    await daemon.call("setPolicy", { policyId: "frozen", ...rule });
    await shows(page, ".verdict", /No.*frozen.*decides/s);
    // The question can be shared.
    await page.waitForURL(/subject=agent%3Aparser-1/);

    await page.goto(`${daemon.url}/coordination/policies?policy=frozen`);
    await act(page, "Delete frozen", /What only it denies/);
    await until(async () => (await daemon.call("listPolicies", {})).total === 1);
  });

  test("a refused action is told in words, where it was asked", async (t) => {
    const daemon = await start(t);
    const id = await daemon.register("scraper-1");
    const { id: taskId } = await daemon.call("createTask", { type: "ocr" });
    const page = await visit(t, daemon.link);
    await page.goto(`${daemon.url}/tasks/${taskId}`);
    await page.getByRole("button", { name: "Cancel ocr" }).click();
    const { task } = await daemon.call("claimTask", { agentId: id });
    assert.equal(task?.id, taskId);
    await daemon.call("completeTask", { taskId, agentId: id });
    await page.locator("dialog").getByRole("button", { name: "Cancel ocr" }).click();
    await shows(page, "dialog [role=alert]", /ended|completed/);
    await page.keyboard.press("Escape");
    await shows(page, ".panel", /completed/);
  });

  test("a job is watched while it runs: words, calls, progress, cost and result", async (t) => {
    const workshop = await openWorkshop(t);
    const go = Promise.withResolvers<void>();
    const on = Promise.withResolvers<void>();
    workshop.agent("writer", async (_, job) => {
      await job.log("info", "reads the brief");
      await job.progress(1, { total: 4, units: "pages" });
      await job.artifact({ name: "outline", uri: "file:///outline.md", sizeBytes: 40 });
      await job.error("the printer is offline", "no_printer");
      await job.textDelta("Once ");
      await job.textDelta("upon");
      await go.promise;
      await job.callTool({ tool: "search", args: { query: "tariffs" } }, () => ({ hits: 9 }));
      await job
        .callTool({ tool: "publish" }, () => Promise.reject(new Error("the press is closed")))
        .catch(() => undefined);
      await job.metric({ name: "cost.inference", value: 0.9, unit: "USD" });
      await job.progress(3, { total: 4, units: "pages" });
      await on.promise;
      const result = job.streamResult();
      await result.write("Once upon a ");
      await result.write("time.");
    });
    const page = await visit(t, workshop.link);
    await page.addInitScript(countListeners);
    await page.goto(`${workshop.url}/work`);
    await shows(page, ".empty", /No jobs yet.*tipstaff job submit/s);
    const lease = { "tool.call": ["*"], "cost.budget": ["USD:1.00"] };
    const id = await workshop.ask("writer", { input: { topic: "post" }, lease });
    await shows(
      page,
      "tbody tr",
      /writer.*running.*reads the brief.*1 of 4 pages.*\$0\.00 of \$1\.00/s,
    );
    // Also where a tip lies above the link.
    await page.locator("tbody code").click();
    await page.waitForURL(`${workshop.url}/work/${id}`);
    await shows(page, ".panel", /writer.*running.*1 of 4 pages.*\$0\.00 of \$1\.00/s);
    await shows(page, ".lines li", /reads the brief/);
    await shows(page, ".lines li", /made outline file:\/\/\/outline\.md.*40 B/s);
    await shows(page, '.lines li[data-tone="red"]', /the printer is offline no_printer/);
    await shows(page, ".lines li", /writes Once upon/);
    await page.evaluate("window.wasHere = true");
    const listening = await page.evaluate("window.listening");

    go.resolve();
    await shows(page, ".lines li", /search query: tariffs.*\{"hits":9\}/s);
    await shows(page, '.lines li[data-tone="red"]', /publish.*the press is closed/s);
    await shows(page, ".lines li", /3 of 4 pages/);
    await shows(page, ".panel .budget", /\$0\.90 of \$1\.00/);
    await shows(page, "tbody tr", /\$0\.90/);
    assert.equal(
      await page.locator(".lines details.tool").count(),
      2,
      "a call and its result are one",
    );
    await page.locator(".lines .tool").first().locator("summary").click();
    await shows(page, ".lines .tool[open]", /failed.*the press is closed/s);
    await page.getByRole("button", { name: "figures" }).click();
    await page.waitForURL(/kind=figures/);
    await until(async () => (await page.locator(".lines .tool").count()) === 0);

    on.resolve();
    await shows(page, ".panel .standing", /done/);
    const stillListening = await page.evaluate("window.listening");
    assert.equal(stillListening, listening, "drawing the panel again leaves nothing behind");
    await page.locator(".panel .tabs").getByText("Result").click();
    await shows(page, ".panel .content", /^Once upon a time\.$/);
    // What is open has an address.
    await page.waitForURL(/part=result/);
    await page.locator(".panel .tabs").getByText("Input").click();
    await shows(page, ".panel .content", /"topic": "post"/);
    assert.equal(
      await page.locator(".actions button").count(),
      0,
      "what has ended cannot be cancelled",
    );
    assert.equal(await page.evaluate("window.wasHere"), true, "no reload");
  });

  test("questions of a job are answered in Needs you and in its panel, and it goes on with them", async (t) => {
    const workshop = await openWorkshop(t);
    workshop.agent("payer", async (_, job) => {
      const when = await job.ask("Pay 3 EUR?", { choices: ["now", "later"] });
      const schema = { type: "integer", minimum: 1 };
      const parts = await job.ask("In how many parts?", { schema });
      return { when, parts };
    });
    const page = await visit(t, workshop.link);
    const id = await workshop.ask("payer");
    await shows(page, ".need", /asks you.*payer.*Pay 3 EUR\?/s);
    await shows(page, ".totals", /jobs run\s*1 asks you/);
    await page.locator(".need").getByRole("button", { name: "later" }).click();
    await shows(page, ".need .ended", /answered by dashboard: later/);

    await page.goto(`${workshop.url}/work/${id}`);
    await shows(page, ".panel", /payer.*asks you.*In how many parts\?/s);
    await shows(page, ".tabs", /Jobs\s*1/);
    const panel = page.locator(".panel");
    await panel.getByLabel("Answer", { exact: true }).fill("0");
    await panel.getByRole("button", { name: "Answer" }).click();
    await shows(page, ".panel [role=alert]", /1/);
    await panel.getByLabel("Answer", { exact: true }).fill("4");
    await panel.getByRole("button", { name: "Answer" }).click();
    await shows(page, ".panel .standing", /done/);
    await page.locator(".panel .tabs").getByText("Result").click();
    await shows(page, ".panel .content", /"when": "later",\s+"parts": 4/);
  });

  test("a job that wants more access is granted it or denied on the page", async (t) => {
    const workshop = await openWorkshop(t);
    workshop.agent(
      "reader",
      async (path, job) => {
        const read = [String(path)];
        const granted = await job.requestScope({ reason: "to compare", read, ttlSeconds: 600 });
        return granted.read;
      },
      { mayRequestScope: true },
    );
    const page = await visit(t, workshop.link);
    const [granted, denied] = [
      await workshop.ask("reader", { input: "docs/**" }),
      await workshop.ask("reader", { input: "keys/**" }),
    ];
    const row = (path: string) => page.locator(".need", { hasText: path });
    await shows(
      page,
      ".need",
      /asks you.*reader.*to compare.*read docs\/\*\*, read only, for 10 min/s,
    );
    await row("docs/**").getByRole("button", { name: "Grant" }).click();
    await row("keys/**").getByRole("button", { name: "Deny" }).click();
    await page.goto(`${workshop.url}/work/${granted}?part=result`);
    await shows(page, ".panel .standing", /done/);
    await shows(page, ".panel .content", /docs\/\*\*/);
    await page.goto(`${workshop.url}/work/${denied}`);
    await shows(page, ".panel .job-failure", /PERMISSION_DENIED.*a person denied the scope/s);
  });

  test("a job is cancelled from the page, and what it delegated with it", async (t) => {
    const workshop = await openWorkshop(t);
    const untilStopped = (signal: AbortSignal): Promise<never> =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    workshop.agent("helper", (_, { signal }) => untilStopped(signal));
    workshop.agent("boss", async (_, job) => {
      await job.delegate({ agent: "helper", delegateId: "h" });
      await untilStopped(job.signal);
    });
    const id = await workshop.ask("boss", { lease: { "agent.delegate": ["*"] } });
    const page = await visit(t, workshop.link);
    await page.goto(`${workshop.url}/work/${id}`);
    await shows(page, ".tree", /boss.*helper/s);
    await shows(page, ".lines li", /delegates helper/);
    await page.locator(".actions").getByRole("button", { name: "Cancel boss" }).click();
    await shows(page, "dialog", /asked to end, and has 30 s.*What it delegated/);
    await page.getByLabel("Why").fill("the plan has changed");
    await page.locator("dialog").getByRole("button", { name: "Cancel boss" }).click();
    await shows(page, ".panel .standing", /cancelled/);
    await shows(page, ".panel .job-failure", /the plan has changed/);
    await page.locator(".tree").getByText("helper").click();
    await shows(page, ".panel h2", /helper/);
    await shows(page, ".panel .standing", /cancelled/);
    await page.keyboard.press("Escape");
    await page.waitForURL(`${workshop.url}/work`);
    await shows(page, ".choices", /running\s*0.*cancelled\s*2/s);
  });

  test("a job that nobody works on says why, and one without a budget what it costs", async (t) => {
    const workshop = await openWorkshop(t);
    const spend: Handler = async (_, job) => {
      await job.metric({ name: "cost.paint", value: 0.5, unit: "USD" });
      await once(job.signal, "abort");
    };
    const painter = workshop.agent("painter", spend, { jobsAtOnce: 1 });
    const first = await workshop.ask("painter");
    const second = await workshop.ask("painter");
    const page = await visit(t, workshop.link);
    await page.goto(`${workshop.url}/work`);
    await shows(page, "tbody tr", /painter.*running.*\$0\.50/s);
    await shows(page, "tbody tr", /painter.*waits.*the only one is busy/s);
    painter[Symbol.dispose]();
    await page.goto(`${workshop.url}/work/${second}`);
    await shows(page, ".panel", /waits for painter; none is connected/);
    await page.goto(`${workshop.url}/work/${first}`);
    await shows(page, ".panel .budget", /\$0\.50 spent, without a budget/);
  });

  test("of a job that says much, 2,000 events are held, and the rest is a button away", async (t) => {
    const workshop = await openWorkshop(t);
    const on = Promise.withResolvers<void>();
    workshop.agent("talker", async (_, job) => {
      const said = Array.from({ length: 2_400 }, (_, at) => job.log("info", `word ${at + 1}`));
      await Promise.all(said);
      await on.promise;
      await job.log("info", "the last word");
    });
    const id = await workshop.ask("talker");
    const page = await visit(t, workshop.link);
    await page.goto(`${workshop.url}/work/${id}`);
    // The runtime may have a word about how fast it talks, so lines are not counted to the last.
    await shows(page, ".lines li", /word 2400/);
    const lines = page.locator(".lines li");
    assert.equal(await lines.count(), 200);
    const before = /\/events\?.*before=/;
    const error = { code: "job_not_found", message: "that is too long ago" };
    await page.route(before, (route) => route.fulfill({ status: 404, json: { error } }));
    await page.getByRole("button", { name: "older" }).click();
    await shows(page, ".job-events .empty", /too long ago/);
    await page.unroute(before);
    // Both clicks are there before the first is answered, and are one wish.
    await page.evaluate(
      "const older = document.querySelector('.job-events > button.more'); older.click(); older.click()",
    );
    for (let asked = 400; asked <= 2_000; asked += 200) {
      await until(async () => (await lines.count()) === asked);
      if (asked < 2_000) await page.getByRole("button", { name: "older" }).click();
    }
    await page.getByRole("button", { name: "older" }).click();
    await shows(page, ".lines li:last-child", /word 20\d$/);
    assert.equal(await lines.count(), 2_000);
    await shows(page, ".lines li:first-child", /word 220\d$/);
    on.resolve();
    await page.getByRole("button", { name: "2 new" }).click();
    await shows(page, ".lines li:first-child", /is done/);
    await shows(page, ".lines li", /the last word/);
    assert.equal(await lines.count(), 200, "back at the newest, without a gap");
  });

  test("the page heals when the daemon is killed and started again", async (t) => {
    const directory = scratchFor(t);
    const port = await freePort();
    const first = await start(t, { directory, port });
    const page = await visit(t, first.link);
    const agents = await visit(t, `${first.url}/agents`);
    await first.register("survivor");
    await shows(page, ".at-work", /survivor/);
    await page.evaluate("window.wasHere = true");
    await first.end();
    await shows(page, ".connection", /reconnecting…/);
    await shows(page, ".at-work", /survivor/);

    const second = await start(t, { directory, port });
    await shows(page, ".connection", /live/);
    await second.register("later");
    await shows(page, ".at-work", /later/);
    await shows(page, ".happening li", /the daemon started/);
    await shows(agents, "tbody tr", /later/);
    const events = await page.locator(".happening li .sentence").allTextContents();
    assert.deepEqual(events, [
      "later registered",
      "the daemon started",
      "survivor registered",
      "the daemon started",
    ]);
    assert.equal(await page.evaluate("window.wasHere"), true, "no reload");
    await page.goto(`${second.url}/coordination/policies`);
    await shows(page, ".toolbar", /Add a policy/);
  });

  test("another log in the same place replaces all that was shown", async (t) => {
    const port = await freePort();
    const first = await start(t, { port });
    const page = await visit(t, first.url);
    await first.register("from-before");
    await shows(page, ".at-work", /from-before/);
    await first.end();
    const second = await start(t, { port });
    for (const name of ["new-1", "new-2", "new-3"]) await second.register(name);
    await shows(page, ".connection", /live/);
    await shows(page, ".at-work", /new-3/);
    await until(async () => (await page.getByText("from-before").count()) === 0);
  });

  test("10,000 agents can be scrolled and searched, and few of them are held", async (t) => {
    const directory = scratchFor(t);
    await fillAgents(directory, 10_000);
    const daemon = await start(t, { directory });
    const page = await visit(t, `${daemon.url}/agents?sort=name`);
    await shows(page, ".found", /10.000 in all/);
    const table = page.locator("table.rows");
    assert.equal(await table.getAttribute("aria-rowcount"), "10001");
    const scroller = page.locator(".scroller");
    const height = await scroller.evaluate((element) => element.scrollHeight);
    for (let step = 0; step <= 20; step += 1) {
      await scroller.evaluate((element, top) => element.scrollTo({ top }), (height * step) / 20);
      const wanted = Math.min(9_980, Math.round((10_000 * step) / 20));
      const name = new RegExp(`worker-${String(wanted + 5).padStart(5, "0")}`);
      await shows(page, "tbody tr", name);
      assert.ok(Number(await table.getAttribute("data-held")) <= 2_000);
      assert.ok((await page.locator("tbody tr").count()) < 100, "what is not in view is not drawn");
    }
    await page.keyboard.press("/");
    await page.keyboard.type("worker-0424 even");
    await shows(page, ".found", /^5 found/);
    await shows(page, "tbody tr", /worker-04248/);
    await page.waitForURL(/query=worker-0424\+even/);
    await page.reload();
    await shows(page, ".found", /^5 found/);
  });

  test("everything can be reached by keys", async (t) => {
    const daemon = await start(t);
    for (const name of ["a-1", "a-2", "a-3"]) await daemon.register(name);
    const id = await daemon.register("holder");
    await daemon.call("acquireLease", { taskId: "invoice-42", agentId: id, ttlMs });
    const page = await visit(t, daemon.url);
    for (const [key, path] of [
      ["c", "/coordination"],
      ["t", "/tasks"],
      ["w", "/work"],
      ["l", "/log"],
      ["p", "/pace"],
      ["n", "/"],
      ["a", "/agents"],
    ] as const) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await page.waitForURL(daemon.url + path);
    }
    await shows(page, "tbody tr", /a-3/);
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await page.keyboard.press("j");
    const focused = await page.evaluate("document.activeElement.textContent");
    await page.keyboard.press("Enter");
    await shows(page, ".panel h2", new RegExp(`^${focused}$`));
    await page.keyboard.press("Escape");
    await page.waitForURL(`${daemon.url}/agents`);

    await page.keyboard.press("Control+k");
    await page.keyboard.type("invoice");
    await shows(page, ".palette [role=option]", /invoice-42.*held by holder/s);
    await page.keyboard.press("Enter");
    await page.waitForURL(`${daemon.url}/coordination?lease=invoice-42`);

    await page.keyboard.press("?");
    await shows(page, "dialog", /Keys/);
    await page.keyboard.press("Escape");
    await until(async () => (await page.locator("dialog").count()) === 0);
  });

  test("the log is filtered, read back to its beginning and entered anywhere", async (t) => {
    const daemon = await start(t);
    const made = Array.from({ length: 260 }, (_, index) => daemon.register(`agent-${index}`));
    await Promise.all(made);
    const page = await visit(t, `${daemon.url}/log`);
    await shows(page, ".log-rows li", /registered/);
    assert.equal(await page.locator(".log-rows li").count(), 100);
    // Both clicks are there before the first is answered, and are one wish.
    await page.evaluate(
      "const older = document.querySelector('.log-rows ~ .end button'); older.click(); older.click()",
    );
    await until(async () => (await page.locator(".log-rows li").count()) === 200);
    await page.getByRole("button", { name: "Load older" }).click();
    await shows(page, ".end", /This is where the log begins/);
    assert.equal(await page.locator(".log-rows li").count(), 261);

    // Scrolled away from the top, what is new waits.
    await page.locator(".scroller").evaluate((element) => element.scrollTo({ top: 400 }));
    await daemon.register("late-1");
    await shows(page, ".floating", /^1 new$/);
    assert.equal(await page.getByText("late-1").count(), 0);
    await page.locator(".floating").click();
    await shows(page, ".log-rows li", /late-1 registered/);

    await page.keyboard.press("/");
    await page.keyboard.type("agent-25");
    await until(async () => (await page.locator(".log-rows li").count()) === 11);
    await page.goto(`${daemon.url}/log?at=100`);
    await shows(page, ".log-rows li:first-child", /^100/);
    await page.goto(`${daemon.url}/log/1`);
    await shows(page, ".panel", /"type": "plane.opened"/);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.locator(".panel").getByRole("button", { name: "copy as JSON" }).click();
    await shows(page, ".notice", /Copied/);
    const copied = await page.evaluate("navigator.clipboard.readText()");
    assert.equal(JSON.parse(String(copied)).sequence, 1);
  });

  test("rows do not move under the pointer", async (t) => {
    const daemon = await start(t);
    await daemon.register("first");
    const page = await visit(t, `${daemon.url}/agents?sort=newest`);
    await shows(page, "tbody tr", /first/);
    await page.locator("tbody tr").first().hover();
    await daemon.register("second");
    await shows(page, ".found", /changed; move the pointer away/);
    assert.deepEqual(await namesIn(page), ["first"]);
    await page.mouse.move(5, 5);
    await until(async () => (await namesIn(page)).join() === "second,first");
  });

  test("it is dark where the system is, and where one says so", async (t) => {
    const daemon = await start(t);
    const page = await visit(t, daemon.url);
    const ground = (): Promise<unknown> =>
      page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
    await page.emulateMedia({ colorScheme: "light" });
    const light = await ground();
    await page.emulateMedia({ colorScheme: "dark" });
    const dark = await ground();
    assert.notEqual(light, dark);
    await page.getByRole("button", { name: "colours: system" }).click();
    assert.equal(await ground(), light);
    await page.emulateMedia({ colorScheme: "light" });
    await page.getByRole("button", { name: "colours: light" }).click();
    assert.equal(await ground(), dark);
    await page.reload();
    await shows(page, ".connection", /live/);
    assert.equal(await ground(), dark, "it is remembered");
  });

  test("hostile texts stay text and stay in their place", async (t) => {
    const daemon = await start(t);
    const hostile = `<img src=x onerror="document.title='owned'"><b id=owned>`;
    const backwards = "\u202egnp.ecioni\u2066";
    const long = "x".repeat(1_024);
    const id = await daemon.register(hostile, { tools: [hostile, long], description: hostile });
    await daemon.register(backwards);
    await daemon.register(long);
    await daemon.call("heartbeat", { agentId: id, activity: { state: "waiting", note: hostile } });
    for (const taskId of [hostile, "..", long.slice(0, 900)]) {
      await daemon.call("acquireLease", { taskId, agentId: id, ttlMs }).catch(() => undefined);
    }
    await daemon.call("campaign", { group: hostile, agentId: id });
    const rule = { subject: hostile, action: hostile, resource: hostile, effect: "deny" } as const;
    await daemon.call("setPolicy", { policyId: hostile, ...rule });
    const input = Buffer.from(hostile).toString("base64");
    const task = await daemon.call("createTask", { type: hostile, input, maxRetries: 0 });
    await daemon.call("claimTask", { agentId: id });
    await daemon.call("failTask", { taskId: task.id, agentId: id, reason: hostile });

    const page = await visit(t, daemon.link);
    await shows(page, ".needs", /<img src=x onerror=/);
    await shows(page, ".happening li", /policy <img src=x/);
    for (const path of [
      "/",
      `/agents/${id}`,
      `/coordination?lease=${encodeURIComponent(hostile)}`,
      `/coordination/elections?group=${encodeURIComponent(hostile)}`,
      `/coordination/policies?policy=${encodeURIComponent(hostile)}`,
      `/tasks/${task.id}`,
      "/log",
    ]) {
      await page.goto(daemon.url + path);
      await shows(page, "main", /<img src=x onerror=/);
      assert.equal(await page.locator("img, #owned, body script").count(), 0, path);
      const overflow = await page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth",
      );
      assert.equal(overflow, 0, `${path} is as wide as the window`);
    }
    assert.doesNotMatch(await page.title(), /owned/);
  });
});

type Start = { readonly directory?: string; readonly port?: number };

/** A daemon, and the API as whoever has its token may call it. */
async function start(t: TestContext, { directory = scratchFor(t), port = 0 }: Start = {}) {
  const daemon = await Daemon.start({
    dataDirectory: directory,
    flags: [`--metrics-addr=127.0.0.1:${port}`],
  });
  t.after(() => daemon[Symbol.asyncDispose]());
  const shown = /^ {2}dashboard +(\S+)/m.exec(daemon.stdout)?.[1] ?? "";
  assert.doesNotMatch(shown, /key/, "a link that lets others act is for terminals, not for logs");
  const url = new URL(shown).origin;
  const token = readFileSync(join(directory, "token"), "utf8").trim();

  const call = async <Name extends OperationName>(
    name: Name,
    input: Input<Name>,
  ): Promise<Answer<Name>> => {
    const { method, path, body } = request(name, input);
    const response = await fetch(url + path, {
      method,
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${text}`);
    return JSON.parse(text || "{}");
  };
  const { path: linkPath } = await call("createLink", {});
  return {
    url,
    link: url + linkPath,
    call,
    end: () => daemon.end("SIGKILL"),
    register: async (
      name: string,
      card: { readonly tools?: readonly string[]; readonly description?: string } = {},
    ): Promise<string> => {
      return (await call("registerAgent", { card: { name, ...card }, ttlMs })).id;
    },
  };
}

async function openWorkshop(t: TestContext): Promise<Workshop> {
  const workshop = await Workshop.open();
  t.after(() => workshop[Symbol.asyncDispose]());
  return workshop;
}

/** How many listen to the page itself, which outlives every view. */
const countListeners = `
  window.listening = 0;
  const { addEventListener, removeEventListener } = document;
  document.addEventListener = (...words) => {
    window.listening += 1;
    addEventListener.apply(document, words);
  };
  document.removeEventListener = (...words) => {
    window.listening -= 1;
    removeEventListener.apply(document, words);
  };
`;

/** Instead of the browser's own, which needs somebody at a screen. */
const recordNotifications = `
  window.told = [];
  window.Notification = class {
    static permission = localStorage.getItem("permission") ?? "default";
    static async requestPermission() {
      localStorage.setItem("permission", "granted");
      return (this.permission = "granted");
    }
    constructor(title, { body }) {
      window.told.push([title, body]);
    }
  };
`;

/** Pages that nobody looks at now. A new one costs a second of a processor, another address in an old one little. */
const free: Page[] = [];

/** A page that is live. Errors, broken policies and requests to elsewhere fail the test. */
async function visit(t: TestContext, address: string): Promise<Page> {
  const page = free.pop() ?? (await (await browser.newContext()).newPage());
  page.setDefaultTimeout(patienceMs);
  await page.setViewportSize({ width: 1440, height: 900 });
  const { origin } = new URL(address);
  const problems: string[] = [];
  const onPageError = (error: Error): unknown => problems.push(String(error));
  const onRequest = (asked: Request): void => {
    if (new URL(asked.url()).origin !== origin) problems.push(`asked for ${asked.url()}`);
  };
  const onConsole = (message: ConsoleMessage): void => {
    // What the browser itself says about refusals and about a daemon that is away.
    const isExpected = /net::ERR_|the server responded with a status of/.test(message.text());
    if (message.type() === "error" && !isExpected) problems.push(message.text());
  };
  page.on("pageerror", onPageError).on("request", onRequest).on("console", onConsole);
  t.after(async () => {
    page.off("pageerror", onPageError).off("request", onRequest).off("console", onConsole);
    await leave(page);
    assert.deepEqual(problems, []);
  });
  await page.goto(address);
  await shows(page, ".connection", /live/);
  return page;
}

/** Whoever comes next finds nothing of whoever was here. */
async function leave(page: Page): Promise<void> {
  try {
    await page.evaluate("localStorage.clear(), sessionStorage.clear()");
    await page.emulateMedia({ colorScheme: null });
    await page.mouse.move(0, 0);
    await page.goto("about:blank");
    await page.context().clearPermissions();
    await page.context().clearCookies();
    free.push(page);
  } catch {
    // A test that failed may leave a page of which nothing more can be had.
    await page.context().close();
  }
}

/** Waits until an element found by the selector has a text that matches. */
async function shows(page: Page, selector: string, text: RegExp): Promise<void> {
  try {
    await page.locator(selector).filter({ hasText: text }).first().waitFor();
  } catch (cause) {
    const shown = (await page.locator(selector).allInnerTexts()).join("\n").slice(0, 1_000);
    throw new Error(`${selector} does not show ${text} but:\n${shown}`, { cause });
  }
}

/** Presses the button, reads the question and says yes. */
async function act(page: Page, verb: string, consequence: RegExp): Promise<void> {
  await page.locator(".actions").getByRole("button", { name: verb }).click();
  await shows(page, "dialog", consequence);
  await page.locator("dialog").getByRole("button", { name: verb }).click();
  await until(async () => (await page.locator("dialog").count()) === 0);
}

/** The same line, however long ago it is by now. */
function wordsOf(line: string): RegExp {
  return new RegExp(RegExp.escape(line.replace(/\d+ s$/, "").trim()));
}

function namesIn(page: Page): Promise<string[]> {
  return page.locator("tbody tr .name").allInnerTexts();
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const giveUpAtMs = performance.now() + patienceMs;
  while (!(await isSo())) {
    assert.ok(performance.now() < giveUpAtMs, `waited ${patienceMs} ms for ${isSo}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function scratchFor(t: TestContext): string {
  const directory = scratch();
  t.after(() => directory[Symbol.dispose]());
  return directory.path;
}

/** Whether a source of the page is newer than what was built of it. */
function isStale(): boolean {
  const built = join(root, "dist/web/index.html");
  if (!existsSync(built)) return true;
  const { mtimeMs } = statSync(built);
  const sources = readdirSync(join(root, "web"), { recursive: true, encoding: "utf8" });
  return sources.some((name) => statSync(join(root, "web", name)).mtimeMs > mtimeMs);
}
