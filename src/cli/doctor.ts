/** `tipstaff doctor`: checks the log and all around it, and says what to do. */
import { statfsSync, statSync } from "node:fs";
import { type AcceptedLoss, acceptLoss, LogError, type Verdict, verifyLog } from "../log/index.ts";
import { jsonOf, paint, print, printable, type Tone } from "../terminal/index.ts";
import { socketIn } from "../transport/index.ts";
import type { Overview } from "../wire/api/index.ts";
import { exits } from "./exits.ts";
import { Failure, no } from "./failure.ts";
import { dataDirectoryFrom, hasLog, printPath } from "./paths.ts";
import { checkPorts } from "./ports.ts";
import { Progress } from "./progress.ts";
import { askOverview } from "./status.ts";
import type { Values } from "./table.ts";
import { ago, bytesOf, countOf, forHowLong } from "./times.ts";
import { tokenPath } from "./token.ts";
import { version } from "./version.ts";

export type Check = {
  readonly name: string;
  readonly state: "ok" | "warn" | "fail";
  readonly text: string;
  /** What to do about it. */
  readonly advice?: string;
};

export async function doctor(values: Values): Promise<number> {
  const directory = dataDirectoryFrom(values);
  const begun = { wallMs: Date.now(), steadyMs: performance.now() };
  const accepted = values["accept-loss"] ? await giveUp(directory) : undefined;
  const daemon = await askDaemon(values);
  // A daemon without a data directory has nothing to do with the log in ours.
  const isInMemory = daemon.overview?.isKept === false && accepted === undefined;
  const log = isInMemory ? memoryLog : await checkLog(directory);
  const checks: readonly Check[] = [
    checkNode(),
    daemon.check,
    ...(await checkPorts(daemon.overview)),
    ...checkPermissions(directory),
    ...checkDisk(directory),
    checkClock(begun, daemon.overview),
    ...checkRetention(daemon.overview),
    ...log.checks,
  ];
  const isWell = checks.every(({ state }) => state !== "fail");
  if (values["json"]) {
    print(
      `${jsonOf({ directory, isWell, ...log.verdict, checks, ...(accepted && { accepted }) })}\n`,
    );
  } else {
    if (accepted) print(`${tellAccepted(accepted)}\n\n`);
    print(`${checks.map(printCheck).join("\n")}\n\n${summary(checks, log)}\n`);
  }
  return isWell ? exits.ok : exits.no;
}

/** Also prints a line if nothing was damaged, because a user who gives the flag expects a loss. */
async function giveUp(directory: string): Promise<Partial<AcceptedLoss>> {
  try {
    return (await acceptLoss(directory, Date.now())) ?? {};
  } catch (error) {
    if (!(error instanceof LogError)) throw error;
    throw no(error.message);
  }
}

function tellAccepted({ lost, lostAfter, history, originals }: Partial<AcceptedLoss>): string {
  if (originals === undefined) return "nothing is damaged, and nothing was given up";
  const lines = [
    ...(lost ? [`gave up ${printRange(lost)} lost`] : []),
    ...(lostAfter === undefined
      ? []
      : [`gave up all entries after ${lostAfter}; how many there were is not known`]),
    ...(history
      ? [`gave up the history up to entry ${history.last}: a snapshot contains its effects`]
      : []),
    `moved the damaged files to ${printPath(originals)}; delete them when you need nothing from them`,
  ];
  return lines.map(printable).join("\n");
}

function printRange({ first, last }: NonNullable<AcceptedLoss["lost"]>): string {
  return first === last
    ? `entry ${first}: its effects are`
    : `entries ${first} to ${last}: their effects are`;
}

const tones: Readonly<Record<Check["state"], Tone>> = { ok: "good", warn: "warn", fail: "bad" };

function printCheck({ name, state, text, advice }: Check): string {
  const line = `${paint(tones[state], state.padEnd(6))}${name.padEnd(12)}${printable(text)}`;
  return advice === undefined ? line : `${line}\n${" ".repeat(18)}${printable(advice)}`;
}

function summary(checks: readonly Check[], log: CheckedLog): string {
  const failed = checks.filter(({ state }) => state === "fail").length;
  const warned = checks.filter(({ state }) => state === "warn").length;
  const warnings = warned > 0 ? ` · ${countOf(warned, "warning")}` : "";
  return failed > 0
    ? `${paint("bad", `${countOf(failed, "check")} failed`)}: ${log.text}${warnings}`
    : `${paint("good", "no check failed")}: ${log.text}${warnings}`;
}

type CheckedLog = {
  readonly checks: readonly Check[];
  /** For the last line. */
  readonly text: string;
  readonly verdict?: Verdict;
};

const memoryLog: CheckedLog = {
  checks: [{ name: "log", state: "ok", text: "the running daemon keeps its log in memory" }],
  text: "the log is in memory",
};

async function checkLog(directory: string): Promise<CheckedLog> {
  let progress: Progress | undefined;
  const showProgress = (done: number, total: number): void => {
    progress ??= new Progress(total, "entries");
    progress.advance(done);
  };
  const name = "log";
  try {
    const verdict = await verifyLog(directory, showProgress);
    progress?.end();
    const { problems, warnings } = verdict;
    const entries = countOf(verdict.entries, "entry", "entries");
    const counts = `${entries} and ${countOf(verdict.snapshots.length, "snapshot")}`;
    const text = `${counts} in ${printPath(directory)}`;
    const warned = warnings.map((warning): Check => ({ name, state: "warn", text: warning }));
    const verified: Check = { name, state: "ok", text: `verified ${counts}` };
    if (problems.length === 0) return { checks: [verified, ...warned], text, verdict };
    const advice = "copy the directory before anything else; docs/damage.md says what can be done";
    const failures = problems.map((problem): Check => ({ name, state: "fail", text: problem }));
    const [first, ...rest] = failures;
    const checks = [...(first ? [{ ...first, advice }] : []), ...rest, ...warned];
    return { checks, text, verdict };
  } catch (error) {
    if (!(error instanceof LogError)) throw error;
    const text = `the log in ${printPath(directory)} was not verified`;
    return { checks: [{ name, state: "fail", text: error.message }], text };
  }
}

const nodeMajorMin = 24;

function checkNode(): Check {
  const { node } = process.versions;
  const isNew = Number(node.split(".")[0]) >= nodeMajorMin;
  if (isNew) return { name: "node", state: "ok", text: node };
  const advice = `install Node ${nodeMajorMin} or newer, or run npm ci in the checkout`;
  return { name: "node", state: "fail", text: `${node} is too old`, advice };
}

/**
 * The log can be checked without a daemon, so a daemon that is not running is not a failure. It is a warning if a
 * daemon has run here before, because agents and people may rely on it.
 */
async function askDaemon(values: Values): Promise<{
  readonly check: Check;
  readonly overview?: Overview;
}> {
  const name = "daemon";
  try {
    const overview = await askOverview(values);
    const { nowMs, startedAtMs, pid } = overview;
    const text = `${overview.version} · up ${forHowLong(nowMs - startedAtMs)} · process ${pid}`;
    if (overview.version === version) return { check: { name, state: "ok", text }, overview };
    const advice = `this command is ${version}: stop the daemon and start it again`;
    return { check: { name, state: "warn", text, advice }, overview };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const isDown = error.code === "not_running";
    const text = isDown ? "is not running; tipstaff up starts it" : error.message;
    const isFine = isDown && !hasLog(dataDirectoryFrom(values));
    return { check: { name, state: isFine ? "ok" : "warn", text, ...adviceOf(error) } };
  }
}

function adviceOf({ code, advice: [first] }: Failure): { readonly advice?: string } {
  return code === "not_running" || first === undefined ? {} : { advice: first };
}

/** What agents hand in, and the token, are for this user alone. */
function checkPermissions(directory: string): readonly Check[] {
  const files = [
    { name: "directory", path: directory, mode: 0o700 },
    { name: "token", path: tokenPath(directory), mode: 0o600 },
    { name: "socket", path: socketIn(directory), mode: 0o700 },
  ];
  return files.flatMap(({ name, path, mode }): readonly Check[] => {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (!stat) return [];
    const shown = printPath(path);
    const own = process.getuid?.();
    if (own !== undefined && stat.uid !== own) {
      const advice = `run this as its owner, or: chown ${own} ${shown}`;
      return [{ name, state: "warn", text: `${shown} belongs to user ${stat.uid}`, advice }];
    }
    const others = stat.mode & 0o077;
    if (others === 0) return [{ name, state: "ok", text: `${shown}, for you alone` }];
    const digits = (stat.mode & 0o777).toString(8);
    const advice = `chmod ${mode.toString(8)} ${shown}`;
    const text = `${shown} is open to other users (${digits})`;
    return [{ name, state: name === "token" ? "fail" : "warn", text, advice }];
  });
}

const diskBytesLow = 1_000_000_000;
const diskBytesLeast = 100_000_000;

function checkDisk(directory: string): readonly Check[] {
  try {
    const { bavail, bsize } = statfsSync(directory);
    const free = bavail * bsize;
    const text = `${bytesOf(free)} free`;
    if (free >= diskBytesLow) return [{ name: "disk", state: "ok", text }];
    const advice = "free some, or keep less of the log: when the disk is full the daemon stops";
    return [{ name: "disk", state: free < diskBytesLeast ? "fail" : "warn", text, advice }];
  } catch {
    return [];
  }
}

/** No log is older than this program. */
const earliestMs = Date.UTC(2026, 0, 1);
const stepMsMax = 500;
const differenceMsMax = 2_000;

function checkClock(
  begun: { readonly wallMs: number; readonly steadyMs: number },
  overview: Overview | undefined,
): Check {
  const name = "clock";
  const nowMs = Date.now();
  const advice = "let the system keep the time, with chrony, ntpd or systemd-timesyncd";
  if (nowMs < earliestMs) {
    return { name, state: "fail", text: `it says ${new Date(nowMs).toISOString()}`, advice };
  }
  const stepMs = nowMs - begun.wallMs - (performance.now() - begun.steadyMs);
  if (Math.abs(stepMs) > stepMsMax) {
    return { name, state: "warn", text: `it jumped by ${Math.round(stepMs)} ms just now`, advice };
  }
  // The daemon never lets its own time go back: if it is ahead, the clock was set back.
  const aheadMs = overview ? overview.nowMs - begun.wallMs : 0;
  if (aheadMs > differenceMsMax) {
    const text = `the daemon is ${forHowLong(aheadMs)} ahead: the clock was set back`;
    return { name, state: "warn", text, advice: "it goes on when the clock has caught up" };
  }
  return { name, state: "ok", text: overview ? "steady, and as the daemon's" : "steady" };
}

function checkRetention(overview: Overview | undefined): readonly Check[] {
  if (!overview) return [];
  const { retained, nowMs } = overview;
  const { bytes, oldestAtMs, keepMs, keepBytes } = retained;
  const name = "retention";
  const bounds = [
    ...(keepBytes === undefined ? [] : [bytesOf(keepBytes)]),
    ...(keepMs === undefined ? [] : [forHowLong(keepMs)]),
  ];
  const bound = bounds.length > 0 ? `, kept up to ${bounds.join(" or ")}` : ", kept for ever";
  const text = `${bytesOf(bytes)}, since ${ago(oldestAtMs, nowMs)}${bound}`;
  // Cutting is done in steps, and never what somebody still needs: a little over is as it should be.
  const isOver = keepBytes !== undefined && bytes > keepBytes * 1.5;
  if (!isOver) return [{ name, state: "ok", text }];
  const advice = "the log is not cut as it should be: the daemon's last lines say why";
  return [{ name, state: "warn", text, advice }];
}
