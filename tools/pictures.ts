/**
 * Takes the pictures in `docs/pictures/` with a real browser: the first view of an empty plane, of the office in
 * `examples/demo`, and of the same office among ten thousand agents. Needs a build and Chromium; run by hand when the page changes.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type Browser, chromium } from "playwright-core";
import { type Daemon, startDaemon } from "../src/embedded.ts";

const directory = "docs/pictures";
const agentsMany = 10_000;

await mkdir(directory, { recursive: true });
const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu"],
});
try {
  await using empty = await startDaemon();
  await take(browser, empty, "/", "empty");

  await using office = await startDaemon();
  const env = { ...process.env, TIPSTAFF_URL: office.url, TIPSTAFF_TOKEN: office.token };
  const words = ["--conditions=@tipstaff/source", "examples/demo/main.ts", "60"];
  const demo = spawn(process.execPath, words, { env, stdio: "inherit" });
  const ended = once(demo, "exit");
  // Long enough for the one that says nothing to be missed.
  await sleep(18_000);
  await take(browser, office, "/", "office");
  await take(browser, office, "/", "office-dark", "dark");
  await take(browser, office, "/agents", "agents");
  await register(office, agentsMany);
  await take(browser, office, "/", "ten-thousand");
  demo.kill("SIGINT");
  await ended;
} finally {
  await browser.close();
}

async function take(
  browser: Browser,
  { url }: Daemon,
  path: string,
  name: string,
  colorScheme: "light" | "dark" = "light",
): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 1_440, height: 900 }, colorScheme });
  await page.goto(url + path);
  await page.locator(".connection").filter({ hasText: "live" }).waitFor();
  await sleep(1_500);
  await page.screenshot({ path: `${directory}/${name}.png` });
  await page.close();
}

/** Many at a time. They say nothing more, but nobody misses them for an hour. */
async function register({ client }: Daemon, count: number): Promise<void> {
  const jobs = ["scraper", "parser", "planner", "mailer", "reviewer", "translator"];
  for (let start = 0; start < count; start += 100) {
    const batch = Array.from({ length: 100 }, (_, index) => {
      const name = `${jobs[index % jobs.length]}-${start + index}`;
      const card = { name, description: "One of very many", tools: ["browser"] };
      return client.call("registerAgent", { card, ttlMs: 3_600_000 }, { key: name });
    });
    await Promise.all(batch);
  }
}
