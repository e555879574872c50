/**
 * Our runtime with the agents of the bench, on a port of loopback.
 * Usage: `node arcp-server.ts --port <port> [--db <file>]`.
 */
import { setImmediate } from "node:timers/promises";
import { parseArgs } from "node:util";
import { ARCPServer } from "../../src/arcp-server.ts";

const line = "x".repeat(60);
const { values } = parseArgs({ options: { port: { type: "string" }, db: { type: "string" } } });
const server = await ARCPServer.open({
  runtime: { name: "bench", version: "1.0.0" },
  bearer: { "bench-token": "bench" },
  ...(values.db !== undefined && { dataDirectory: values.db }),
});
/** Bursts wait here until everybody who shall see them has subscribed. */
let gate = Promise.withResolvers<void>();

server.registerAgent("quiet", () => null);
server.registerAgent("echo", async (input, context) => {
  await context.log("info", line);
  return { echoed: input };
});
server.registerAgent("burst", async (input, context) => {
  const { count, waits, yields } = input as { count: number; waits?: boolean; yields?: boolean };
  if (waits) await gate.promise;
  for (let number = 0; number < count; number++) {
    await context.log("info", line);
    if (yields) await setImmediate();
  }
  return null;
});
server.registerAgent("go", () => {
  gate.resolve();
  gate = Promise.withResolvers<void>();
  return null;
});
await server.listen({ port: Number(values.port) });
process.once("SIGTERM", () => {
  void server.close().finally(() => process.exit());
});
