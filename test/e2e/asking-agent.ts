/** An agent for the tests that asks a person twice. */
import type { JobContext } from "../../src/arcp-server.ts";

export async function askTwice(_: unknown, context: JobContext): Promise<readonly string[]> {
  const first = await context.ask("First?", { key: "first" });
  const second = await context.ask("Second?", { choices: ["red", "blue"] });
  return [first, second];
}
