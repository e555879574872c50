/** `tipstaff policies`: who may do what. `apply.ts` makes them from files. */
import { paint, printable } from "../terminal/index.ts";
import type { Policy, PolicyCheck, Who } from "../wire/api/index.ts";
import { type Column, printColumns, printFacts } from "./columns.ts";
import { confirm } from "./confirm.ts";
import { call } from "./daemon.ts";
import { exits } from "./exits.ts";
import { mistake } from "./failure.ts";
import { collect, printList, printOne, tally } from "./lists.ts";
import type { Values } from "./table.ts";
import { countOf, grouped } from "./times.ts";
import { choiceIn, textIn } from "./values.ts";

const columns: readonly Column<Policy>[] = [
  { title: "EFFECT", cell: ({ effect }) => ({ text: effect, tone: toneOf(effect) }), weight: 10 },
  { title: "ID", cell: ({ id }) => id, weight: 9, cellsMin: 8 },
  { title: "SUBJECT", cell: ({ subject }) => subject, weight: 8, cellsMin: 8 },
  { title: "ACTION", cell: ({ action }) => action, weight: 6, cellsMin: 6 },
  { title: "RESOURCE", cell: ({ resource }) => resource, weight: 7, cellsMin: 8 },
];

function toneOf(effect: Policy["effect"]): "good" | "bad" {
  return effect === "allow" ? "good" : "bad";
}

export async function listPolicies(values: Values): Promise<number> {
  const subjectPrefix = textIn(values, "subject-prefix");
  const listed = await collect(values, "listPolicies", {
    sort: choiceIn(values, "sort", ["id", "newest"]) ?? "id",
    ...(subjectPrefix !== undefined && { subjectPrefix }),
  });
  return printList(values, listed, {
    columns,
    noun: ["policy", "policies"],
    empty: subjectPrefix
      ? "no policy has a subject with this prefix"
      : "no policies: nobody may do anything; tipstaff policies set adds one",
    counts: (rows) => tally(rows, ({ effect }) => effect, ["deny"]),
  });
}

export async function getPolicy(
  values: Values,
  [policyId = ""]: readonly string[],
): Promise<number> {
  return printOne(values, await call(values, "getPolicy", { policyId }), describe);
}

function describe({ id, subject, action, resource, effect }: Policy): string {
  const facts = printFacts([
    ["effect", { text: effect, tone: toneOf(effect) }],
    ["subject", subject],
    ["action", action],
    ["resource", resource],
  ]);
  return `${paint("bold", printable(id))}\n\n${facts}`;
}

export async function setPolicy(
  values: Values,
  [policyId = ""]: readonly string[],
): Promise<number> {
  const needed = (name: string): string => {
    const text = textIn(values, name);
    if (!text) throw mistake(`--${name} is needed; * stands for anything`);
    return text;
  };
  const policy = await call(values, "setPolicy", {
    policyId,
    subject: needed("subject"),
    action: needed("action"),
    resource: needed("resource"),
    effect: choiceIn(values, "effect", ["allow", "deny"]) ?? "allow",
  });
  return printOne(values, policy, (set) => `${printable(sentenceOf(set))}\n`);
}

/** As one says it. */
export function sentenceOf({ id, subject, action, resource, effect }: Policy): string {
  return `${id}: ${subject} ${effect === "allow" ? "may" : "may not"} ${action} ${resource}`;
}

export async function deletePolicy(
  values: Values,
  [policyId = ""]: readonly string[],
): Promise<number> {
  const policy = await call(values, "getPolicy", { policyId });
  confirm(values, `Delete ${sentenceOf(policy)}?`);
  await call(values, "deletePolicy", { policyId });
  return printOne(values, policy, () => `${printable(policyId)} is deleted\n`);
}

/** The exit code is the answer. */
export async function checkPolicy(
  values: Values,
  [subject = "", action = "", resource = ""]: readonly string[],
): Promise<number> {
  const explain = values["explain"] === true;
  const check = await call(values, "checkPolicy", {
    subject,
    action,
    resource,
    ...(explain ? { explain } : {}),
  });
  printOne(values, check, describeCheck);
  return check.allowed ? exits.ok : exits.no;
}

function describeCheck({ allowed, reason, matches, moreMatches = 0 }: PolicyCheck): string {
  const verdict = allowed ? paint("good", "yes") : paint("bad", "no");
  const answer = `${verdict}: ${printable(reason)}\n`;
  if (!matches || matches.length === 0) return answer;
  const more = moreMatches > 0 ? `\nand ${grouped(moreMatches)} more\n` : "";
  return `${answer}\n${printColumns(matches, columns)}${more}`;
}

export async function whoMay(
  values: Values,
  [action = "", resource = ""]: readonly string[],
): Promise<number> {
  return printOne(values, await call(values, "whoMay", { action, resource }), describeWho);
}

function describeWho({ agents, total }: Who): string {
  if (agents.length === 0) return "no agents\n";
  const sorted = [...agents].sort((one, other) => Number(other.allowed) - Number(one.allowed));
  const table = printColumns(sorted, [
    {
      title: "MAY",
      cell: ({ allowed }) =>
        allowed ? { text: "yes", tone: "good" } : { text: "no", tone: "bad" },
      weight: 10,
    },
    { title: "AGENT", cell: ({ name }) => name, weight: 9, cellsMin: 10 },
    { title: "ID", cell: ({ agentId }) => agentId.slice(0, 8), weight: 8 },
    {
      title: "BY",
      cell: ({ decidedBy }) => decidedBy ?? "no policy applies",
      weight: 7,
      cellsMin: 8,
    },
  ]);
  const allowed = agents.filter((agent) => agent.allowed).length;
  const shown = agents.length < total ? [`${grouped(agents.length)} shown`] : [];
  const last = [countOf(total, "agent"), `${allowed} may`, ...shown].join(" · ");
  return `${table}\n${paint("dim", last)}\n`;
}
