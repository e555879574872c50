/** The list of ARCP's requirements as a page for people: `docs/conformance/arcp.md`. */
import { type Rule, rules, type Vector, vectors } from "./arcp.ts";

const intro = `# ARCP 1.1: what is met

Printed by \`node tools/conformance.ts\` from the list in \`test/conformance/arcp.ts\`, which a test holds against
the tests that it names. ARCP rows are the protocol's requirements in our words; PYR and PYC rows are what it
takes to get on with the published Python SDK as a runtime and as a client, PYA rows the acceptance of that, PY rows
its vectors.

Met: tests prove all of it. Not met: the row says what is instead, and a test will fail the day that is no longer so.
`;

const families = ["ARCP", "PYR", "PYC", "PYA"];

export function printPage(): string {
  const unmet = [...rules, ...vectors].filter(({ notMet }) => notMet !== undefined);
  return [
    intro,
    "## Not met",
    "",
    ...unmet.map((row) => `- **${row.id}**${levelOf(row)}: ${row.notMet}`),
    "",
    ...families.flatMap((name) => [
      `## ${name}`,
      "",
      ...table(rules.filter(({ id }) => id.startsWith(`${name}-`)).map(ruleRow)),
    ]),
    "## PY",
    "",
    ...table(vectors.map(vectorRow)),
  ].join("\n");
}

function levelOf(row: Rule | Vector): string {
  return "level" in row ? ` (${row.level})` : "";
}

type Row = { readonly cells: readonly string[]; readonly state: string };

function ruleRow(rule: Rule): Row {
  return { cells: [rule.id, rule.level, rule.rule], state: stateOf(rule) };
}

function vectorRow(vector: Vector): Row {
  return { cells: [vector.id, "", vector.about], state: stateOf(vector) };
}

function stateOf({ notMet }: Rule | Vector): string {
  return notMet === undefined ? "met" : "not met";
}

function table(rows: readonly Row[]): readonly string[] {
  const counts = ["met", "not met"].map(
    (state) => `${rows.filter((row) => row.state === state).length} ${state}`,
  );
  return [
    `${counts.join(", ")}.`,
    "",
    "| | | | |",
    "|---|---|---|---|",
    ...rows.map(({ cells, state }) => `| ${[...cells, state].join(" | ")} |`),
    "",
  ];
}
