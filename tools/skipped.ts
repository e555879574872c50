/**
 * A reporter for the test runner: names the tests that were skipped. Under `CI=true` on Linux x64, where everything
 * that tests need can be had, a skipped test fails the run.
 */
import type { TestEvent } from "node:test/reporters";

const mustRunAll =
  process.env["CI"] === "true" && process.platform === "linux" && process.arch === "x64";

export default async function* skipped(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const lines: string[] = [];
  for await (const { type, data } of events) {
    if (type !== "test:pass" || data.skip === undefined || data.skip === false) continue;
    lines.push(`  ${data.name}: ${data.skip === true ? "no reason given" : data.skip}\n`);
  }
  if (lines.length === 0) return;
  yield `skipped tests:\n${lines.join("")}`;
  if (mustRunAll) {
    process.exitCode = 1;
    yield "with CI=true, skipped tests count as failures\n";
  }
}
