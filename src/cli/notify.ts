/**
 * `tipstaff notify`: notifies the user when a job or an agent asks a question, or an agent begins to wait for a
 * person. It shows a desktop notification, rings the terminal's bell, or runs a command: once for each question, and
 * once each time an agent begins to wait.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Writable } from "node:stream";
import { jsonOf, print, printable, say } from "../terminal/index.ts";
import type { Question, Sighting } from "../wire/api/index.ts";
import { exits } from "./exits.ts";
import { mistake } from "./failure.ts";
import { followAgents } from "./feed.ts";
import { limits } from "./limits.ts";
import { lookingFrom } from "./looking.ts";
import { goesBy, namesOf } from "./one-list.ts";
import { choicesOf, commandFor, isAskedBy, promptOf, UnreadTeller } from "./question-words.ts";
import { doingOf, whereOf } from "./sighting-words.ts";
import type { Values } from "./table.ts";
import { atTime } from "./times.ts";
import { textIn } from "./values.ts";

/** Something that needs a person now. */
type Notice = {
  readonly atMs: number;
  readonly title: string;
  /** The lines of the notification's text. */
  readonly lines: readonly string[];
  /** What `--json` prints, and what a command gets on its standard input. */
  readonly record: Sighting | { readonly question: Question };
  readonly variables: Readonly<Record<string, string>>;
};

type Way = (notice: Notice) => Promise<void>;

export async function notify(values: Values): Promise<number> {
  const way = wayFrom(values);
  const name = textIn(values, "agent");
  const ending = new AbortController();
  const end = (): void => ending.abort();
  process.on("SIGINT", end);
  process.on("SIGTERM", end);
  const episodes = new Episodes();
  const asked = new Asked();
  const unread = new UnreadTeller();
  const telling = new Set<Promise<void>>();
  const following = followAgents(values, lookingFrom(values), ending.signal);
  try {
    let wasDownTold = false;
    for await (const around of following) {
      const { questions, agents, nowMs, isDaemonLost } = around;
      if (around.isDaemonMissing && !wasDownTold) {
        wasDownTold = true;
        say(
          "no daemon is running, so there are no notifications for questions; tipstaff up starts one\n",
        );
      }
      unread.look(around);
      const meant = agents.filter((agent) => name === undefined || goesBy(agent, name));
      const open = questions.filter((one) => name === undefined || isAskedBy(one, name));
      // An agent that asks is announced by its question.
      const waiting = episodes
        .begun(meant, nowMs)
        .filter(({ questionId }) => questionId === undefined);
      // While the daemon is away, `questions` is empty. Skipping it keeps known questions from being announced again
      // later.
      const newlyAsked = isDaemonLost ? [] : asked.begun(open);
      const fresh = [
        ...newlyAsked.map((question) => noticeOfQuestion(question, questions)),
        ...waiting.map((agent) => noticeOfAgent(agent, nowMs)),
      ];
      for (const notice of fresh) {
        const line = values["json"] === true ? jsonOf(notice.record) : lineOf(notice, nowMs);
        print(`${line}\n`);
        while (telling.size >= limits.notificationsMax) await Promise.race(telling);
        const told = way(notice).finally(() => telling.delete(told));
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

/** The open questions that were announced. */
export class Asked {
  #told: ReadonlySet<string> = new Set();

  /** The questions that were not announced before. */
  begun(open: readonly Question[]): readonly Question[] {
    const fresh = open.filter(({ id }) => !this.#told.has(id));
    this.#told = new Set(open.map(({ id }) => id));
    return fresh;
  }
}

function noticeOfQuestion(question: Question, open: readonly Question[]): Notice {
  const lines = [promptOf(question), choicesOf(question), commandFor(question, open)];
  return {
    atMs: question.askedAtMs,
    title: `${question.askerName} asks you`,
    lines: lines.filter((line) => line !== ""),
    record: { question },
    variables: variablesOfQuestion(question),
  };
}

function noticeOfAgent(agent: Sighting, nowMs: number): Notice {
  return {
    atMs: agent.sinceMs ?? nowMs,
    title: `${agent.name} waits for you`,
    lines: [whereOf(agent), doingOf(agent)].filter((line) => line !== ""),
    record: agent,
    variables: variablesOf(agent),
  };
}

function wayFrom(values: Values): Way {
  const command = textIn(values, "command");
  if (command !== undefined && values["bell"] === true) {
    throw mistake("give --bell or --command, not both");
  }
  if (command === "")
    throw mistake("--command is a command, such as 'say \"$TIPSTAFF_NAME waits\"'");
  if (command !== undefined) return (notice) => runCommand(command, notice);
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
 * The user's own words go to the shell; what the agent or the job says goes beside them, as variables and on standard
 * input, where no shell reads it.
 */
async function runCommand(command: string, { variables, record }: Notice): Promise<void> {
  const code = await run("/bin/sh", ["-c", command], {
    env: { ...process.env, ...variables },
    input: `${jsonOf(record)}\n`,
  });
  if (code !== 0) say(`the command ended with ${code}\n`);
}

export function variablesOf(agent: Sighting): Readonly<Record<string, string>> {
  const { id, name, state, host, pid, sinceMs, workspace, branch, doing, task, goal, tmux } = agent;
  return asVariables({
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
  });
}

/** Uses the same variable names as for an agent where they mean the same. */
export function variablesOfQuestion(question: Question): Readonly<Record<string, string>> {
  const { id, asker, askerName, askedAtMs, prompt, choices = [] } = question;
  return asVariables({
    TIPSTAFF_ID: asker.id,
    TIPSTAFF_NAME: askerName,
    TIPSTAFF_STATE: "waiting",
    TIPSTAFF_SINCE_MS: askedAtMs,
    TIPSTAFF_DOING: prompt,
    TIPSTAFF_QUESTION: id,
    TIPSTAFF_CHOICES: choices.join("\n"),
  });
}

/** An environment variable cannot contain a zero byte. */
function asVariables(
  told: Readonly<Record<string, string | number | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(told).map(([key, value]) => [key, String(value ?? "").replaceAll("\0", "")]),
  );
}

let hasDesktop = true;

async function showOnDesktop({ title, lines }: Notice): Promise<void> {
  if (hasDesktop) {
    const [command, ...words] = desktopWords(printable(title), lines.map(printable).join("\n"));
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

function lineOf({ atMs, title, lines }: Notice, nowMs: number): string {
  return `${atTime(atMs, nowMs)}  ${[title, ...lines].map(printable).join(" · ")}`;
}
