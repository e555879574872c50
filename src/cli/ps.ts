/**
 * `tipstaff ps`: open questions to people; then every agent that is around, those that wait for you first; then the
 * jobs that run.
 */
import { jsonOf, paint, print, printable, say, screen, widthOf } from "../terminal/index.ts";
import type { Job, Question, Sighting } from "../wire/api/index.ts";
import { type Column, gapCells, printColumns } from "./columns.ts";
import { exits } from "./exits.ts";
import {
  asksIn,
  briefLullOf,
  isSpent,
  jobTone,
  progressOf,
  spentOf,
  standingOf,
  waitsIn,
} from "./job-words.ts";
import { limits } from "./limits.ts";
import { type Look, lookAround } from "./look-around.ts";
import { daemonDownText } from "./paths.ts";
import { choicesOf, commandFor, promptOf, unreadText } from "./question-words.ts";
import {
  doingOf,
  isOfInterest,
  knownFrom,
  markOf,
  spentBy,
  summaryOf,
  toneOf,
  whereOf,
} from "./sighting-words.ts";
import type { Values } from "./table.ts";
import { countOf, forHowLong } from "./times.ts";

export async function ps(values: Values): Promise<number> {
  const look = await lookAround(values);
  const shown =
    values["all"] === true
      ? look.agents
      : look.agents.filter((agent) => isOfInterest(agent, look.nowMs));
  if (values["json"] === true) {
    const { questions, agents, untold, nowMs, warnings } = look;
    const { agentsError, questionsError, jobsError } = look;
    const unread = { agentsError, questionsError, jobsError };
    const down = look.downDirectory === undefined ? {} : { isDaemonDown: true };
    const jobs = look.jobs && { jobs: look.jobs.rows };
    const total = agents.length + untold;
    print(
      `${jsonOf({ questions, ...unread, agents: shown, total, ...jobs, nowMs, warnings, ...down })}\n`,
    );
    return exits.ok;
  }
  if (look.downDirectory !== undefined) say(`${daemonDownText(look.downDirectory)}\n`);
  say(unreadText(look));
  print(describeQuestions(look));
  print(describeAround(shown, look));
  print(describeJobs(look));
  const broken = look.warnings.filter(({ kind }) => kind !== "id-mismatch").length;
  if (broken > 0) {
    say(`${countOf(broken, "status file")} cannot be read; agent-status list says why\n`);
  }
  return exits.ok;
}

/** Empty if there are no open questions. Exported for its test. */
export function describeQuestions({
  questions,
  nowMs,
  columns: room = screen().columns ?? Number.POSITIVE_INFINITY,
}: Pick<Look, "questions" | "nowMs"> & { readonly columns?: number }): string {
  if (questions.length === 0) return "";
  const shown = questions.slice(0, limits.questionsShownMax);
  const age = ({ askedAtMs }: Question): string => forHowLong(nowMs - askedAtMs);
  const timeLeft = ({ expiresAtMs }: Question): string =>
    expiresAtMs === undefined ? "" : forHowLong(expiresAtMs - nowMs);
  const before = [
    { title: "  ASKS YOU", texts: shown.map(({ askerName }) => `? ${askerName}`) },
    { title: "FOR", texts: shown.map(age) },
    { title: "CLOSES IN", texts: shown.map(timeLeft) },
    { title: "QUESTION", texts: shown.map(promptOf), cellsMax: limits.promptCellsMin },
  ];
  const cellsMax = room - cellsOf(before);
  const commandOf = (one: Question): string => commandFor(one, questions, { cellsMax });
  const columns: readonly Column<Question>[] = [
    {
      title: "  ASKS YOU",
      cell: ({ askerName }) => ({ text: `? ${askerName}`, tone: "warn" }),
      weight: 8,
      cellsMin: 12,
    },
    { title: "FOR", cell: age, weight: 9 },
    { title: "CLOSES IN", cell: timeLeft, weight: 9 },
    { title: "QUESTION", cell: promptOf, weight: 7, cellsMin: 20 },
    // Left out rather than cut: half of the choices would be read as all of them.
    {
      title: "EXPECTS",
      cell: (one) => (commandOf(one).includes(choicesOf(one)) ? "" : choicesOf(one)),
      weight: 1,
    },
    { title: "ANSWER WITH", cell: commandOf, weight: 10 },
  ];
  const more = questions.length - shown.length;
  const counts = [
    countOf(questions.length, "question waits for your answer", "questions wait for your answer"),
    ...(more > 0 ? [`${countOf(more, "more is", "more are")} in tipstaff needs`] : []),
  ];
  return `${printColumns(shown, columns)}\n${paint("dim", counts.join(" · "))}\n\n`;
}

type Texts = {
  readonly title: string;
  readonly texts: readonly string[];
  readonly cellsMax?: number;
};

/** The width of these columns with the gaps behind them. A column without text is not shown. */
function cellsOf(columns: readonly Texts[]): number {
  const widths = columns
    .filter(({ texts }) => texts.some((text) => text !== ""))
    .map(({ title, texts, cellsMax = Number.POSITIVE_INFINITY }) =>
      Math.min(cellsMax, Math.max(...[title, ...texts].map((text) => widthOf(printable(text))))),
    );
  return widths.reduce((sum, width) => sum + width + gapCells, 0);
}

/** Exported for its test: what else runs on a machine is not the test's to say. */
export function describeAround(shown: readonly Sighting[], look: Look): string {
  const { agents, untold, nowMs } = look;
  const hidden = agents.length - shown.length;
  const more = hidden === 0 ? "" : `${hidden} that ended or were lost: --all shows them`;
  if (shown.length === 0) {
    const empty =
      look.downDirectory === undefined && look.agentsError === undefined
        ? "no agents; run tipstaff install claude-code to see your Claude Code sessions here"
        : "no agents are known without the daemon";
    return `${empty}\n${more === "" ? "" : `${paint("dim", more)}\n`}`;
  }
  const further =
    untold === 0 ? "" : `at least ${untold} more are registered: tipstaff agents lists them`;
  const summary = [summaryOf(shown), more, further].filter((part) => part !== "").join(" · ");
  return `${printColumns(shown, columnsAt(nowMs))}\n${paint("dim", summary)}\n`;
}

/** Nothing where no job runs. Exported for its test. */
export function describeJobs({ jobs, nowMs }: Pick<Look, "jobs" | "nowMs">): string {
  if (!jobs || jobs.rows.length === 0) return "";
  const { rows, total } = jobs;
  const asking = rows.filter(({ state }) => state === "waiting").length;
  const running = rows.filter(({ state }) => state === "running").length;
  const counts = [
    ...(asking === 0 ? [] : [countOf(asking, "job asks you", "jobs ask you")]),
    ...(running === 0 ? [] : [countOf(running, "job runs", "jobs run")]),
    ...waitsIn(rows, nowMs),
    ...(total > rows.length ? [`${total - rows.length} more`] : []),
  ];
  const table = printColumns(rows, jobColumnsAt(rows, nowMs));
  return `\n${table}\n${paint("dim", counts.join(" · "))}\n`;
}

function jobColumnsAt(jobs: readonly Job[], nowMs: number): readonly Column<Job>[] {
  const names = new Map(jobs.map(({ id, agent }) => [id, agent]));
  return [
    {
      title: "  STATE",
      cell: (job) => ({
        text: `${job.state === "pending" ? " " : "●"} ${standingOf(job)}`,
        tone: jobTone(job),
      }),
      weight: 10,
    },
    {
      title: "FOR",
      cell: ({ startedAtMs, createdAtMs }) => forHowLong(nowMs - (startedAtMs ?? createdAtMs)),
      weight: 9,
    },
    { title: "JOB", cell: ({ agent }) => agent, weight: 8, cellsMin: 10 },
    {
      title: "DOING",
      cell: (job) => briefLullOf(job, nowMs) || asksIn(job) || (job.doing ?? ""),
      weight: 3,
      cellsMin: 16,
    },
    { title: "PROGRESS", cell: ({ progress }) => progressOf(progress), weight: 7, cellsMin: 12 },
    {
      title: "SPENT",
      cell: (job) => ({ text: spentOf(job), tone: isSpent(job) ? "bad" : undefined }),
      weight: 6,
      cellsMin: 12,
    },
    {
      title: "PART OF",
      cell: ({ parentId }) => (parentId === undefined ? "" : (names.get(parentId) ?? parentId)),
      weight: 5,
      cellsMin: 10,
    },
    // Ids begin with the time, alike for all of one day: the end tells them apart.
    ...(isWide()
      ? [{ title: "ID", cell: ({ id }: Job) => id, weight: 1, cellsMin: 12, cut: "start" } as const]
      : []),
  ];
}

function isWide(): boolean {
  return (screen().columns ?? Number.POSITIVE_INFINITY) >= limits.wideColumns;
}

function columnsAt(nowMs: number): readonly Column<Sighting>[] {
  return [
    {
      title: "  STATE",
      cell: ({ state }) => ({ text: `${markOf[state]} ${state}`, tone: toneOf[state] }),
      weight: 10,
    },
    {
      title: "FOR",
      cell: ({ sinceMs }) => (sinceMs === undefined ? "" : forHowLong(nowMs - sinceMs)),
      weight: 9,
    },
    { title: "AGENT", cell: ({ name }) => name, weight: 8, cellsMin: 10 },
    { title: "WHERE", cell: whereOf, weight: 6, cellsMin: 14, cut: "start" },
    { title: "DOING", cell: doingOf, weight: 7, cellsMin: 16 },
    { title: "KNOWN FROM", cell: (agent) => knownFrom(agent, nowMs), weight: 5, cellsMin: 18 },
    { title: "SPENT", cell: spentBy, weight: 2 },
    // Only where nothing else has to give way for it.
    ...(isWide() ? [{ title: "ID", cell: ({ id }: Sighting) => id, weight: 1, cellsMin: 12 }] : []),
  ];
}
