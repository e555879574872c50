/**
 * Tells every story in this folder again, and compares what happens with what is written, letter by
 * letter. `UPDATE_SCENARIOS=1` writes down what happens instead: read the difference before you keep it.
 *
 * A line is `at <seconds>s <sentence> -> <what happens>`, with further outcomes on lines of their own.
 * Between lines time passes, and what falls due then is told with the next line.
 */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { World } from "./world.ts";

type Line =
  | { readonly remark: string }
  | { readonly time: string; readonly sentence: string; readonly outcomes: readonly string[] };

const isUpdating = process.env["UPDATE_SCENARIOS"] === "1";

for (const name of readdirSync(import.meta.dirname).filter((name) => name.endsWith(".txt"))) {
  test(name.replace(".txt", "").replaceAll("-", " "), async () => {
    const path = join(import.meta.dirname, name);
    const written = await readFile(path, "utf8");
    const told = print(await tell(written));
    if (isUpdating) await writeFile(path, told);
    else assert.equal(told, written);
  });
}

async function tell(text: string): Promise<readonly Line[]> {
  const world = new World();
  await world.start();
  const lines: Line[] = [];
  for (const line of text.trimEnd().split("\n")) {
    const said = /^at +(?<time>[\d.]+)s +(?<sentence>\S.*)$/.exec(
      line.split("->")[0]?.trimEnd() ?? "",
    );
    // Outcomes of the line above: they are found out anew.
    if (!said && /^ +\S/.test(line)) continue;
    const { time, sentence } = said?.groups ?? {};
    if (time === undefined || sentence === undefined) {
      assert(line === "" || line.startsWith("#"), `neither a line nor a remark: ${line}`);
      lines.push({ remark: line });
      continue;
    }
    const words = sentence.replaceAll(/ +/g, " ");
    lines.push({ time, sentence: words, outcomes: await world.at(Number(time), words) });
  }
  return lines;
}

function print(lines: readonly Line[]): string {
  const spoken = lines.filter((line) => "time" in line);
  const timeWidth = Math.max(...spoken.map(({ time }) => time.length)) + 1;
  const width = Math.max(...spoken.map(({ sentence }) => sentence.length));
  const indent = " ".repeat("at ".length + timeWidth + " ".length + width + " -> ".length);
  return lines
    .map((line) => {
      if ("remark" in line) return `${line.remark}\n`;
      const { time, sentence, outcomes } = line;
      const start = `at ${`${time}s`.padEnd(timeWidth)} ${sentence.padEnd(width)} -> `;
      return `${start}${outcomes.join(`\n${indent}`)}\n`;
    })
    .join("");
}
