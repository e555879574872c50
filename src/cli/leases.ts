/** `tipstaff leases`: who holds which task. */
import { paint, printable, type Tone } from "../terminal/index.ts";
import type { Lease } from "../wire/api/index.ts";
import { findAgent } from "./agents.ts";
import { type Column, printFacts } from "./columns.ts";
import { confirm } from "./confirm.ts";
import { call } from "./daemon.ts";
import { collect, printList, printOne } from "./lists.ts";
import type { Values } from "./table.ts";
import { ago, forHowLong, left } from "./times.ts";
import { choiceIn, textIn } from "./values.ts";

export async function listLeases(values: Values): Promise<number> {
  const agent = textIn(values, "agent");
  const holder = agent === undefined ? undefined : (await findAgent(values, agent)).id;
  const sort = choiceIn(values, "sort", ["expiry", "newest", "oldest", "task"]) ?? "expiry";
  const filter = holder === undefined ? {} : { holder };
  const listed = await collect(values, "listLeases", { sort }, filter);
  const { nowMs } = listed;
  const columns: readonly Column<Lease>[] = [
    {
      title: "LEFT",
      cell: (row) => ({ text: left(row.expiresAtMs, nowMs), tone: haste(row, nowMs) }),
      weight: 9,
    },
    { title: "TASK", cell: ({ taskId }) => taskId, weight: 10, cellsMin: 12 },
    { title: "HOLDER", cell: ({ holderName }) => holderName, weight: 8, cellsMin: 8 },
    { title: "ID", cell: (row) => row.holder.slice(0, 8), weight: 7 },
    { title: "TOKEN", cell: ({ token }) => token, weight: 5 },
    { title: "HELD", cell: (row) => forHowLong(nowMs - row.acquiredAtMs), weight: 6 },
  ];
  return printList(values, listed, {
    columns,
    noun: ["lease", "leases"],
    empty: "no leases: nobody holds a task",
    counts: (rows) => {
      const ending = rows.filter((row) => haste(row, nowMs) === "warn").length;
      return ending === 0 ? [] : [`${ending} with less than a fifth of the time left`];
    },
  });
}

/** Whoever has not renewed by then may not mean to. */
function haste({ expiresAtMs, ttlMs }: Lease, nowMs: number): Tone | undefined {
  return expiresAtMs - nowMs < ttlMs / 5 ? "warn" : undefined;
}

export async function getLease(values: Values, [taskId = ""]: readonly string[]): Promise<number> {
  const lease = await call(values, "getLease", { taskId });
  const { nowMs } = await call(values, "getOverview", {});
  return printOne(values, lease, (shown) => {
    const facts = printFacts([
      ["holder", `${shown.holderName} (${shown.holder})`],
      ["left", { text: left(shown.expiresAtMs, nowMs), tone: haste(shown, nowMs) }],
      ["token", shown.token],
      ["taken", ago(shown.acquiredAtMs, nowMs)],
      ["asked for", forHowLong(shown.ttlMs)],
    ]);
    return `${paint("bold", printable(shown.taskId))}\n\n${facts}`;
  });
}

/** By the token that holds it now: if it changes hands while we ask, the new holder keeps it. */
export async function releaseLease(
  values: Values,
  [taskId = ""]: readonly string[],
): Promise<number> {
  const { holder, holderName, token } = await call(values, "getLease", { taskId });
  confirm(
    values,
    `Take ${taskId} from ${holderName} (${holder.slice(0, 8)}), which may still work on it?`,
  );
  await call(values, "releaseLease", { taskId, agentId: holder, token });
  return printOne(
    values,
    { taskId, holder, token },
    () => `${printable(taskId)} is free; ${printable(holderName)} held it\n`,
  );
}
