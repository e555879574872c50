import assert from "node:assert/strict";
import { test } from "node:test";
import { types } from "node:util";
import { type Handler, JobContext } from "./arcp-context.ts";
import type { Outcome } from "./core/index.ts";
import { turns } from "./testing/test-plane.ts";
import { resultOf, TestRuntime } from "./testing/test-runtime.ts";
import { ArcpError, isArcpError } from "./wire/arcp/index.ts";

async function run(handler: Handler, capabilities: object = {}): Promise<Outcome> {
  await using scene = await TestRuntime.open();
  const { runtime } = scene;
  using _agent = runtime.registerAgentWith((parts) => new JobContext(parts), "agent", handler);
  using _child = runtime.registerAgent("child", () => {
    throw new Error("the child broke");
  });
  return await runtime.ending(scene.ask({ capabilities }));
}

test("[ARCP-121] an agent that speaks ARCP's words is held to ARCP's kinds, bodies and codes", async () => {
  const refused = { code: "INVALID_REQUEST", retryable: false };
  const outcome = await run(async (_, context) => {
    await assert.rejects(context.emitEvent("mood", {}), refused);
    await assert.rejects(context.emitEvent("progress", { message: "no number" }), refused);
    const error = { code: "permission_denied", message: "no", retryable: false };
    await assert.rejects(context.toolResult({ call_id: "c", error }), refused);
    await context.emitEvent("x-vendor.acme.mood", "any");
    await context.artifactRef({ uri: "a:b", content_type: "text/plain", sha256: "sha256:0a" });
    return "ok";
  });
  assert.equal(outcome.status, "success");
});

test("what any call of the context fails with has ARCP's code, also what fails later", async () => {
  const capabilities = { "agent.delegate": ["child"], "cost.budget": ["USD:1.00"] };
  const outcome = await run(async (_, context) => {
    await assert.rejects(context.authorize("fs.read", "/etc/passwd"), (error) => {
      assert(isArcpError(error));
      assert.equal(error.code, "PERMISSION_DENIED");
      return true;
    });
    const { settle } = await context.reserve("USD:1.00");
    await assert.rejects(context.reserve("USD:0.01"), { code: "BUDGET_EXHAUSTED" });
    await settle("USD:0.10");
    await assert.rejects(settle("USD:0.10"), { code: "INVALID_REQUEST" });
    const child = await context.delegate({ agent: "child" });
    await assert.rejects(child.done, { code: "INTERNAL_ERROR", message: "the child broke" });
    const { done: _unobserved } = await context.delegate({ agent: "child" });
    const stream = context.streamResult();
    assert.equal(context.streamResult(), stream);
    assert.throws(() => context.streamResult({ resultId: "other" }), { code: "INVALID_REQUEST" });
    await stream.write("whole");
    await stream.finalize();
    await assert.rejects(stream.write("more"), { code: "INVALID_REQUEST" });
  }, capabilities);
  assert.equal(outcome.status, "success", JSON.stringify(outcome));
});

test("an agent that speaks ARCP's words asks people, and is told in ARCP's codes that nobody answered", async () => {
  await using scene = await TestRuntime.open();
  const { runtime, plane, clock } = scene;
  const handler: Handler = async (_, context) => {
    const schema = { type: "object" };
    const answer = await context.ask("When?", { schema });
    await assert.rejects(context.ask("Sure?", { timeoutMs: 1_000, key: "sure" }), (error) => {
      assert(isArcpError(error));
      const { code, retryable, details } = error;
      assert.deepEqual([code, retryable], ["INTERNAL_ERROR", true]);
      assert.equal(details?.["original_code"], "ask_timeout");
      return true;
    });
    await assert.rejects(context.ask("Really?", { key: "sure" }), { code: "DUPLICATE_KEY" });
    await assert.rejects(context.requestScope({ reason: "more" }), { code: "PERMISSION_DENIED" });
    return [answer, types.isProxy(answer)];
  };
  using _agent = runtime.registerAgentWith((parts) => new JobContext(parts), "agent", handler);
  const ending = runtime.ending(scene.ask());
  await turns();
  const [questionId] = plane.peek(({ questions }) => [...questions.open]);
  assert(questionId !== undefined);
  const said = { questionId, answer: '{"done":true}', by: { name: "bob" } };
  await plane.submit({ type: "question.answer", ...said }, { actor: "test" }, () => undefined);
  await turns();
  clock.leap(1_000);
  plane.tick();
  assert.deepEqual(resultOf(await ending), [{ done: true }, false]);
});

test("a job fails with the code that its agent threw, and with ours where the agent lets ours through", async () => {
  const failed = async (handler: Handler): Promise<unknown> => {
    const outcome = await run(handler);
    return outcome.status === "success" ? undefined : outcome.failure;
  };
  const own = new ArcpError("OUT_OF_INK", "no ink", { retryable: true, details: { tray: 2 } });
  assert.deepEqual(
    await failed(() => {
      throw own;
    }),
    { code: "OUT_OF_INK", message: "no ink", isRetryable: true, details: '{"tray":2}' },
  );
  const denied = await failed(async (_, context) => {
    await context.callTool({ tool: "printer" }, () => "never");
  });
  assert.equal((denied as { code: string }).code, "permission_denied");
  let thrown: unknown;
  await run(
    async (_, context) => {
      const call = context.callTool({ tool: "printer" }, () => {
        throw own;
      });
      thrown = await call.catch((error: unknown) => error);
    },
    { "tool.call": ["printer"] },
  );
  assert.equal(thrown, own, "the agent's own error comes back as it was");
});
