/** Agents for `arcp serve --agents` and `tipstaff up --agents`, as a user writes them. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Handler } from "../../src/arcp-server.ts";

const fail: Handler = () => {
  throw new Error("boom");
};

/** What it has begun fails when it is done, and nobody looks. */
const careless: Handler = () => {
  void Promise.reject(new Error("left behind"));
  return "done";
};

const reckless: Handler = () => {
  setTimeout(() => {
    throw new Error("out of reach");
  });
  return "done";
};

/** Until it is told to stop. */
const endless: Handler = async (_, context) => {
  await context.log("info", "begun");
  await sleep(600_000, undefined, { signal: context.signal });
};

const poet: Handler = async (_, context) => {
  // Not for those who read frames.
  console.log("writing");
  const result = context.streamResult();
  await result.write("roses are ");
  await result.write("red");
};

const researcher: Handler = async (input, context) => {
  await context.thought("where to begin?");
  await context.progress(1, { total: 2, units: "pages" });
  await context.callTool({ tool: "search", args: { query: "ducks" } }, () => ({ hits: 3 }));
  await context.metric({ name: "cost.model", value: 0.25, unit: "USD" });
  await context.progress(2, { total: 2, units: "pages" });
  return { about: input };
};

/** Spends 0.01 itself and has 0.25 spent for it; fails if that is its input. */
const editor: Handler = async (input, context) => {
  await context.callTool({ tool: "search" }, (spend) => spend("USD:0.01"));
  const leaseRequest = { "tool.call": ["search"] };
  const child = await context.delegate({ agent: "researcher", input: "ducks", leaseRequest });
  await child.done;
  if (input === "fail") throw new Error("boom");
  return "edited";
};

const decorator: Handler = async (_, context) =>
  await context.ask("Which colour?", { choices: ["red", "blue"] });

type Offered = Handler | { readonly handler: Handler; readonly version: string };

export const agents: Readonly<Record<string, Offered>> = {
  careless,
  reckless,
  fail,
  endless,
  sleeper: endless,
  poet,
  decorator,
  editor,
  researcher: { handler: researcher, version: "1.2.0" },
};
