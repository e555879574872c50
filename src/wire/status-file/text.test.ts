/** Ages, ids, summaries, tmux, terminals: what becomes of single texts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { printAge } from "./age.ts";
import { isLookupId, isSafeAgentId, sanitizeAgentId } from "./ids.ts";
import { summarize } from "./summary.ts";
import { escapeForTerminal } from "./terminal.ts";
import { tmuxOf } from "./tmux.ts";

/** Any at all, halves of characters included. */
const character = fc
  .oneof(fc.nat(0x7f), fc.nat(0xffff), fc.nat(0x10_ffff))
  .map((code) => String.fromCodePoint(code));

test("[AS-60] [TV-35] ages are cut off, not rounded", () => {
  const rows: readonly (readonly [number, string])[] = [
    [10, "10s ago"],
    [120, "2m ago"],
    [7_200, "2h ago"],
    [172_800, "2d ago"],
    [59.5, "59s ago"],
    [3_599.5, "59m ago"],
    [86_399, "23h ago"],
    [0, "0s ago"],
    [-0.9, "0s ago"],
    [-59, "in 59s"],
    [-3_600, "in 1h"],
    [-30_000_000_000, "in 347222d"],
  ];
  for (const [seconds, text] of rows) assert.equal(printAge(seconds * 1_000), text);
});

test("[AS-8] [TV-5] [TV-6] an id that a file can have is safe to write", () => {
  for (const id of ["a", ".", "..", ".hidden", "two words", "né", "-x", "x".repeat(236)]) {
    assert(isSafeAgentId(id), id);
    assert(isLookupId(id), id);
  }
  for (const id of ["", "a/b", "a\\b", "../evil", "/"]) {
    assert(!isSafeAgentId(id), id);
    assert(!isLookupId(id), id);
  }
  // Readers look for what others may have written.
  for (const id of ["a\nb", "\u0000", "\u007f", "\u001b[31m", "x".repeat(237), "é".repeat(119)]) {
    assert(!isSafeAgentId(id), id);
    assert(isLookupId(id), id);
  }
});

test("[AS-10] an id is made of what every file system takes", () => {
  assert.equal(sanitizeAgentId("pi session: 7/8", "pi"), "pi-session-7-8");
  assert.equal(sanitizeAgentId("--a--b--", "pi"), "a--b");
  assert.equal(sanitizeAgentId("  ", "pi"), "pi");
  assert.equal(sanitizeAgentId("日本", "pi"), "pi");
  assert.equal(sanitizeAgentId("A.b_c-9", "pi"), "A.b_c-9");
  assert.equal(sanitizeAgentId("x".repeat(500), "pi"), "x".repeat(236));
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 300 }), (text) => {
      const id = sanitizeAgentId(text, "pi");
      assert.match(id, /^[A-Za-z0-9._-]+$/);
      assert(isSafeAgentId(id));
    }),
  );
});

test("[AS-86] a summary is one line of at most 120 characters", () => {
  assert.equal(summarize("  fix\n\n the\ttests\u0085now  "), "fix the tests now");
  assert.equal(summarize("x".repeat(120)), "x".repeat(120));
  assert.equal(summarize("x".repeat(200)), "x".repeat(120));
  assert.equal(summarize("x".repeat(121), 120, "…"), `${"x".repeat(119)}…`);
  assert.equal(summarize("x".repeat(120), 120, "…"), "x".repeat(120));
  assert.equal(summarize(" \n\u0000"), "");
  assert.equal(summarize("ab cd", 3), "ab");
  assert.equal(summarize("ab cd", 3, "…"), "ab…");
});

test("[AS-86] a summary has whole characters, and none that control", () => {
  assert.equal(summarize("😀".repeat(130)), "😀".repeat(120));
  assert.equal(summarize("\u001b[31mred\u0007\u202e\u009b"), "[31mred");
  assert.equal(summarize("half \ud83d"), "half \ufffd");
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 400 }), (text) => {
      const summary = summarize(text);
      assert([...summary].length <= 120);
      assert(summary.isWellFormed());
      assert.doesNotMatch(summary, /\p{Cc}|\s\s|^\s|\s$/u);
      assert.equal(summarize(summary), summary);
    }),
    { numRuns: 1_000 },
  );
});

test("a prompt of many megabytes is not read to its end", () => {
  const start = performance.now();
  summarize("word ".repeat(2_000_000));
  assert(performance.now() - start < 50);
});

test("[AS-25] [TV-39] tmux is both a socket and a pane, or nothing", () => {
  assert.deepEqual(tmuxOf({ TMUX: "/tmp/a,b,12,3", TMUX_PANE: "%4" }), {
    tmux_socket: "/tmp/a,b",
    tmux_pane: "%4",
  });
  for (const [TMUX, TMUX_PANE] of [
    ["/tmp/a,12,3", "4"],
    ["/tmp/a,12,3", "%"],
    ["/tmp/a,12,3", "%4 "],
    ["/tmp/a,12,3", "%4\n"],
    ["/tmp/a,12,3", ""],
    [",1,2", "%4"],
    ["/a,x,2", "%4"],
    ["/a,1,", "%4"],
    ["/a,1", "%4"],
    ["/a", "%4"],
    ["", "%4"],
  ] as const) {
    assert.equal(tmuxOf({ TMUX, TMUX_PANE }), undefined, `${TMUX} ${TMUX_PANE}`);
  }
  assert.equal(tmuxOf({}), undefined);
  assert.equal(tmuxOf({ TMUX: "/tmp/a,12,3" }), undefined);
});

test("[AS-64] [TV-27] what looks like markup is shown as it is", () => {
  const text = "fix [/foo] [bold]x[/bold] :smile: naïve 😀 日本";
  assert.equal(escapeForTerminal(text), text);
});

test("[AS-64] [TV-28] nothing steers the terminal", () => {
  assert.equal(
    escapeForTerminal("\u001b[31m\u0007 a\r\nb\tc \u001b]0;t\u0007 \u007f\u009b \u202eabc"),
    "\\x1b[31m\\x07 a b c \\x1b]0;t\\x07 \\x7f\\x9b \\u202eabc",
  );
  assert.equal(escapeForTerminal("\u2028\ud83d"), " \\ud83d");
  // Nor hides anything, as on every other list.
  assert.equal(escapeForTerminal("a\u200bb\ufeff"), "a\\u200bb\\ufeff");
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 200 }), (text) => {
      assert.doesNotMatch(escapeForTerminal(text), /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
    }),
    { numRuns: 1_000 },
  );
});
