/**
 * `tipstaff notify`: tells when an agent begins to wait for a person: on the desktop, with the terminal's bell,
 * or by a command. Once for each time it waits.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Writable } from "node:stream";
import { jsonOf, print, printable, say } from "../terminal/index.ts";
import type { Sighting } from "../wire/api/index.ts";
import { exits } from "./exits.ts";
import { mistake } from "./failure.ts";
import { followAgents } from "./feed.ts";
import { limits } from "./limits.ts";
import { lookingFrom } from "./looking.ts";
import { goesBy, namesOf } from "./one-list.ts";
import { doingOf, whereOf } from "./sighting-words.ts";
import type { Values } from "./table.ts";
import { atTime } from "./times.ts";
import { textIn } from "./values.ts";

type Way = (agent: Sighting) => Promise<void>;

export async function notify(values: Values): Promise<number> {
  const way = wayFrom(values);
  const name = textIn(values, "agent");
  const ending = new AbortController();
  const end = (): void => ending.abort();
  process.on("SIGINT", end);
  process.on("SIGTERM", end);
  const episodes = new Episodes();
  const telling = new Set<Promise<void>>();
  const following = followAgents(values, lookingFrom(values), ending.signal);
  try {
    for await (const { agents, nowMs } of following) {
      const meant = agents.filter((agent) => name === undefined || goesBy(agent, name));
      const fresh = episodes.begun(meant, nowMs);
      for (const agent of fresh) {
        const line = values["json"] === true ? jsonOf(agent) : lineOf(agent, nowMs);
        print(`${line}\n`);
        while (telling.size >= limits.notificationsMax) await Promise.race(telling);
        const told = way(agent).finally(() => telling.delete(told));
        telling.add(told);
      }
      if (values["once"] === true && fresh.length > 0) break;
    }
    await Promise.all(telling);
    return exits.ok;
  } finally {
    process.off("SIGINT", end);
    process.off("SIGTERM", end);
  }
}

/**
 * Who waits, by all names that each is known by: a better source may give it another id meanwhile. Whoever is
 * seen doing something else has stopped waiting; who is not seen at all may only be between two files.
 */
export class Episodes {
  /** When each was last seen waiting. */
  readonly #waiting = new Map<string, number>();

  /** Those that begin to wait. */
  begun(agents: readonly Sighting[], nowMs: number): readonly Sighting[] {
    const fresh: Sighting[] = [];
    for (const agent of agents) {
      const names = namesOf(agent);
      if (agent.state === "waiting") {
        if (!names.some((name) => this.#waiting.has(name))) fresh.push(agent);
        for (const name of names) this.#waiting.set(name, nowMs);
      } else {
        for (const name of names) this.#waiting.delete(name);
      }
    }
    for (const [name, seenAtMs] of this.#waiting) {
      if (nowMs - seenAtMs > limits.unseenMs) this.#waiting.delete(name);
    }
    return fresh;
  }
}

function wayFrom(values: Values): Way {
  const command = textIn(values, "command");
  if (command !== undefined && values["bell"] === true) {
    throw mistake("give --bell or --command, not both");
  }
  if (command === "")
    throw mistake("--command is a command, such as 'say \"$TIPSTAFF_NAME waits\"'");
  if (command !== undefined) return (agent) => runCommand(command, agent);
  if (values["bell"] === true) return ringBell;
  const [program] = desktopWords("", "");
  hasDesktop = isInstalled(program);
  if (!hasDesktop) {
    say(`${program} is not installed: the bell rings instead; --command runs something else\n`);
  }
  return showOnDesktop;
}

function isInstalled(program: string): boolean {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.some((folder) => existsSync(join(folder, program)));
}

async function ringBell(): Promise<void> {
  // To the terminal, whatever becomes of the output.
  say("\x07");
}

/**
 * The user's own words go to the shell; what the agent says goes beside them, as variables and on standard
 * input, where no shell reads it.
 */
async function runCommand(command: string, agent: Sighting): Promise<void> {
  const code = await run("/bin/sh", ["-c", command], {
    env: { ...process.env, ...variablesOf(agent) },
    input: `${jsonOf(agent)}\n`,
  });
  if (code !== 0) say(`the command ended with ${code}\n`);
}

/** A variable cannot hold a zero. */
export function variablesOf(agent: Sighting): Readonly<Record<string, string>> {
  const { id, name, state, host, pid, sinceMs, workspace, branch, doing, task, goal, tmux } = agent;
  const told = {
    TIPSTAFF_ID: id,
    TIPSTAFF_NAME: name,
    TIPSTAFF_STATE: state,
    TIPSTAFF_HOST: host,
    TIPSTAFF_PID: pid,
    TIPSTAFF_SINCE_MS: sinceMs,
    TIPSTAFF_WORKSPACE: workspace,
    TIPSTAFF_BRANCH: branch,
    TIPSTAFF_DOING: doing,
    TIPSTAFF_TASK: task,
    TIPSTAFF_GOAL: goal,
    TIPSTAFF_TMUX_SOCKET: tmux?.socket,
    TIPSTAFF_TMUX_PANE: tmux?.pane,
    TIPSTAFF_KNOWN_FROM: agent.known[0]?.source,
  };
  return Object.fromEntries(
    Object.entries(told).map(([key, value]) => [key, String(value ?? "").replaceAll("\0", "")]),
  );
}

let hasDesktop = true;

async function showOnDesktop(agent: Sighting): Promise<void> {
  if (hasDesktop) {
    const title = printable(`${agent.name} waits for you`);
    const body = [whereOf(agent), doingOf(agent)].filter(Boolean).map(printable).join("\n");
    const [command, ...words] = desktopWords(title, body);
    const code = await run(command, words, { env: process.env, input: "" });
    if (code === 0) return;
    hasDesktop = false;
    say(`${command} cannot show anything here (${code}); the bell rings instead\n`);
  }
  await ringBell();
}

/** What the agent says is an argument of its own, never part of a script. */
export function desktopWords(
  title: string,
  body: string,
  platform: string = process.platform,
): readonly [string, ...string[]] {
  if (platform !== "darwin") {
    // Its text is read as markup by those who show it.
    const plain = body.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
    return ["notify-send", "--app-name=tipstaff", "--", title, plain];
  }
  const script = [
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
  ];
  return ["osascript", ...script.flatMap((line) => ["-e", line]), "--", title, body];
}

/** The exit code, or why there is none. */
function run(
  command: string,
  words: readonly string[],
  { env, input }: { readonly env: NodeJS.ProcessEnv; readonly input: string },
): Promise<number | string> {
  return new Promise((resolve) => {
    let child: ChildProcessByStdio<Writable, null, null>;
    try {
      child = spawn(command, words, { env, stdio: ["pipe", "inherit", "inherit"] });
    } catch (cause) {
      // Not even begun: the environment may be too long for the system.
      return resolve(cause instanceof Error ? cause.message : String(cause));
    }
    const timer = setTimeout(() => child.kill("SIGKILL"), limits.notificationMs);
    child.on("error", (cause) => {
      clearTimeout(timer);
      resolve("code" in cause && cause.code === "ENOENT" ? "it is not installed" : cause.message);
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve(code ?? signal ?? "unknown");
    });
    // Whoever does not read it closes the pipe.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

function lineOf(agent: Sighting, nowMs: number): string {
  const parts = [`${agent.name} waits for you`, whereOf(agent), doingOf(agent)];
  const said = parts.filter((part) => part !== "").map(printable);
  return `${atTime(agent.sinceMs ?? nowMs, nowMs)}  ${said.join(" · ")}`;
}
