/** What keys, news and time do to the screen. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Model } from "./model.ts";
import { rowsOf } from "./model.ts";
import { learn } from "./steer.ts";
import { after, agentNamed, nowMs, screenOf, showing, small } from "./testing.ts";

const three = [agentNamed("one"), agentNamed("two"), agentNamed("three")];
const idsIn = (model: Model): readonly string[] => rowsOf(model).map(({ id }) => id);

test("until a key is pressed the first agent is shown, whoever that is", () => {
  const first = showing(three);
  assert.equal(first.selectedId, "one");
  const waiting = agentNamed("new", { state: "waiting" });
  assert.equal(learn(first, { agents: [waiting, ...three], nowMs }, small).selectedId, "new");
});

test("the selection stays on its agent when rows move", () => {
  const chosen = after(showing(three), ["down"]).model;
  assert.equal(chosen.selectedId, "two");
  const moved = learn(chosen, { agents: [agentNamed("new"), ...three].toReversed(), nowMs }, small);
  assert.equal(moved.selectedId, "two");
  assert.equal(after(moved, ["enter"]).model.selectedId, "two");
});

test("if the chosen agent leaves, the selection stays where it was", () => {
  const chosen = after(showing(three), ["down"]).model;
  const [one, , last] = three;
  assert.ok(one && last);
  assert.equal(learn(chosen, { agents: [one, last], nowMs }, small).selectedId, "three");
  assert.equal(learn(chosen, { agents: [one], nowMs }, small).selectedId, "one");
  assert.equal(learn(chosen, { agents: [], nowMs }, small).selectedId, undefined);
});

test("the ends of the list hold", () => {
  const model = showing(three);
  assert.equal(after(model, ["up", "up"]).model.selectedId, "one");
  assert.equal(after(model, ["jjjjj"]).model.selectedId, "three");
  assert.equal(after(model, ["end"]).model.selectedId, "three");
  assert.equal(after(model, ["end", "home"]).model.selectedId, "one");
  assert.equal(after(showing([]), ["down", "enter", "g"]).model.view.kind, "list");
});

test("a list longer than the screen scrolls with the selection, and no further than it must", () => {
  const many = Array.from({ length: 100 }, (_, index) => agentNamed(`agent-${index}`));
  const model = showing(many);
  const down = after(
    model,
    Array.from({ length: 12 }, () => "down"),
  ).model;
  assert.equal(down.selectedId, "agent-12");
  assert.ok(screenOf(down).some((line) => line.startsWith("›● working")));
  const up = after(down, ["up"]).model;
  assert.equal(up.top, down.top);
  assert.equal(after(model, ["end"]).model.top, 100 - 11);
  // A larger screen has room for what was above.
  const grown = learn(after(model, ["end"]).model, { nowMs }, { columns: 80, rows: 200 });
  assert.equal(grown.top, 0);
});

test("a filter is applied while it is typed, to all that is known of an agent", () => {
  const agents = [
    agentNamed("one", { workspace: "/src/billing", doing: "npm test" }),
    agentNamed("two", { goal: "Billing totals", state: "waiting" }),
    agentNamed("three"),
  ];
  const typing = after(showing(agents), ["/", "BILL"]).model;
  assert.deepEqual(idsIn(typing), ["one", "two"]);
  assert.match(screenOf(typing).at(-1) ?? "", /^ \/BILL▏ .*enter keeps it/);
  assert.deepEqual(idsIn(after(typing, ["ing wait"]).model), ["two"]);
  assert.deepEqual(idsIn(after(typing, ["ctrl-u", "x", "backspace", "npm test", "ctrl-w"]).model), [
    "one",
  ]);
  assert.deepEqual(idsIn(after(typing, ["escape"]).model), ["one", "two", "three"]);
});

test("letters that are commands elsewhere are letters in the filter, and ctrl-c still quits", () => {
  const typing = after(showing(three), ["/", "qge?"]);
  assert.equal(typing.wish, undefined);
  assert.equal(typing.model.filter, "qge?");
  assert.deepEqual(after(typing.model, ["ctrl-c"]).wish, { kind: "quit" });
  const kept = after(typing.model, ["ctrl-u", "two", "enter"]).model;
  assert.deepEqual([kept.isTyping, kept.filter], [false, "two"]);
  assert.deepEqual(after(kept, ["q"]).wish, { kind: "quit" });
  assert.equal(after(kept, ["escape"]).model.filter, "");
});

test("sorting goes round, and the selection stays on its agent", () => {
  const agents = [
    agentNamed("b", { workspace: "/1", sinceMs: nowMs - 3 }),
    agentNamed("c", { workspace: "/3", sinceMs: nowMs - 1 }),
    agentNamed("a", { workspace: "/2", sinceMs: nowMs - 2 }),
  ];
  const model = after(showing(agents), ["down"]).model;
  const orders = ["s", "ss", "sss", "ssss"].map((keys) => after(model, [keys]).model);
  assert.deepEqual(orders.map(idsIn), [
    ["a", "b", "c"],
    ["b", "a", "c"],
    ["c", "a", "b"],
    ["b", "c", "a"],
  ]);
  for (const order of orders) assert.equal(order.selectedId, "c");
});

test("to go to a pane is wished for where there is one, and explained where there is none", () => {
  const tmux = { socket: "/tmp/tmux", pane: "%3" };
  const agents = [agentNamed("one", { tmux }), agentNamed("two")];
  assert.deepEqual(after(showing(agents), ["g"]).wish, { kind: "go", agent: agents[0] });
  const { model, wish } = after(showing(agents), ["down", "g"]);
  assert.equal(wish, undefined);
  assert.equal(screenOf(model).at(-1), " two is in no tmux pane");
  // It is gone with time, and with the next key.
  assert.doesNotMatch(
    screenOf(learn(model, { nowMs: nowMs + 5_000 }, small)).at(-1) ?? "",
    /pane$/,
  );
  assert.equal(after(model, ["down"]).model.notice, undefined);
});

test("what happened is shown of the agent, then of everybody, then not at all", () => {
  const model = showing(three);
  const views = ["e", "ee", "eee"].map((keys) => after(model, [keys]).model.view);
  assert.deepEqual(views, [
    { kind: "events", isOfAll: false, scroll: 0 },
    { kind: "events", isOfAll: true, scroll: 0 },
    { kind: "list" },
  ]);
});

test("a page scrolls only as far as there is something to see, so that the way back begins at once", () => {
  const happenings = Array.from({ length: 50 }, (_, index) => ({
    atMs: nowMs,
    text: `event ${index}`,
    tone: undefined,
  }));
  const model = showing(three, { happenings });
  const end = after(model, ["ee"]).model;
  assert.match(screenOf(end).at(-3) ?? "", /event 49$/);
  const top = after(end, ["home"]).model;
  assert.match(screenOf(top)[1] ?? "", /event 0$/);
  const further = after(top, ["up", "up", "up", "down"]).model;
  assert.match(screenOf(further)[1] ?? "", /event 1$/);
});

test("from a view of its own, escape and enter lead back, and the arrows to the next agent", () => {
  const inspected = after(showing(three), ["enter"]).model;
  assert.equal(inspected.view.kind, "inspect");
  assert.match(screenOf(inspected)[0] ?? "", /^ one · working/);
  assert.match(screenOf(after(inspected, ["right"]).model)[0] ?? "", /^ two/);
  for (const key of ["escape", "enter", "backspace"]) {
    assert.equal(after(inspected, [key]).model.view.kind, "list");
  }
  assert.equal(after(inspected, ["?", "?"]).model.view.kind, "list");
});
