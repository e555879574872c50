/** `tipstaff doctor`: reads every entry and every snapshot, and says what is wrong. */
import { LogError, verifyLog } from "../log/index.ts";
import { exits } from "./exits.ts";
import { dataDirectoryFrom, printPath } from "./paths.ts";
import type { Values } from "./table.ts";

export async function doctor(values: Values): Promise<number> {
  const directory = dataDirectoryFrom(values);
  const showProgress = (done: number, total: number): void => {
    if (process.stderr.isTTY) process.stderr.write(`\r  ${done} of ${total} entries`);
  };
  try {
    const verdict = await verifyLog(directory, showProgress);
    if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
    const { entries, snapshots, problems } = verdict;
    const isWell = problems.length === 0;
    if (values["json"]) {
      process.stdout.write(`${JSON.stringify({ directory, isWell, ...verdict })}\n`);
    } else {
      const what = `${entries} entries and ${snapshots.length} snapshots in ${printPath(directory)}`;
      const lines = isWell ? [`all well: ${what}`] : [`NOT well: ${what}`, ...problems];
      process.stdout.write(`${lines.join("\n")}\n`);
    }
    return isWell ? exits.ok : exits.no;
  } catch (error) {
    if (!(error instanceof LogError)) throw error;
    process.stderr.write(`tipstaff: ${error.message}\n`);
    return exits.no;
  }
}
