/** Processes where there is no `/proc`: what `ps` tells, which is neither a directory nor an environment. */
import { limits } from "../limits.ts";
import type { Raw, Survey } from "./linux.ts";
import { isDaemon, recognise } from "./programs.ts";

const columns = "pid=,ppid=,uid=,lstart=,command=";

export function readPs(): Survey {
  try {
    // Loaded here: where it is not needed, everybody would wait for it.
    const { execFileSync } = process.getBuiltinModule("node:child_process");
    const text = execFileSync("ps", ["-axww", "-o", columns], {
      encoding: "utf8",
      maxBuffer: limits.psBytesMax,
      timeout: limits.psMs,
      stdio: ["ignore", "pipe", "ignore"],
      // Days and months in English, whatever the user speaks.
      env: { PATH: "/bin:/usr/bin", LC_ALL: "C" },
    });
    return parsePs(text, process.getuid?.() ?? 0);
  } catch {
    // Who cannot look does not know that there is none.
    return { raws: [], hasDaemon: true };
  }
}

const row = /^ *(\d+) +(\d+) +(\d+) +(\w{3} +\w{3} +\d+ \d\d:\d\d:\d\d \d{4}) +(.*)$/;

/** Words are divided by blanks: a path with a blank in it is not recognised. */
export function parsePs(text: string, own: number): Survey {
  const lines = text.split("\n");
  const raws = lines.flatMap((line): readonly Raw[] => {
    const [, pid = "", parent = "", uid = "", started = "", command = ""] = row.exec(line) ?? [];
    if (own !== 0 && Number(uid) !== own) return [];
    const recognised = recognise(command.split(" "));
    const startedAtMs = Date.parse(started);
    if (!recognised || Number.isNaN(startedAtMs)) return [];
    return [{ ...recognised, pid: Number(pid), parent: Number(parent), startedAtMs, env: {} }];
  });
  return { raws: raws.slice(0, limits.processesMax), hasDaemon: lines.some(isDaemon) };
}
