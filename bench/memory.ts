import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { FindView } from "../src/views/index.ts";
import { openPlane, register } from "./plane.ts";
import type { Report } from "./report.ts";
import { openScratch } from "./servers.ts";

export const question = "How much memory does an agent take, state and views together?";

/** Short of the number at which a snapshot is made, which would be in memory as well. */
const agents = 99_000;

export async function run(report: Report): Promise<void> {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  await using scratch = await openScratch();
  await using opened = await openPlane(join(scratch.path, "memory"), [new FindView()]);
  const { plane } = opened;
  await register(plane, agents);
  collect();
  const before = process.memoryUsage();
  for (let number = 0; number < agents; number += 1_000) {
    await Promise.all(Array.from({ length: 1_000 }, (_, index) => register(plane, number + index)));
  }
  collect();
  const after = process.memoryUsage();
  const heap = after.heapUsed - before.heapUsed;
  const buffers = after.arrayBuffers - before.arrayBuffers;
  report.add(`${agents.toLocaleString("en-US")} agents`, {
    "heap bytes an agent": heap / agents,
    "buffer bytes an agent": buffers / agents,
    together: (heap + buffers) / agents,
    "resident MB in all": after.rss / 1e6,
  });
  report.note("Cards with a description of nine words, three tools and two metadata pairs.");
}
