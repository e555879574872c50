/** Pi appends each message, with what it used and cost, to a file for the session. */
import { isObject, parseJson } from "../disk.ts";
import { type Budget, GrowingFiles } from "./growing.ts";
import { objectIn, sumOf, type Usage, usageOf } from "./usage.ts";

type Total = { input: number; output: number; costUsd: number; isSure: boolean };

export class PiSessions {
  readonly #files = new GrowingFiles<Total>({
    start: () => ({ input: 0, output: 0, costUsd: 0, isSure: true }),
    needles: ['"usage"'],
    add: addLine,
  });

  /** `path` is the file of the session. */
  usage(path: string, budget: Budget): Usage | undefined {
    if (!path.startsWith("/") || !path.endsWith(".jsonl")) return undefined;
    const total = this.#files.total(path, budget);
    return total?.isSure ? usageOf(total.input, total.output, total.costUsd) : undefined;
  }
}

function addLine(total: Total, text: string): void {
  const line = parseJson(text);
  if (!isObject(line) || line["type"] !== "message") return;
  const message = objectIn(line, "message");
  if (message["role"] !== "assistant") return;
  const used = objectIn(message, "usage");
  const { total: cost = 0 } = objectIn(used, "cost");
  const input = sumOf([used["input"], used["cacheRead"], used["cacheWrite"]]);
  const output = sumOf([used["output"]]);
  if (input === undefined || output === undefined || typeof cost !== "number") {
    total.isSure = false;
    return;
  }
  total.input += input;
  total.output += output;
  total.costUsd += cost;
}
