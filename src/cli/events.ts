/** `tipstaff events`, and the `watch` of each noun: what happens, one line each. */
import { fit, jsonOf, paint, print, printable, say, screen } from "../terminal/index.ts";
import type { Entry } from "../wire/api/index.ts";
import { findAgentIfAny } from "./agents.ts";
import { call } from "./daemon.ts";
import { describeEntry, Names } from "./entry-line.ts";
import { exits } from "./exits.ts";
import { mistake } from "./failure.ts";
import { follow } from "./follow.ts";
import { limits } from "./limits.ts";
import type { Values } from "./table.ts";
import { atTime } from "./times.ts";
import { numberIn, textIn, textsIn } from "./values.ts";

export async function events(values: Values): Promise<number> {
  const after = numberIn(values, "after");
  const limit = numberIn(values, "limit");
  if (after !== undefined && after < 0)
    throw mistake("--after is the sequence of an entry, 0 or more");
  if (limit !== undefined && limit < 1) throw mistake("--limit is 1 or more");
  const isFollowing = values["follow"] === true;
  const prefixes = textsIn(values, "topic") ?? [];
  const word = textIn(values, "about");
  const about = word === undefined ? undefined : await subjectOf(values, word);
  const printer = await EntryPrinter.open(values, { prefixes, about });
  if (after !== undefined) {
    const code = await stream(values, printer, { after, limit, isFollowing });
    if (!isFollowing) sayIfNone(printer, word);
    return code;
  }
  const last = await lastEntries(values, {
    limit: limit ?? limits.entriesDefault,
    prefixes,
    about,
  });
  for (const entry of last.entries) if (!printer.show(entry)) return exits.ok;
  if (!isFollowing) {
    sayIfNone(printer, word);
    return exits.ok;
  }
  return await stream(values, printer, { after: last.sequence, limit: undefined, isFollowing });
}

/**
 * The id that a word stands for. What is an id already stays so: an agent that has the name of a group can be
 * given by its own id, a group cannot.
 */
async function subjectOf(values: Values, word: string): Promise<string> {
  if (word === "" || /^[0-9a-f]{32}$/.test(word)) return word;
  const { rows } = await call(values, "listEntries", { about: word, limit: 1 });
  if (rows.length > 0) return word;
  return (await findAgentIfAny(values, word))?.id ?? word;
}

function sayIfNone(printer: EntryPrinter, about: string | undefined): void {
  if (about === undefined || printer.hasShown) return;
  say(`tipstaff: no events about ${printable(about)}\n`);
}

const prefixesOf = {
  agents: ["agent."],
  leases: ["lease."],
  elections: ["leader.", "election."],
  policies: ["policy."],
  tasks: ["task."],
} as const;

/** From now on, until it is interrupted. */
export async function watch(noun: keyof typeof prefixesOf, values: Values): Promise<number> {
  const printer = await EntryPrinter.open(values, { prefixes: prefixesOf[noun], about: undefined });
  if (process.stderr.isTTY) say(`watching ${noun}; ctrl-c stops\n`);
  return await stream(values, printer, {
    after: printer.sequence,
    limit: undefined,
    isFollowing: true,
  });
}

type Range = {
  readonly after: number;
  readonly limit: number | undefined;
  /** Else up to the last entry there is at the beginning. */
  readonly isFollowing: boolean;
};

async function stream(values: Values, printer: EntryPrinter, range: Range): Promise<number> {
  let left = range.limit ?? Number.POSITIVE_INFINITY;
  let end = Number.POSITIVE_INFINITY;
  let isLost = false;
  // Where there is an end, every entry must come by to know that it was reached.
  const topics = range.isFollowing ? printer.topics : [];
  const options = { after: range.after, topics, isPatient: range.isFollowing };
  for await (const followed of follow(values, options)) {
    switch (followed.kind) {
      case "connected":
        if (!range.isFollowing) end = followed.sequence;
        if (isLost) say("tipstaff: the daemon is back\n");
        isLost = false;
        break;
      case "lost":
        if (!isLost) say(`tipstaff: ${followed.message}; waiting for it\n`);
        isLost = true;
        break;
      case "gap":
        say(`tipstaff: a gap: ${followed.message}\n`);
        break;
      case "entry":
        if (printer.has(followed.entry)) {
          if (!printer.show(followed.entry)) return exits.ok;
          left -= 1;
        } else {
          printer.learn(followed.entry);
        }
    }
    const position = followed.kind === "entry" ? followed.entry.sequence : range.after;
    if (left <= 0 || position >= end) return exits.ok;
  }
  return exits.ok;
}

/** The newest that are asked for, oldest first. */
async function lastEntries(
  values: Values,
  { limit, prefixes, about }: Filter & { readonly limit: number },
): Promise<{ readonly entries: readonly Entry[]; readonly sequence: number }> {
  const newestFirst: Entry[] = [];
  let before: number | undefined;
  let sequence: number | undefined;
  do {
    const page = await call(values, "listEntries", {
      limit: Math.min(limits.pageMax, limit - newestFirst.length),
      ...(before === undefined ? {} : { before }),
      ...(prefixes.length > 0 ? { type: prefixes } : {}),
      ...(about === undefined ? {} : { about }),
    });
    sequence ??= page.sequence;
    newestFirst.push(...page.rows);
    before = page.next;
  } while (before !== undefined && newestFirst.length < limit);
  return { entries: newestFirst.reverse(), sequence: sequence ?? 0 };
}

type Filter = {
  /** Of topics, or of types: what is not published has no topic. */
  readonly prefixes: readonly string[];
  readonly about: string | undefined;
};

class EntryPrinter {
  readonly #isJson: boolean;
  readonly #filter: Filter;
  readonly #names = new Names();
  #hasShown = false;
  /** Up to which entry the names are known. */
  readonly sequence: number;

  static async open(values: Values, filter: Filter): Promise<EntryPrinter> {
    const page = await call(values, "listAgents", { sort: "newest", limit: limits.pageMax });
    const printer = new EntryPrinter(values["json"] === true, filter, page.sequence);
    for (const agent of [...page.rows].reverse()) printer.#names.learn(agent);
    return printer;
  }

  private constructor(isJson: boolean, filter: Filter, sequence: number) {
    this.#isJson = isJson;
    this.#filter = filter;
    this.sequence = sequence;
  }

  /** For the daemon: what is wanted, under the names of both kinds of topics, and who the agents are. */
  get topics(): readonly string[] {
    const { prefixes } = this.#filter;
    if (prefixes.length === 0) return [];
    return [...prefixes, ...prefixes.map((prefix) => `ext.${prefix}`), "agent.registered"];
  }

  has(entry: Entry): boolean {
    const { prefixes, about } = this.#filter;
    const isWanted =
      prefixes.length === 0 ||
      prefixes.some((prefix) => entry.topic.startsWith(prefix) || entry.type.startsWith(prefix));
    return isWanted && (about === undefined || subjectsOf(entry).includes(about));
  }

  get hasShown(): boolean {
    return this.#hasShown;
  }

  learn(entry: Entry): void {
    if ("agent" in entry) this.#names.learn(entry.agent);
  }

  /** False once nobody reads any more. */
  show(entry: Entry): boolean {
    this.learn(entry);
    this.#hasShown = true;
    if (this.#isJson) return print(`${jsonOf(entry)}\n`);
    const { text, tone } = describeEntry(entry, this.#names);
    const head = `${atTime(entry.atMs, Date.now())}  ${String(entry.sequence).padStart(6)}  `;
    const type = entry.type.padEnd(18);
    const room = screen().columns;
    const line = printable(text);
    const shown = room === undefined ? line : fit(line, Math.max(8, room - head.length - 20));
    return print(`${paint("dim", head + type)}  ${paint(tone, shown)}\n`);
  }
}

/** The ids it is about. */
export function subjectsOf(entry: Entry): readonly (string | undefined)[] {
  if ("agent" in entry) return [entry.agent.id];
  if ("observed" in entry) return [entry.observed.id];
  if ("lease" in entry) return [entry.lease.taskId, entry.lease.holder];
  if ("policy" in entry) return [entry.policy.id];
  if ("task" in entry) return [entry.task.id, entry.task.claimant];
  if ("group" in entry) return [entry.group, "agentId" in entry ? entry.agentId : entry.leader];
  if ("agentId" in entry) return [entry.agentId];
  if ("question" in entry && entry.question) return [entry.id, entry.question.asker.id];
  return "taskId" in entry ? [entry.taskId] : [];
}
