/**
 * Takes the pictures in `docs/pictures/` with a real browser: the first view of an empty plane, of the office in
 * `examples/demo`, of the same office among ten thousand agents, and of jobs at work. Names of pictures as arguments
 * take only those. Needs a build; run by hand when the page changes.
 * Each is taken only while the page shows what the picture is there to tell.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import type { Browser } from "playwright-core";
import { version } from "../src/cli/version.ts";
import { type Daemon, startDaemon } from "../src/embedded.ts";
import { openTestDoor, testToken } from "../src/testing/http-door.ts";
import { ManualClock } from "../src/testing/manual-clock.ts";
import { launchBrowser } from "../test/e2e/browser.ts";
import { fillJobs } from "./job-crowd.ts";

const directory = "docs/pictures";
const agentsMany = 10_000;
/** A task counts as stuck after a minute, and the courier is missed half of the time. */
const patienceMs = 180_000;

/** What comes and goes is last. */
const office = [
  '.held tr:has-text("supplier-1"):has-text("scraper-1"):has-text("since")',
  ".totals .sparkline",
  ".happening li",
  '.need[data-kind="task_dead"]',
  '.need[data-kind="task_stuck"]',
  '.need[data-kind="question"]:has-text("payer")',
  '.at-work tr:has-text("courier"):has-text("unreachable")',
  '.need[data-kind="agent_unreachable"]:has-text("courier")',
];

await mkdir(directory, { recursive: true });
const browser = await launchBrowser();
try {
  const wanted = process.argv.slice(2);
  const isWanted = (...names: string[]): boolean =>
    wanted.length === 0 || names.some((name) => wanted.includes(name));
  if (isWanted("empty")) await takeEmpty(browser);
  if (isWanted("office")) await takeOffice(browser);
  if (isWanted("work")) await takeWork(browser);
} finally {
  await browser.close();
}

async function takeEmpty(browser: Browser): Promise<void> {
  await using plane = await startDaemon();
  await take(browser, plane, {
    name: "empty",
    path: "/",
    shown: [
      '.needs:has-text("Nothing needs you.")',
      ".start pre",
      ".happening li",
      ".tile >> nth=5",
    ],
  });
}

async function takeOffice(browser: Browser): Promise<void> {
  await using plane = await startDaemon();
  const env = { ...process.env, TIPSTAFF_URL: plane.url, TIPSTAFF_TOKEN: plane.token };
  const words = ["--conditions=@tipstaff/source", "examples/demo/main.ts"];
  const demo = spawn(process.execPath, words, { env, stdio: "inherit" });
  const ended = once(demo, "exit");
  try {
    await take(browser, plane, { name: "office", path: "/", shown: office });
    await take(browser, plane, { name: "office-dark", path: "/", shown: office, isDark: true });
    await take(browser, plane, {
      name: "agents",
      path: "/agents",
      shown: [
        'tr:has-text("payer"):has-text("waiting")',
        'tr:has-text("courier"):has-text("heard")',
      ],
    });
    await take(browser, plane, {
      name: "coordination",
      path: "/coordination?lease=supplier-1",
      shown: [
        '.leases tr:has-text("supplier-1"):has-text("scraper-1"):has-text("left")',
        '.panel:has-text("token") li:has-text("acquired")',
      ],
    });
    await register(plane, agentsMany);
    // All of them and the eleven that can be reached.
    const everyone = '.tile:has-text("10\u202f011 agents registered")';
    const shown = [everyone, ...office];
    await take(browser, plane, { name: "ten-thousand", path: "/", shown });
  } finally {
    demo.kill("SIGINT");
    await ended;
  }
}

/** Their times are long past and far apart: the clock of this plane is moved by hand. */
async function takeWork(browser: Browser): Promise<void> {
  const clock = new ManualClock(Date.now() - 1_800_000);
  const startedAtMs = clock.nowMs();
  const about = { version, planeId: "plane-1", startedAtMs, pid: process.pid, isKept: false };
  await using to = await openTestDoor({ clock, about: () => about, workersOf: () => 1 });
  const job = await fillJobs(to);
  const plane = { url: `http://127.0.0.1:${to.port}`, token: testToken };
  const shown = [
    '.jobs tr:has-text("release-manager")',
    '.jobs tr:has-text("translator"):has-text("the only one is busy")',
    '.tree li:has-text("flaky-hunter")',
    ".lines li",
  ];
  await take(browser, plane, { name: "work", path: `/work/${job}`, shown });
}

type Place = Pick<Daemon, "url" | "token">;

type Picture = {
  readonly name: string;
  readonly path: string;
  /** What it must show, each by a selector. */
  readonly shown: readonly string[];
  readonly isDark?: boolean;
};

/** The end of a link as `tipstaff dashboard` prints it: its page may see and do everything. */
async function keyFor({ url, token }: Place): Promise<string> {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const answer = await fetch(`${url}/api/v1/links`, { method: "POST", headers, body: "{}" });
  const { path } = (await answer.json()) as { readonly path: string };
  return new URL(path, url).hash;
}

async function take(
  browser: Browser,
  plane: Place,
  { name, path, shown, isDark = false }: Picture,
): Promise<void> {
  const page = await browser.newPage({
    viewport: { width: 1_440, height: 900 },
    colorScheme: isDark ? "dark" : "light",
  });
  page.setDefaultTimeout(patienceMs);
  await page.goto(`${plane.url}${path}${await keyFor(plane)}`);
  const facts = ['.connection:has-text("live")', ...shown].map((selector) =>
    page.locator(selector).first(),
  );
  const areShown = async (): Promise<boolean> =>
    (await Promise.all(facts.map((fact) => fact.isVisible()))).every(Boolean);
  const giveUpAtMs = performance.now() + patienceMs;
  for (;;) {
    for (const fact of facts) await fact.waitFor();
    const picture = await page.screenshot();
    // What was there when it was waited for may have gone before the picture was taken.
    if (await areShown()) {
      await writeFile(`${directory}/${name}.png`, picture);
      break;
    }
    if (performance.now() > giveUpAtMs) throw new Error(`${name} never shows all of it at once`);
  }
  await page.close();
}

/** Many at a time. They say once what they do and nothing more, but nobody misses them for an hour. */
async function register({ client }: Daemon, count: number): Promise<void> {
  const jobs = [
    { name: "scraper", activity: { state: "reading", note: "a page of a supplier" } },
    { name: "parser", activity: { state: "reading", note: "a scanned invoice" } },
    { name: "planner", activity: { state: "thinking", note: "about next week" } },
    { name: "mailer", activity: { state: "writing", note: "a reminder" } },
    { name: "translator", activity: { state: "idle" } },
  ] as const;
  const hire = async (index: number): Promise<void> => {
    const job = jobs[index % jobs.length] ?? jobs[0];
    const name = `${job.name}-${index}`;
    const card = { name, description: "One of very many", tools: ["browser"] };
    const { id } = await client.call("registerAgent", { card, ttlMs: 3_600_000 }, { key: name });
    await client.call("heartbeat", { agentId: id, activity: job.activity });
  };
  for (let start = 0; start < count; start += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, index) => hire(start + index)));
  }
}
