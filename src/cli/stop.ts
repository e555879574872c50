/** `tipstaff stop`, which is often tried: the daemon belongs to the terminal or service that started it. */
import { Failure, mistake } from "./failure.ts";
import { askOverview } from "./status.ts";
import type { Values } from "./table.ts";

export async function stop(values: Values): Promise<never> {
  const pid = await pidOf(values);
  throw mistake(
    "there is no command stop",
    `ctrl-c in the daemon's terminal stops it, or kill ${pid ?? "<pid>"}`,
    ...(pid === undefined ? ["no daemon answers here"] : []),
  );
}

async function pidOf(values: Values): Promise<number | undefined> {
  try {
    return (await askOverview(values)).pid;
  } catch (error) {
    if (error instanceof Failure && error.code !== "mistake") return undefined;
    throw error;
  }
}
