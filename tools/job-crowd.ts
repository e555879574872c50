/** A morning's worth of jobs, for pictures: delegation three deep, budgets, a tool that fails, results in pieces. */

import type { Command } from "../src/core/index.ts";
import { jobId, parseAmount } from "../src/core/index.ts";
import { emit, endJob, openSession, startJob, submitJob } from "../src/testing/commands.ts";
import type { TestDoor } from "../src/testing/http-door.ts";

type Words = Readonly<Record<string, unknown>>;

/** The id of the job to look at. */
export async function fillJobs({
  plane,
  clock,
}: Pick<TestDoor, "plane" | "clock">): Promise<string> {
  let count = 0;
  const run = async (command: Command): Promise<void> => {
    const { refusal } = await plane.submit(command, { actor: "principal/ann" }, () => undefined);
    if (refusal) throw new Error(`${command.type}: ${refusal.message}`);
  };
  const pass = async (seconds: number): Promise<void> => {
    for (let left = seconds; left > 0; left -= 2) {
      await clock.pass(Math.min(2, left) * 1_000, 2_000);
      plane.tick();
    }
  };
  const id = (): string => {
    count += 1;
    const tail = ((count * 40_503 + 7_919) % 1_679_616).toString(36).padStart(6, "4");
    return `job_01JCT5N8QKX2W7M9ZR4D${tail.toUpperCase()}`;
  };

  const ask = async (
    agent: string,
    {
      by = "ann",
      parent,
      budget,
      more = {},
      input = {},
      isStarted = true,
    }: {
      readonly by?: string;
      readonly parent?: string;
      readonly budget?: string;
      readonly more?: Readonly<Record<string, readonly string[]>>;
      readonly input?: Words;
      readonly isStarted?: boolean;
    } = {},
  ): Promise<string> => {
    const job = id();
    const capabilities = { ...more, ...(budget === undefined ? {} : { "cost.budget": [budget] }) };
    await run(
      submitJob(job, by, {
        agent: { name: agent },
        capabilities,
        input: JSON.stringify(input),
        traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
        ...(parent === undefined ? {} : { parentId: jobId(parent), delegateId: agent }),
      }),
    );
    if (isStarted)
      await run({ ...startJob(job), worker: { id: `local/${agent}`, isRemote: false } });
    return job;
  };
  const say = (job: string, kind: string, body: Words): Promise<void> =>
    run(emit(job, { kind, body: JSON.stringify(body) }));
  const spend = async (job: string, value: number): Promise<void> => {
    const spent = parseAmount(`USD:${value}`);
    const body = JSON.stringify({ name: "cost.inference", value, unit: "USD" });
    await run(emit(job, { kind: "metric", body, ...(spent && { spent }) }));
  };
  const tool = async (
    job: string,
    name: string,
    args: Words,
    result: Words,
    seconds = 1,
  ): Promise<void> => {
    count += 1;
    const call_id = `call_${count}`;
    await say(job, "tool_call", { tool: name, call_id, args });
    await pass(seconds);
    await say(job, "tool_result", { call_id, ...result });
  };
  const done = (job: string, result: unknown): Promise<void> =>
    run(endJob(job, { outcome: { status: "success", result: JSON.stringify(result) } }));
  const fail = (job: string, code: string, message: string): Promise<void> =>
    run(
      endJob(job, { outcome: { status: "error", failure: { code, message, isRetryable: true } } }),
    );

  await run(openSession("ann"));
  await run(openSession("ci"));
  await run(openSession("nightly"));

  for (const [agent, by, spentUsd, seconds] of [
    ["mail-sorter", "nightly", 0.12, 41],
    ["invoice-reader", "nightly", 0.87, 214],
    ["link-checker", "ci", 0.02, 12],
    ["summarise@2", "ann", 0.31, 37],
    ["mail-sorter", "nightly", 0.09, 39],
    ["translator", "ci", 0.44, 96],
    ["link-checker", "ci", 0.03, 14],
  ] as const) {
    const job = await ask(agent, { by, budget: "USD:1.00" });
    await spend(job, spentUsd);
    await pass(seconds);
    await done(job, { ok: true });
  }
  const broke = await ask("price-watch", { by: "nightly", budget: "USD:0.50" });
  await spend(broke, 0.52);
  await pass(61);
  await fail(broke, "BUDGET_EXHAUSTED", "$0.50 are spent, and 14 shops are left");
  const late = await ask("crawler", { by: "nightly", budget: "USD:2.00" });
  await spend(late, 1.1);
  await pass(30);
  const failure = { code: "TIMEOUT", message: "it was not done within 30 s", isRetryable: true };
  await run(endJob(late, { outcome: { status: "timed_out", failure } }));
  const dropped = await ask("summarise@2", { by: "ann", isStarted: false });
  await run({
    type: "job.cancel",
    jobId: jobId(dropped),
    reason: "not needed any more",
    graceMs: 0,
  });

  const reader = await ask("invoice-reader", { by: "nightly", budget: "USD:4.00" });
  await spend(reader, 1.62);
  await say(reader, "log", { level: "info", message: "reads the inbox of October" });
  await pass(412);
  const release = { "agent.delegate": ["*"], "tool.call": ["git.*", "npm.*", "ci.*"] };
  const root = await ask("release-manager@3", {
    by: "ci",
    budget: "USD:10.00",
    more: release,
    input: { repository: "acme/billing", version: "4.2.0", channel: "stable" },
  });
  await pass(4);
  await say(root, "status", { phase: "planning", message: "five steps to 4.2.0" });
  await say(root, "thought", {
    text: "The changelog needs the merged pull requests since 4.1.3; tests and the security scan can run beside it.",
  });
  await tool(root, "git.log", { range: "v4.1.3..main" }, { result: { commits: 118 } });
  await spend(root, 0.42);
  await say(root, "progress", { current: 1, total: 5, units: "steps" });
  await pass(31);
  const writer = await ask("changelog-writer", { by: "ci", parent: root, budget: "USD:2.00" });
  await say(root, "delegate", {
    delegate_id: "d1",
    agent: "changelog-writer",
    child_job_id: writer,
  });
  const tests = await ask("test-runner", {
    by: "ci",
    parent: root,
    budget: "USD:3.00",
    more: { "agent.delegate": ["*"], "tool.call": ["npm.*", "ci.*"] },
  });
  await say(root, "delegate", { delegate_id: "d2", agent: "test-runner", child_job_id: tests });
  await spend(writer, 0.74);
  await say(writer, "progress", { current: 118, total: 118, units: "commits" });
  await pass(20);
  await done(writer, { entries: 23 });
  await say(root, "progress", { current: 2, total: 5, units: "steps" });
  await say(tests, "log", { level: "info", message: "npm ci: 812 packages" });
  await tool(tests, "npm.test", { shard: "1/4" }, { result: { passed: 611, failed: 0 } }, 4);
  await tool(
    tests,
    "npm.test",
    { shard: "2/4" },
    { error: { code: "TIMEOUT", message: "ledger.test.ts hung after 30 s", retryable: true } },
    4,
  );
  await say(tests, "log", {
    level: "warn",
    message: "shard 2 hung: looking for the test that does it",
  });
  const hunter = await ask("flaky-hunter", { by: "ci", parent: tests, budget: "USD:1.00" });
  await say(tests, "delegate", { delegate_id: "d3", agent: "flaky-hunter", child_job_id: hunter });
  await pass(24);
  await spend(hunter, 0.83);
  await say(hunter, "log", { level: "info", message: "reruns ledger.test.ts with another seed" });
  await say(hunter, "progress", { current: 7, total: 20, units: "runs" });
  await spend(tests, 0.36);
  await say(tests, "progress", { current: 1_204, total: 2_440, units: "tests" });
  const scan = await ask("security-scan", { by: "ci", parent: root, budget: "USD:1.50" });
  await say(root, "delegate", { delegate_id: "d4", agent: "security-scan", child_job_id: scan });
  await say(scan, "log", { level: "info", message: "looks through 812 packages for known holes" });
  await pass(38);
  await say(scan, "progress", { current: 96, total: 812, units: "packages" });
  await spend(scan, 0.11);
  await pass(6);
  await tool(
    root,
    "ci.approve",
    { environment: "staging", version: "4.2.0-rc.1" },
    {
      error: {
        code: "PERMISSION_DENIED",
        message: "ci.approve is not in the grant",
        retryable: false,
      },
    },
    0.2,
  );
  await say(root, "log", {
    level: "warn",
    message: "staging must be approved by a person; goes on without",
  });
  await say(root, "artifact_ref", {
    uri: "https://builds.example/acme-billing-4.2.0-rc.1.tgz",
    content_type: "application/gzip",
    byte_size: 4_182_332,
  });
  await pass(3);
  await spend(root, 0.61);
  const amounts = [parseAmount("USD:0.80")].flatMap((one) => one ?? []);
  await run({
    type: "job.reserve",
    jobId: jobId(root),
    attempt: 1,
    reservationId: "r1",
    amounts,
  });
  const notes =
    "# Billing 4.2.0\n\nInvoices can now be split by cost centre. Exports name the ledger they came from, and ";
  for (const [chunk_seq, data] of [notes, "the nightly close takes half as long."].entries()) {
    await say(root, "result_chunk", {
      result_id: "res_1",
      chunk_seq,
      data,
      encoding: "utf8",
      more: true,
    });
  }
  await say(root, "progress", {
    current: 3,
    total: 5,
    units: "steps",
    message: "waits for tests and the scan",
  });
  await pass(2);
  await say(root, "tool_call", {
    tool: "npm.pack",
    call_id: "call_open",
    args: { workspace: "billing", dryRun: true },
  });
  await pass(2);
  const research = await ask("research", { by: "ann", budget: "USD:5.00" });
  await spend(research, 4.21);
  await say(research, "log", { level: "info", message: "compares the tariffs of nine carriers" });
  await say(research, "progress", { current: 62, units: "percent", total: 100 });
  await say(reader, "progress", {
    current: 412,
    total: 960,
    units: "pages",
    message: "page 412: Hoffmann & Co.",
  });
  const slow = await ask("crawler", { by: "nightly", budget: "USD:2.00" });
  await say(slow, "log", { level: "info", message: "https://shop.example/catalogue?page=88" });
  await spend(slow, 0.35);
  await run({
    type: "job.cancel",
    jobId: jobId(slow),
    reason: "the shop asked us to stop",
    graceMs: 30_000,
  });
  await ask("translator", { by: "ann", budget: "USD:1.00", isStarted: false });
  await ask("translator", { by: "ann", budget: "USD:1.00", isStarted: false });
  await pass(3);
  return root;
}
