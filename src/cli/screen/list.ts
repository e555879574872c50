/** Open questions and the agents, one a line. */
import type { Size } from "../../terminal/index.ts";
import { fit, fitEnd, pad, printable, widthOf } from "../../terminal/index.ts";
import type { Question, Sighting } from "../../wire/api/index.ts";
import { choicesOf, commandFor, promptOf } from "../question-words.ts";
import { doingOf, knownFrom, markOf, toneOf, whereOf } from "../sighting-words.ts";
import { countOf, forHowLong } from "../times.ts";
import { limits } from "./limits.ts";
import { agentsOf, type Model, rowsOf } from "./model.ts";
import { agentRowsIn, cellsIn, questionRowsIn } from "./regions.ts";
import { cellsOf, emptyLine, justify, type Line, span } from "./spans.ts";

/** Open questions, then a line of titles and all agents there is room for. */
export function listOf(model: Model, size: Size): readonly Line[] {
  const cells = cellsIn(size);
  const columns = columnsIn(cells);
  const room = agentRowsIn(model.questions.length, size);
  const rows = rowsOf(model);
  const shown = rows.slice(model.top, model.top + room);
  const lines = shown.map((agent) =>
    rowOf(agent, { columns, model, isSelected: agent.id === model.selectedId }),
  );
  const list = lines.length > 0 ? lines : nobody(model);
  return [...questionsOf(model, size), titlesOf(columns), ...list];
}

/** Oldest first. If there are more questions than lines, the last line says how many. */
function questionsOf({ questions, nowMs }: Model, size: Size): readonly Line[] {
  const rows = questionRowsIn(questions.length, size);
  if (rows === 0) return [];
  const isCut = questions.length > rows;
  const shown = questions.slice(0, isCut ? rows - 1 : rows);
  const names = shown.map(({ askerName }) => fit(printable(askerName), limits.askerCellsMax));
  const ages = shown.map(({ askedAtMs }) => forHowLong(nowMs - askedAtMs));
  const widest = (texts: readonly string[]): number => Math.max(0, ...texts.map(widthOf));
  const cells = cellsIn(size);
  const lines = shown.map((question, index) => {
    const who = pad(names[index] ?? "", widest(names));
    const head = [span(` ? ${who}`, "warn"), span(`  ${pad(ages[index] ?? "", widest(ages))}  `)];
    return questionLine(head, question, { command: commandFor(question, questions), cells });
  });
  const more = countOf(questions.length - shown.length, "more question", "more questions");
  return isCut ? [...lines, [span(` ? ${more}: tipstaff needs lists them`, "warn")]] : lines;
}

/**
 * Appends to the name and age: the prompt, the choices if there is room for all of them, and the command that answers.
 */
function questionLine(
  head: Line,
  question: Question,
  { command, cells }: { readonly command: string; readonly cells: number },
): Line {
  const prompt = printable(promptOf(question));
  const choices = printable(choicesOf(question));
  const left = cells - cellsOf(head) - widthOf(command) - 1;
  // Without room for both, the prompt is shown and the command is not: `tipstaff needs` shows the id.
  if (left < limits.promptCellsMin) return [...head, span(prompt)];
  const whole = choices === "" ? prompt : `${prompt} (${choices})`;
  const said = widthOf(whole) <= left ? whole : fit(prompt, left);
  return justify([...head, span(said)], [span(command, "dim")], cells);
}

function nobody(model: Model): readonly Line[] {
  const { filter, daemon } = model;
  const count = agentsOf(model).length;
  if (count > 0) {
    return [emptyLine, [span(`  none of ${countOf(count, "agent")} has ${filter} in it`)]];
  }
  // Before the first answers are in, nobody can tell.
  if (daemon.kind === "asked") return [emptyLine, [span("  looking around", "dim")]];
  return [
    emptyLine,
    [span("  no agents here yet")],
    [
      span(
        "  tipstaff install claude-code lets one tell what it does; also codex, opencode, pi",
        "dim",
      ),
    ],
  ];
}

type Column = {
  readonly title: string;
  readonly cells: number;
  readonly text: (agent: Sighting, nowMs: number) => string;
};

/** By the width alone, so that no column moves because somebody has a long name. */
function columnsIn(cells: number): readonly Column[] {
  const since: Column = {
    title: "FOR",
    cells: 7,
    text: ({ sinceMs }, nowMs) => (sinceMs === undefined ? "" : forHowLong(nowMs - sinceMs)),
  };
  const name: Column = {
    title: "AGENT",
    cells: share(cells, { of: 0.14, from: 12, to: 24 }),
    text: ({ name }) => name,
  };
  const where: Column = {
    title: "WHERE",
    cells: share(cells, { of: 0.22, from: 16, to: 44 }),
    // A narrow column is for what tells agents apart; the branch is in the detail.
    text: ({ branch, ...agent }) => whereOf(cells < 110 || !branch ? agent : { ...agent, branch }),
  };
  const known: Column = {
    title: "KNOWN FROM",
    cells: share(cells, { of: 0.18, from: 21, to: 36 }),
    text: knownFrom,
  };
  const before = [since, name, ...(cells >= 60 ? [where] : [])];
  const after = cells >= 95 ? [known] : [];
  const taken = [...before, ...after].reduce((sum, column) => sum + column.cells + 2, stateCells);
  const doing: Column = { title: "DOING", cells: Math.max(0, cells - taken - 2), text: doingOf };
  return [...before, doing, ...after];
}

/** The mark of the selection, the mark of the state, and its word. */
const stateCells = 11;

function share(
  cells: number,
  { of, from, to }: { readonly of: number; readonly from: number; readonly to: number },
): number {
  return Math.min(to, Math.max(from, Math.floor(cells * of)));
}

function titlesOf(columns: readonly Column[]): Line {
  const titles = columns.map(({ title, cells }) => `  ${pad(title, cells)}`);
  return [span(`${pad("   STATE", stateCells)}${titles.join("")}`, "dim")];
}

function rowOf(
  agent: Sighting,
  {
    columns,
    model,
    isSelected,
  }: { readonly columns: readonly Column[]; readonly model: Model; readonly isSelected: boolean },
): Line {
  const { state } = agent;
  const mark = `${isSelected ? "›" : " "}${markOf[state]} ${state}`;
  const rest = columns.map((column) => {
    const text = printable(column.text(agent, model.nowMs));
    const cut = column.title === "WHERE" ? fitEnd(text, column.cells) : fit(text, column.cells);
    return { title: column.title, text: `  ${pad(cut, column.cells)}` };
  });
  if (isSelected) {
    const text = `${pad(mark, stateCells)}${rest.map((cell) => cell.text).join("")}`;
    return [span(text, "selected")];
  }
  const isOver = state === "stopped" || state === "unknown";
  return [
    span(pad(mark, stateCells), toneOf[state]),
    ...rest.map(({ title, text }) =>
      span(text, isOver || title === "KNOWN FROM" ? "dim" : undefined),
    ),
  ];
}
