/**
 * How whole commands are timed: one after the other, in turns, so that a busy machine is busy for all of them.
 * The processor's time hardly depends on that.
 */
import { spawnSync } from "node:child_process";
import { median } from "./measure.ts";

export type Sample = { readonly wallMs: number; readonly processorMs: number };

type Turns = { readonly rounds: number; readonly env?: Readonly<Record<string, string>> };

/** What each took, by its name, in the order of the rounds. Throws if a command fails. */
export function takeTurns(
  commands: ReadonlyMap<string, readonly string[]>,
  { rounds, env = {} }: Turns,
): ReadonlyMap<string, readonly Sample[]> {
  const samples = new Map([...commands.keys()].map((name): [string, Sample[]] => [name, []]));
  // The first two rounds fill caches, those of the disk and of compiled code.
  for (let round = -2; round < rounds; round += 1) {
    for (const [name, words] of commands) {
      const sample = time(words, { ...process.env, ...env });
      if (round >= 0) samples.get(name)?.push(sample);
    }
  }
  return samples;
}

/** How many times more the first took than the second, at their medians. */
export function ratioOf(
  first: readonly Sample[],
  second: readonly Sample[],
  of: (sample: Sample) => number,
): number {
  return median(first.map(of)) / median(second.map(of));
}

/** As bash times it, without its own start. */
function time(words: readonly string[], env: NodeJS.ProcessEnv): Sample {
  const script = 'TIMEFORMAT="%3R %3U %3S"; time "$@" > /dev/null';
  const { status, stderr } = spawnSync("bash", ["-c", script, "bash", ...words], { env });
  const [wall = 0, user = 0, system = 0] = String(stderr).trim().split(" ").map(Number);
  if (status !== 0 || !(wall > 0)) throw new Error(`${words.join(" ")}: ${stderr}`);
  return { wallMs: wall * 1_000, processorMs: (user + system) * 1_000 };
}
