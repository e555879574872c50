/** The screen as a person sees it, without a terminal. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { repaint } from "../../terminal/index.ts";
import type { Sighting } from "../../wire/api/index.ts";
import { asked } from "../testing.ts";
import { layout } from "./layout.ts";
import { cellsOf, encodeLine } from "./spans.ts";
import { learn } from "./steer.ts";
import { after, agentNamed, nowMs, screenOf, showing, small } from "./testing.ts";

const min = 60_000;

const claude = agentNamed("claude-code-1", {
  name: "claude-code",
  state: "waiting",
  sinceMs: nowMs - 4 * min,
  workspace: "/src/billing",
  branch: "main",
  doing: "delete 3 migration files?",
  goal: "tidy up the migrations",
  tokens: { input: 120_412, output: 8_201 },
  costUsd: 1.235,
  lastProgressAtMs: nowMs - 4 * min,
  known: [
    {
      source: "hook",
      state: "waiting",
      word: "input-required",
      sinceMs: nowMs - 4 * min,
      heardAtMs: nowMs - 2_000,
      path: "/state/claude.json",
    },
    { source: "process", state: "unknown", word: "running", heardAtMs: nowMs - 1_000 },
  ],
});
const opencode = agentNamed("opencode-1", {
  name: "opencode",
  state: "silent",
  sinceMs: nowMs - 9 * min,
  doing: "editing main.tf",
});
const found = agentNamed("codex-77", {
  name: "codex",
  state: "unknown",
  sinceMs: nowMs - 120 * min,
  known: [{ source: "process", state: "unknown", word: "running", heardAtMs: nowMs }],
  hint: "tipstaff install codex",
});
const several: readonly Sighting[] = [claude, opencode, agentNamed("scraper-1"), found];

test("the list says who waits, for how long, where and for what; the totals count; the keys are named", () => {
  const lines = screenOf(showing(several));
  assert.equal(lines.length, 24);
  assert.match(lines[0] ?? "", /^ {3}STATE {5}FOR {6}AGENT/);
  assert.match(
    lines[1] ?? "",
    /^›● waiting {3}4 min {4}claude-code +\/src\/billing +asks: delete 3/,
  );
  assert.match(lines[2] ?? "", /^ ◌ silent {4}9 min {4}opencode +last: editing main\.tf/);
  assert.match(lines[4] ?? "", /unknown .* tipstaff install codex/);
  assert.match(lines[22] ?? "", /^ 1 waits for you · 1 silent · 4 agents · 1 working +no daemon$/);
  assert.equal(
    lines[23],
    " ↑↓ select  enter inspect  / filter  s sort  g pane  e events  ? help  q quit",
  );
});

test("open questions stand above the agents, with the command that answers each", () => {
  const question = asked({ askedAtMs: nowMs - 4 * min, choices: ["pay", "wait"] });
  const lines = screenOf(showing(several, { questions: [question] }));
  assert.equal(
    lines[0],
    " ? payer  4 min  Pay 5 EUR? (pay | wait)        tipstaff answer 6789ab <choice>",
  );
  assert.match(lines[2] ?? "", /^›● waiting {3}4 min {4}claude-code/);
  assert.match(lines[22] ?? "", /^ 1 question · 1 waits for you · 1 silent · 4 agents/);
  const long = { ...question, prompt: "Pay 5 EUR to the printer in Ghent?" };
  assert.equal(
    screenOf(showing(several, { questions: [long] }))[0],
    " ? payer  4 min  Pay 5 EUR to the printer in G… tipstaff answer 6789ab <choice>",
  );
});

test("of many questions the last line says how many more; the selected agent stays in view", () => {
  const questions = Array.from({ length: 30 }, (_, index) => asked({ id: `q_${index}00000` }));
  const agents = Array.from({ length: 30 }, (_, index) => agentNamed(`a${index}`));
  const { model } = after(showing(agents, { questions }), ["end"]);
  const lines = screenOf(model);
  assert.equal(lines.filter((line) => line.startsWith(" ? payer")).length, 4);
  assert.match(lines[4] ?? "", /^ \? 26 more questions: tipstaff needs lists them$/);
  assert.ok(lines.some((line) => line.startsWith("›") && line.includes("a29")));
});

test("the detail tells goal, last hour, spending, and how each fact is known and how old it is", () => {
  const about = {
    id: claude.id,
    stretches: [
      { state: "working", note: "", fromMs: nowMs - 20 * min, toMs: nowMs - 4 * min },
      { state: "waiting", note: "", fromMs: nowMs - 4 * min, toMs: nowMs },
    ],
    happenings: [{ atMs: nowMs, text: "claude-code is waiting", tone: "warn" }],
    facts: [{ name: "holds", text: "invoice-42", untilMs: nowMs + 41_000 }],
  } as const;
  const text = screenOf(showing(several, { about })).join("\n");
  assert.match(text, /^── claude-code · waiting for 4 min · \/src\/billing \(main\) ─+$/m);
  assert.match(text, /^ asks +delete 3 migration files\?$/m);
  assert.match(text, /^ goal +tidy up the migrations$/m);
  assert.match(text, /^ last hour {4}┈{40}█{16}!{4}▏$/m);
  assert.match(text, /^ known from +hook +input-required for 4 min · heard 2 s ago$/m);
  assert.match(text, /^ {14}process +running · heard 1 s ago$/m);
  assert.match(text, /^ spent +120k tokens in · 8k out · \$1\.24$/m);
  assert.match(text, /^ holds +invoice-42 · 41 s left$/m);
});

test("where sources disagree, that is said", () => {
  const text = screenOf(showing([{ ...claude, isContradicted: true }])).join("\n");
  assert.match(text, /· sources disagree/);
});

test("whatever the size, there are as many lines as the screen has, and none reaches its last column", () => {
  const wild = several.map((agent) => ({
    ...agent,
    name: `${agent.name} 漢字 👩‍💻 ${"x".repeat(300)}`,
    doing: "木".repeat(300),
    workspace: `/very/${"long/".repeat(80)}path`,
  }));
  const wildQuestions = [1, 2, 3].map((index) =>
    asked({ id: `q_${index}`, askerName: "木".repeat(99), prompt: "漢字 ".repeat(index * 20) }),
  );
  for (const columns of [1, 29, 30, 43, 60, 79, 80, 96, 111, 120, 200, 500]) {
    for (const rows of [1, 5, 6, 12, 17, 18, 24, 25, 40, 60, 200]) {
      const size = { columns, rows };
      const model = showing(wild, { questions: wildQuestions }, size);
      for (const keys of [[], ["enter"], ["e"], ["?"], ["/", "x".repeat(150)]]) {
        const lines = layout(after(model, keys, size).model, size);
        assert.equal(lines.length, rows, `${columns}x${rows} ${keys}`);
        for (const line of lines) {
          assert.ok(cellsOf(line) < Math.max(2, columns), `${columns}x${rows} ${keys}`);
        }
      }
    }
  }
});

test("no text of an agent steers the terminal, wherever it is shown", () => {
  const evil = "\x1b[31mred\x1b]0;title\x07\x9b2J\n\r\u202e";
  const fact = { source: "file", state: "working", heardAtMs: nowMs } as const;
  const agent = agentNamed(evil, {
    host: evil,
    workspace: evil,
    branch: evil,
    doing: evil,
    task: `${evil}2`,
    goal: evil,
    hint: evil,
    known: [{ ...fact, word: evil, path: evil }],
    tmux: { socket: evil, pane: evil },
  });
  const about = {
    id: evil,
    stretches: [],
    happenings: [{ atMs: nowMs, text: evil, tone: undefined }],
    facts: [{ name: evil, text: evil }],
  };
  const daemon = { kind: "there", version: evil } as const;
  for (const size of [small, { columns: 200, rows: 60 }]) {
    const model = showing([agent], { about, happenings: about.happenings, daemon }, size);
    for (const keys of [[], ["enter"], ["e"], ["ee"], ["g"], ["/", evil]]) {
      const lines = layout(after(model, keys, size).model, size);
      const bytes = lines.map((line) => encodeLine(line, { hasColours: false })).join("");
      assert.doesNotMatch(bytes, /[\p{Cc}\u202e]/u);
    }
  }
});

test("where nobody is, the way to somebody is shown; where none match, how many there are", () => {
  assert.match(screenOf(showing([])).join("\n"), /no agents here yet\n.*tipstaff install/);
  assert.match(screenOf(showing([], { daemon: { kind: "asked" } })).join("\n"), /looking around/);
  const none = after(showing(several), ["/", "nothing"]).model;
  assert.match(screenOf(none).join("\n"), /none of 4 agents has nothing in it/);
});

test("the totals tell of a daemon that came, was lost or does not answer, and of files that cannot be read", () => {
  const daemon = { kind: "there", version: "0.1.0" } as const;
  assert.match(screenOf(showing([], { daemon })).at(-2) ?? "", / 0 agents +daemon 0\.1\.0$/);
  const lost = { kind: "lost", sinceMs: nowMs - 12_000 } as const;
  const line = screenOf(showing([], { daemon: lost, problems: 2 })).at(-2) ?? "";
  assert.match(line, /2 files unreadable · 0 agents +daemon lost 12 s ago$/);
  const silent = { kind: "none", error: "no answer in 2 s" } as const;
  const unread = screenOf(showing([], { daemon: silent })).at(-2) ?? "";
  assert.match(unread, / 0 agents +daemon could not be read$/);
});

test("of totals that do not fit, what one can do without is left out and nothing is cut", () => {
  const states = ["waiting", "silent", "failed", "lost", "working", "stopped"] as const;
  const agents = states.map((state) => agentNamed(state, { state }));
  const totals = (columns: number): string =>
    screenOf(showing(agents, { problems: 1 }), { columns, rows: 24 }).at(-2) ?? "";
  const kept = / 1 waits for you · 1 silent · 1 failed · 1 lost · 1 file unreadable · 5 agents/;
  assert.match(totals(100), new RegExp(`^${kept.source} +no daemon$`));
  assert.match(totals(80), new RegExp(`^${kept.source}$`));
  assert.match(
    totals(150),
    new RegExp(`${kept.source} · 1 working · 1 ended or lost: a shows them`),
  );
});

test("how long, and how it is known, is told in full where there is room", () => {
  const agent = agentNamed("a", { state: "silent", sinceMs: nowMs - 10 * 86_400_000 });
  const lines = screenOf(showing([agent]), { columns: 200, rows: 60 });
  assert.match(lines[1] ?? "", /silent +10 days +a .* hook · 2 s ago, no progress since$/);
  assert.match(screenOf(showing([agent]))[1] ?? "", /silent +10 days +a/);
});

test("on a wide screen what happened stands beside the facts", () => {
  const size = { columns: 200, rows: 60 };
  const about = {
    id: claude.id,
    stretches: [],
    happenings: [{ atMs: nowMs, text: "claude-code is waiting", tone: "warn" }],
    facts: [],
  } as const;
  const lines = screenOf(showing(several, { about }, size), size);
  assert.match(
    lines.join("\n"),
    /^ asks +delete 3 migration files\? +\d\d:\d\d:\d\d {2}claude-code is waiting$/m,
  );
  assert.match(lines[0] ?? "", /DOING +KNOWN FROM$/);
  assert.match(lines[1] ?? "", /hook · 2 s ago/);
});

test("the keys and marks fit on a small screen as a whole", () => {
  const { model } = after(showing([]), ["?"]);
  const lines = screenOf(model);
  assert.match(lines[1] ?? "", /^ +↑ ↓/);
  assert.match(lines.at(-3) ?? "", /^ last hour: █ working.*unknown$/);
  assert.ok(!lines.some((line) => line.includes("…")), lines.join("\n"));
});

test("only lines that changed are sent, and nothing if none did", () => {
  const encoded = (at: number): readonly string[] =>
    layout(learn(showing(several), { nowMs: at }, small), small).map((line) =>
      encodeLine(line, { hasColours: true }),
    );
  const before = encoded(nowMs);
  assert.equal(repaint(before, encoded(nowMs)), "");
  const later = encoded(nowMs + 1_000);
  const sent = repaint(before, later);
  const rows = [...sent.matchAll(/\x1b\[(\d+);1H/g)].map(([, row]) => Number(row));
  const changed = later.flatMap((line, index) => (line === before[index] ? [] : [index + 1]));
  assert.deepEqual(rows, changed);
  assert.ok(rows.length > 0 && rows.length < 8, `${rows}`);
  assert.match(repaint(undefined, before), /^\x1b\[\?2026h\x1b\[0m\x1b\[H\x1b\[2J\x1b\[1;1H/);
});
