import assert from "node:assert/strict";
import { test } from "node:test";
import { ARCPServer, connectWorker, type Handler } from "./arcp-server.ts";
import { ARCPClient } from "./client/arcp/index.ts";
import { SqliteLog } from "./log/index.ts";
import { temporaryDirectory } from "./testing/temporary.ts";
import { pairMemoryTransports, type Transport } from "./transport/index.ts";

const bearer = { "ada-token": "ada", "worker-token": "worker" };

/** Our end of a connection to it. */
function reach(server: ARCPServer): Transport {
  const [ours, theirs] = pairMemoryTransports();
  server.accept(theirs);
  return ours;
}

for (const workerGraceMs of [3_000, 600_000]) {
  test(`after a restart, workers elsewhere have ${workerGraceMs} ms to come back if the server says so`, async () => {
    await using directory = await temporaryDirectory();
    const options = { bearer, dataDirectory: directory.path, mayWork: () => true, workerGraceMs };
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const handler: Handler = () => {
      begin();
      return new Promise(() => {});
    };
    const working = new AbortController();
    {
      await using server = await ARCPServer.open(options);
      const worker = await connectWorker(() => reach(server), {
        token: "worker-token",
        offers: [{ name: "agent", handler }],
        signal: working.signal,
      });
      worker.closed.catch(() => undefined);
      await using client = await ARCPClient.connect(reach(server), { token: "ada-token" });
      await client.submit({ agent: "agent" });
      await begun;
    }
    working.abort();
    {
      await using log = SqliteLog.open(directory.path);
      const types = (await log.read(0, 1_000)).map(({ event }) => event.type);
      assert(types.includes("job.started"));
      assert(!types.includes("job.orphaned"), "that it was cut off is none of its doing");
    }
    await using server = await ARCPServer.open(options);
    const leftMs = await server.plane.read(({ jobs }, nowMs) => {
      const [job] = jobs.byId.values();
      assert(job?.state === "running" && job.orphanedUntilMs !== undefined);
      return job.orphanedUntilMs - nowMs;
    });
    assert(leftMs <= workerGraceMs && leftMs > workerGraceMs / 2, `${leftMs} ms are left`);
  });
}
