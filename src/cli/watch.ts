/**
 * `tipstaff watch`: open questions and every agent as they are now, full screen. Where nobody looks on, what changes, line by line,
 * for people or for machines.
 */
import type { Key } from "../terminal/index.ts";
import {
  FullScreen,
  hasFullScreen,
  jsonOf,
  print,
  printable,
  say,
  screen as terminal,
} from "../terminal/index.ts";
import type { Question, Sighting } from "../wire/api/index.ts";
import { exits } from "./exits.ts";
import { type Around, Feed, followAgents } from "./feed.ts";
import { type Looking, lookingFrom } from "./looking.ts";
import { choicesOf, commandFor, promptOf, UnreadTeller } from "./question-words.ts";
import { layout } from "./screen/layout.ts";
import { limits } from "./screen/limits.ts";
import { firstModel, type Model } from "./screen/model.ts";
import { encodeLine } from "./screen/spans.ts";
import { learn, notify, press, type Wish } from "./screen/steer.ts";
import { goToPane } from "./screen/tmux.ts";
import { changesBetween, type SightingChange } from "./sighting-changes.ts";
import { doingOf, isOfInterest, whereOf } from "./sighting-words.ts";
import type { Values } from "./table.ts";
import { atTime } from "./times.ts";

export async function watch(values: Values): Promise<number> {
  const looking = lookingFrom(values);
  if (values["json"] === true) return await stream(values, looking, printJson);
  if (!hasFullScreen()) {
    say(
      "tipstaff: this is no terminal to draw on: one line for each change; --json for programs\n",
    );
    return await stream(values, looking, new LinePrinter());
  }
  return await new LiveView(values, looking).run();
}

/** The screen, from the first key to the last. */
class LiveView {
  readonly #values: Values;
  readonly #looking: Looking;
  readonly #ended: PromiseWithResolvers<number> = Promise.withResolvers<number>();
  #model: Model;
  #feed: Feed | undefined;
  #screen: FullScreen | undefined;
  #drawing: NodeJS.Timeout | undefined;
  #hasDrawn = false;

  constructor(values: Values, looking: Looking) {
    this.#values = values;
    this.#looking = looking;
    this.#model = firstModel(Date.now(), { isOfAll: values["all"] === true });
  }

  async run(): Promise<number> {
    const onFault = (fault: unknown): void => this.#ended.reject(fault);
    const onNews = (): void => this.#drawSoon();
    await using feed = Feed.open(this.#values, { ...this.#looking, onNews, onFault });
    using screen = FullScreen.open({
      onKey: (key) => this.#attempt(() => this.#press(key)),
      onStale: () => this.#attempt(() => this.#draw()),
      onGone: () => this.#ended.resolve(exits.ok),
    });
    this.#feed = feed;
    this.#screen = screen;
    const ticking = setInterval(() => this.#attempt(() => this.#tick()), limits.tickMs);
    // Where there is much to read, an empty screen would look as if nothing was there.
    const early = setTimeout(onNews, limits.patienceMs);
    try {
      return await this.#ended.promise;
    } finally {
      clearInterval(ticking);
      clearTimeout(early);
      clearTimeout(this.#drawing);
      this.#screen = undefined;
    }
  }

  #press(key: Key): void {
    const { size } = this.#screen ?? {};
    if (!size) return;
    const { selectedId } = this.#model;
    const { model, wish } = press(this.#model, key, size);
    this.#model = model;
    if (wish) this.#grant(wish);
    if (model.selectedId !== selectedId) this.#focus();
    this.#show();
  }

  #grant(wish: Wish): void {
    switch (wish.kind) {
      case "quit":
        return this.#ended.resolve(exits.ok);
      case "suspend":
        return this.#screen?.suspend();
      case "redraw":
        return this.#screen?.redraw();
      case "go":
        void this.#go(wish.agent);
    }
  }

  async #go({ tmux }: Sighting): Promise<void> {
    if (!tmux) return;
    const { isThere, text } = await goToPane(tmux, process.env);
    this.#model = notify(this.#model, text, isThere ? undefined : "warn");
    this.#drawSoon();
  }

  /** What comes together is drawn together; only what comes first is drawn at once. */
  #drawSoon(): void {
    const draw = (): void => this.#attempt(() => this.#draw());
    if (!this.#hasDrawn) return draw();
    this.#drawing ??= setTimeout(draw, limits.drawPauseMs);
  }

  /** If we are wrong, that ends the view and is told afterwards. */
  #attempt(act: () => void): void {
    try {
      act();
    } catch (fault) {
      this.#ended.reject(fault);
    }
  }

  #draw(): void {
    clearTimeout(this.#drawing);
    this.#drawing = undefined;
    const [feed, screen] = [this.#feed, this.#screen];
    if (!feed || !screen) return;
    this.#hasDrawn = true;
    const nowMs = Date.now();
    const { size } = screen;
    const { selectedId } = this.#model;
    const scene = feed.scene(nowMs, selectedId);
    this.#model = learn(this.#model, { ...scene, nowMs }, size);
    if (this.#model.selectedId !== selectedId) this.#focus();
    this.#show();
  }

  /** Only time has passed. */
  #tick(): void {
    if (!this.#screen || !this.#hasDrawn) return;
    this.#model = learn(this.#model, { nowMs: Date.now() }, this.#screen.size);
    this.#show();
  }

  #focus(): void {
    const { selectedId, nowMs } = this.#model;
    this.#feed?.focus(selectedId);
    const about = selectedId === undefined ? undefined : this.#feed?.about(selectedId, nowMs);
    this.#model = { ...this.#model, about };
  }

  #show(): void {
    const screen = this.#screen;
    if (!screen) return;
    const lines = layout(this.#model, screen.size);
    screen.show(lines.map((line) => encodeLine(line, terminal())));
  }
}

/** What to say first, and of each change. False once nobody reads. */
interface Printer {
  all(shown: Shown): boolean;
  one(change: SightingChange, nowMs: number): boolean;
  question(change: QuestionChange, shown: Shown): boolean;
}

type Shown = Pick<Around, "questions" | "agents" | "nowMs">;

/** `asked`: the question is newly open. `closed`: it is no longer open, with or without an answer. */
type QuestionChange = { readonly type: "asked" | "closed"; readonly question: Question };

const printJson: Printer = {
  all: ({ questions, agents, nowMs }) =>
    print(`${jsonOf({ type: "snapshot", questions, agents, nowMs })}\n`),
  one: (change, nowMs) => print(`${jsonOf({ ...change, nowMs })}\n`),
  question: (change, { nowMs }) => print(`${jsonOf({ ...change, nowMs })}\n`),
};

/** What is told of an agent has more in it than a line: one that would say the same again is left out. */
class LinePrinter implements Printer {
  readonly #said = new Map<string, string>();

  all(shown: Shown): boolean {
    const { questions, agents, nowMs } = shown;
    const isRead = questions.every((question) => this.question({ type: "asked", question }, shown));
    return isRead && agents.every((agent) => this.one({ type: "upsert", agent }, nowMs));
  }

  question({ type, question }: QuestionChange, { questions, nowMs }: Shown): boolean {
    const isOpen = type === "asked";
    const choices = choicesOf(question);
    const asked = [
      promptOf(question) + (choices === "" ? "" : ` (${choices})`),
      commandFor(question, questions),
    ];
    const text = [question.askerName, ...(isOpen ? asked : asked.slice(0, 1))].map(printable);
    const word = (isOpen ? "asks" : "closed").padEnd(8);
    return print(`${atTime(nowMs, nowMs)}  ${word}  ${text.join("  ")}\n`);
  }

  one({ type, agent }: SightingChange, nowMs: number): boolean {
    const isGone = type === "remove";
    const parts = [agent.name, whereOf(agent), isGone ? "" : doingOf(agent)];
    const text = parts.filter((part) => part !== "").map(printable);
    const line = `${(isGone ? "gone" : agent.state).padEnd(8)}  ${text.join("  ")}`;
    if (this.#said.get(agent.id) === line) return true;
    if (isGone) this.#said.delete(agent.id);
    else this.#said.set(agent.id, line);
    return print(`${atTime(nowMs, nowMs)}  ${line}\n`);
  }
}

/** Everything once, when all sources were heard, then what changes, until nobody reads or it is interrupted. */
async function stream(values: Values, looking: Looking, printer: Printer): Promise<number> {
  let known: ReadonlyMap<string, Sighting> | undefined;
  let asked: readonly Question[] = [];
  const isOfAll = values["all"] === true;
  const { signal } = new AbortController();
  const unread = new UnreadTeller();
  for await (const around of followAgents(values, looking, signal)) {
    unread.look(around);
    const { agents: all, nowMs } = around;
    // While the daemon is away, `questions` is empty. That does not mean that questions were closed.
    const questions = around.isDaemonLost ? asked : around.questions;
    const agents = all.filter((agent) => isOfAll || isOfInterest(agent, nowMs));
    const shown = { questions, agents, nowMs };
    const isRead = known
      ? questionChanges(asked, questions).every((change) => printer.question(change, shown)) &&
        changesBetween(known, agents).every((change) => printer.one(change, nowMs))
      : printer.all(shown);
    known = new Map(agents.map((agent) => [agent.id, agent]));
    asked = questions;
    if (!isRead) break;
  }
  return exits.ok;
}

function questionChanges(
  before: readonly Question[],
  after: readonly Question[],
): readonly QuestionChange[] {
  const known = new Set(before.map(({ id }) => id));
  const open = new Set(after.map(({ id }) => id));
  return [
    ...after
      .filter(({ id }) => !known.has(id))
      .map((question) => ({ type: "asked", question }) as const),
    ...before
      .filter(({ id }) => !open.has(id))
      .map((question) => ({ type: "closed", question }) as const),
  ];
}
