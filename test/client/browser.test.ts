/** The same client in a real browser, on a page of the daemon, with the page's cookie. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { startDaemon } from "../../src/embedded.ts";
import { launchBrowser, skipWithoutBrowser } from "../e2e/browser.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const skip = skipWithoutBrowser();

test("a page registers, holds, works and watches as any program does", { skip }, async () => {
  await using daemon = await startDaemon();
  const { path } = await daemon.client.call("createLink", {});
  const browser = await launchBrowser();
  try {
    // An address of the daemon without its page: what may be fetched from there is not the question.
    const page = await browser.newPage({ bypassCSP: true });
    await page.goto(`${daemon.url}/healthz`);
    await page.evaluate(await bundle());
    const [, key] = path.split("key=");
    const told = await page.evaluate(`(${inPage})(${JSON.stringify(key)})`);
    assert.deepEqual(told, {
      held: true,
      refused: "lease_held",
      output: { sum: 3 },
      seen: ["lease.acquired", "task.created", "task.claimed", "task.completed", "lease.released"],
      withoutKey: "token_required",
    });
  } finally {
    await browser.close();
  }
});

/** Runs in the page. */
const inPage = `async (key) => {
  const { connect } = window.tipstaff;
  const visitor = await connect();
  const withoutKey = await visitor.register({ name: "x" }).catch((error) => error.code);
  const { pageKey } = await visitor.call("openSession", { key });
  const client = await connect({ pageKey });
  const watch = client.watch({ topics: ["lease.", "task."] });
  await watch.ready;
  const agent = await client.register({ name: "page" });
  const other = await client.register({ name: "other" });
  const lease = await agent.acquire("t");
  const held = lease.isHeld;
  const refused = await other.acquire("t").catch((error) => error.code);
  const { id } = await client.tasks.create({ type: "add", input: { numbers: [1, 2] } });
  for await (const task of client.tasks.claim(agent)) {
    const { numbers } = task.input.json();
    await task.complete({ sum: numbers[0] + numbers[1] });
    break;
  }
  const output = (await client.tasks.get(id)).output.json();
  await lease.release();
  const seen = [];
  for await (const { type } of watch) {
    seen.push(type);
    if (type === "lease.released") break;
  }
  await client.agents.get(agent.id);
  await agent.deregister();
  await other.deregister();
  return { held, refused, output, seen, withoutKey };
}`;

async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(root, "src/client/index.ts")],
    bundle: true,
    platform: "browser",
    format: "iife",
    globalName: "tipstaff",
    target: "es2022",
    write: false,
    logLevel: "silent",
  });
  // What is declared by a script that is evaluated does not outlive it.
  return `${outputFiles[0]?.text}; window.tipstaff = tipstaff;`;
}
