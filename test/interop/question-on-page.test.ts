/** One question, asked by a job of a Python client and answered by a person in a browser. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { launchBrowser, skipWithoutBrowser } from "../e2e/browser.ts";
import { Workshop } from "../e2e/workshop.ts";
import { preparePythonSdk, start } from "./arcp/python-sdk.ts";

const skip = skipWithoutBrowser();
const patienceMs = 30_000;

test("a Python client sees the question of its job, and that a person answered it on the page", {
  skip,
}, async (context: TestContext) => {
  const sdk = await preparePythonSdk();
  if ("unavailable" in sdk) return context.skip(sdk.unavailable);
  await using workshop = await Workshop.open();
  workshop.agent("payer", (_, job) => job.ask("Pay 3 EUR?", { choices: ["now", "later"] }));
  const { url, token } = workshop.arcp;
  const script = resolve(import.meta.dirname, "arcp/watch_questions.py");
  await using client = start(sdk, [script], { ARCP_URL: url, ARCP_TOKEN: token });
  const exited = once(client.child, "exit");
  const browser = await launchBrowser();
  context.after(() => browser.close());
  const page = await browser.newPage();
  page.setDefaultTimeout(patienceMs);
  await page.goto(workshop.link);
  await page.locator(".need").getByRole("button", { name: "later" }).click();
  const [code] = await exited;
  assert.equal(code, 0, client.output());

  const events = client.output().split("\n");
  const [, kind] = events.map((line): [kind: string, body: object] => JSON.parse(line));
  assert.equal(kind?.[0], "x-vendor.runctx.question");
  assert.equal(Reflect.get(kind[1], "prompt"), "Pay 3 EUR?");
  assert.match(events[3] ?? "", /question_closed.*"outcome": "answered", "by": "dashboard"/);
  assert.equal(events.at(-1), '["result", "later"]');
});
