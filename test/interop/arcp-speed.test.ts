/** The bench of our runtime with the Python SDK's client, in small: it measures what it says, whatever the figures. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { run } from "../../bench/arcp-with-python-client.ts";
import type { Row } from "../../bench/report.ts";
import { preparePythonSdk } from "./arcp/python-sdk.ts";

test("[PYA-7] speed with the Python client is reported, of our runtime and of Python's", async (context) => {
  const sdk = await preparePythonSdk();
  if ("unavailable" in sdk) {
    assert.notEqual(process.env["CI"], "true", sdk.unavailable);
    return context.skip(sdk.unavailable);
  }
  const rows = new Map<string, Row>();
  const notes: string[] = [];
  const report = {
    add: (label: string, row: Row) => void rows.set(label, row),
    note: (sentence: string) => void notes.push(sentence),
    say: () => {},
  };
  const few = ["--rounds=1", "--seconds=1", "--events=200"];
  await run(report, [...few, "--case=events"]);
  await run(report, [...few, "--case=64", "--only=ours, memory"]);
  assert.deepEqual(
    [...rows.keys()],
    [
      "one job, its events: ours, durable",
      "one job, its events: ours, memory",
      "one job, its events: Python, SQLite",
      "one job, its events: Python, memory",
      "jobs, 64 at a time: ours, memory",
    ],
  );
  for (const [label, row] of rows) {
    const isJobs = label.startsWith("jobs");
    assert(Number(row["a second"]) > 0 && Number(row["client CPU µs"]) > 0, label);
    if (isJobs) assert(Number(row["p99 ms"]) >= Number(row["p50 ms"]), label);
    else assert.equal(row["jobs or events"], 200);
  }
  assert(
    notes.some((note) => /^one job, its events: ours, durable .+ × Python, memory$/.test(note)),
  );
  const readme = readFileSync("bench/README.md", "utf8");
  const begin = "<!-- arcp-with-python-client:begin -->";
  const [, reported = ""] = readme.split(begin);
  assert.match(reported, /^\| one job, its events: ours, durable \|/m, "it is in the report");
  return undefined;
});
