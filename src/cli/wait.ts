/**
 * `tipstaff wait`: lets scripts wait until a question is open, an agent waits for a person, or agents have nothing
 * more to do.
 */
import { jsonOf, print, printable, say } from "../terminal/index.ts";
import type { Question, Sighting, SightingState } from "../wire/api/index.ts";
import { exits } from "./exits.ts";
import { mistake, no } from "./failure.ts";
import { type Around, followAgents } from "./feed.ts";
import { limits } from "./limits.ts";
import { lookingFrom } from "./looking.ts";
import { goesBy, isFromRegistry } from "./one-list.ts";
import { daemonDownText, dataDirectoryFrom, hasLog } from "./paths.ts";
import { choicesOf, commandFor, isAskedBy, promptOf, UnreadTeller } from "./question-words.ts";
import { doingOf, moreBy, whereOf } from "./sighting-words.ts";
import type { Values } from "./table.ts";
import { forHowLong } from "./times.ts";
import { choiceIn, durationIn, textIn } from "./values.ts";

const goals = ["waiting", "idle", "done"] as const;
type Goal = (typeof goals)[number];

export async function wait(values: Values): Promise<number> {
  const until = choiceIn(values, "until", goals);
  if (until === undefined) throw mistake("wait needs --until waiting, idle or done");
  const name = textIn(values, "agent");
  const timeoutMs = timeoutIn(values);
  const ending = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const judge = new Judge(until, name);
  const looking = { ...lookingFrom(values), agent: name };
  const following = followAgents(values, looking, ending.signal);
  try {
    const directory = dataDirectoryFrom(values);
    let wasDownTold = false;
    const unread = new UnreadTeller();
    for await (const around of following) {
      unread.look(around);
      if (around.isDaemonMissing && !wasDownTold && hasLog(directory)) {
        wasDownTold = true;
        say(`${daemonDownText(directory)}\n`);
      }
      const reached = judge.look(around);
      // From the first look on: however short the time, what is so already counts.
      if (timeoutMs !== undefined) timer ??= setTimeout(() => ending.abort(), timeoutMs);
      if (!reached) continue;
      if (values["json"] === true) print(`${jsonOf({ ...reached, nowMs: around.nowMs })}\n`);
      else print(describeReached(reached, around.questions));
      return exits.ok;
    }
  } finally {
    clearTimeout(timer);
  }
  throw no(`${judge.missing} within ${forHowLong(timeoutMs ?? 0)}`);
}

function timeoutIn(values: Values): number | undefined {
  const ms = durationIn(values, "timeout");
  // A timer that is set for longer rings at once.
  if (ms !== undefined && ms > 2 ** 31 - 1) throw mistake("--timeout is at most 24 days");
  return ms;
}

/** Nothing more will come of what it was told to do. */
const over: readonly SightingState[] = ["idle", "failed", "lost", "stopped"];

/** The questions and agents that ended the wait. `questions` are open ones, and only for the goal `waiting`. */
export type Reached = {
  readonly questions: readonly Question[];
  readonly agents: readonly Sighting[];
};

type Seen = { readonly agent: Sighting; readonly atMs: number };

/**
 * Decides whether what is waited for is there. That nobody tells of an agent any more does not mean that it is
 * done: its file may be between two writings, and its daemon may be starting again.
 */
export class Judge {
  readonly #until: Goal;
  readonly #name: string | undefined;
  /** Whoever is meant and was seen, and when it last was. */
  readonly #seen = new Map<string, Seen>();
  readonly #tell: (text: string) => void;
  #wasTold = false;

  /** `tell`: what is worth knowing while nothing happens. */
  constructor(until: Goal, name: string | undefined, tell: (text: string) => void = say) {
    this.#until = until;
    this.#name = name;
    this.#tell = tell;
  }

  /** Those for which it is so; undefined as long as it is not. */
  look(around: Around): Reached | undefined {
    const meant = around.agents.filter((agent) => this.#isMeant(agent));
    if (this.#until === "waiting") {
      // Checked before the messages about agents, because the asker may be a job and not an agent.
      const questions = around.questions.filter((one) => this.#isMeantBy(one));
      const agents = meant.filter(({ state }) => state === "waiting");
      if (questions.length > 0 || agents.length > 0) return { questions, agents };
    }
    if (this.#name !== undefined && meant.length === 0 && this.#seen.size === 0) {
      this.#tellOnce(`there is no agent ${printable(this.#name)} yet; waiting for it`);
      return undefined;
    }
    for (const agent of meant) this.#seen.set(agent.id, { agent, atMs: around.nowMs });
    if (this.#until === "waiting") {
      if (meant.length === 0) this.#tellOnce("there are no agents yet; waiting for one that waits");
      return undefined;
    }
    const agents = this.#allOver(around);
    return agents && { questions: [], agents };
  }

  #allOver(around: Around): readonly Sighting[] | undefined {
    const meant = [...this.#seen.values()].map((seen) => asItIs(seen, around));
    if (meant.some(({ state }) => state === "unknown") && this.#name !== undefined) {
      const more = moreBy(meant.find((agent) => agent.hint !== undefined)?.hint);
      this.#tellOnce(`what ${printable(this.#name)} does is not known${more && `; ${more}`}`);
    }
    // Of whom nothing is known nothing can be waited for, unless it was named.
    const judged =
      this.#name === undefined ? meant.filter(({ state }) => state !== "unknown") : meant;
    // One that was named may come back; of the others those that are there count.
    const isGoneFine = this.#until === "done" || this.#name === undefined;
    const states: readonly SightingState[] = this.#until === "idle" ? ["idle"] : over;
    const isOver = (agent: Sighting): boolean =>
      states.includes(agent.state) || (isGone(agent) && isGoneFine);
    if (!judged.every(isOver)) return undefined;
    if (judged.length === 0) {
      const none = meant.length === 0 ? "there are no agents" : "no agent says what it does";
      this.#tellOnce(`${none}; there is nothing to wait for`);
    }
    return this.#until === "idle" ? judged.filter((agent) => !isGone(agent)) : judged;
  }

  /** What has not come about. */
  get missing(): string {
    const who = this.#name === undefined ? undefined : printable(this.#name);
    if (who !== undefined && this.#seen.size === 0) return `no agent ${who} was seen`;
    if (this.#until === "waiting")
      return `${who ?? "no agent"} ${who ? "did not wait" : "waited"} for you`;
    return `${who ?? "some agent"} was not ${this.#until}`;
  }

  #isMeant(agent: Sighting): boolean {
    return this.#name === undefined || goesBy(agent, this.#name);
  }

  #isMeantBy(question: Question): boolean {
    return this.#name === undefined || isAskedBy(question, this.#name);
  }

  #tellOnce(text: string): void {
    if (this.#wasTold) return;
    this.#wasTold = true;
    this.#tell(`${text}\n`);
  }
}

/** As it is now, or was last seen; and gone if that was too long ago. */
function asItIs({ agent, atMs }: Seen, { nowMs, isDaemonLost }: Around): Sighting {
  const isSilentSource = isDaemonLost && isFromRegistry(agent);
  if (nowMs - atMs <= limits.goneMs || isSilentSource) return agent;
  return { ...agent, state: "stopped", doing: gone };
}

const gone = "gone: nothing tells of it any more";

function isGone({ state, doing }: Sighting): boolean {
  return state === "stopped" && doing === gone;
}

/**
 * The questions, then the agents except those whose question is listed. Agents and questions are two requests to the
 * daemon, so an agent may ask a question that is not among them. Exported for its test.
 */
export function describeReached({ questions, agents }: Reached, open: readonly Question[]): string {
  const listed = new Set(questions.map(({ id }) => id));
  const others = agents.filter(({ questionId = "" }) => !listed.has(questionId));
  const lines = [...questions.map((one) => askedLine(one, open)), ...others.map(lineOf)];
  return lines.map((line) => `${line}\n`).join("");
}

/** One line with everything that is needed to answer. */
function askedLine(question: Question, open: readonly Question[]): string {
  const { askerName } = question;
  const choices = choicesOf(question);
  const said = promptOf(question) + (choices === "" ? "" : ` (${choices})`);
  return ["asks", askerName, said, commandFor(question, open)].map(printable).join("  ");
}

function lineOf(agent: Sighting): string {
  const parts = [agent.state, agent.name, agent.id, whereOf(agent), doingOf(agent)];
  return parts
    .filter((part) => part !== "")
    .map(printable)
    .join("  ");
}
