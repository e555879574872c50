/**
 * `tipstaff policies apply`: policies as they stand in files. All files are read and checked before the
 * first change, and what is as it should be is left alone, so that applying twice changes nothing.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { jsonOf, paint, print, printable } from "../terminal/index.ts";
import type { Policy } from "../wire/api/index.ts";
import { confirm } from "./confirm.ts";
import { call } from "./daemon.ts";
import { exits } from "./exits.ts";
import { Failure, mistake, no } from "./failure.ts";
import { limits } from "./limits.ts";
import { collect } from "./lists.ts";
import { sentenceOf } from "./policies.ts";
import { Progress } from "./progress.ts";
import type { Values } from "./table.ts";
import { countOf } from "./times.ts";
import { textsIn } from "./values.ts";

export async function applyPolicies(values: Values): Promise<number> {
  const paths = textsIn(values, "file");
  if (!paths) throw mistake("-f is needed: a .json file, or a directory of them");
  const wanted = readPolicies(paths);
  const listed = await collect({ ...values, limit: String(limits.policiesMax) }, "listPolicies", {
    sort: "id",
  });
  if (listed.total > listed.rows.length)
    throw no(`there are more than ${limits.policiesMax} policies`);
  const plan = compare(listed.rows, wanted, { isPruning: values["prune"] === true });
  const isDry = values["dry-run"] === true;
  const isJson = values["json"] === true;
  if (!isJson) print(printPlan(plan));
  if (!isDry && plan.pruned.length > 0) {
    confirm(values, `Delete ${countOf(plan.pruned.length, "policy", "policies")}?`);
  }
  if (!isDry) await carryOut(values, plan);
  const { added, changed, pruned, unchanged } = plan;
  if (isJson) {
    const document = { isDryRun: isDry, added, changed, pruned, unchanged: unchanged.length };
    print(`${jsonOf(document)}\n`);
  } else {
    print(`${summary(plan, isDry)}\n`);
  }
  return exits.ok;
}

/** All problems are told at once, each with its file and field. */
export function readPolicies(paths: readonly string[]): readonly Policy[] {
  const problems: string[] = [];
  const seen = new Map<string, string>();
  const policies: Policy[] = [];
  for (const file of paths.flatMap((path) => filesIn(path, problems))) {
    for (const { item, where } of itemsIn(file, problems)) {
      const read = readPolicy(item, where);
      if ("problems" in read) {
        problems.push(...read.problems);
        continue;
      }
      const { id } = read.policy;
      const other = seen.get(id);
      if (other !== undefined) problems.push(`${where}: id ${id} stands in ${other} already`);
      seen.set(id, where);
      policies.push(read.policy);
    }
  }
  if (problems.length > 0) {
    const shown = problems.slice(0, limits.problemsShownMax).map(printable);
    const more =
      problems.length > shown.length ? [`and ${problems.length - shown.length} more`] : [];
    throw new Failure("no", "nothing was changed: the files are not all right", [
      ...shown,
      ...more,
    ]);
  }
  return policies;
}

function filesIn(path: string, problems: string[]): readonly string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    const names = readdirSync(path).sort();
    // With --prune, a file that is passed over would delete what stands in it.
    const yaml = names.filter((name) => /\.ya?ml$/.test(name));
    problems.push(...yaml.map((name) => `${join(path, name)}: only .json is read; convert it`));
    const files = names.filter((name) => name.endsWith(".json")).map((name) => join(path, name));
    if (files.length === 0 && yaml.length === 0) problems.push(`${path}: has no .json file`);
    return files;
  } catch (cause) {
    const isAbsent = cause instanceof Error && "code" in cause && cause.code === "ENOENT";
    problems.push(isAbsent ? `there is no ${path}` : `${path}: cannot be read`);
    return [];
  }
}

type Item = { readonly item: unknown; readonly where: string };

/** One policy, a list, or what `tipstaff policies --json` prints. */
function itemsIn(file: string, problems: string[]): readonly Item[] {
  let document: unknown;
  try {
    if (statSync(file).size > limits.policyFileBytesMax) throw new Error("is too large");
    document = JSON.parse(readFileSync(file, "utf8"));
  } catch (cause) {
    const why = cause instanceof SyntaxError ? `is no JSON: ${cause.message}` : "cannot be read";
    problems.push(`${file}: ${why}`);
    return [];
  }
  const rows = isRecord(document) && Array.isArray(document["rows"]) ? document["rows"] : document;
  if (!Array.isArray(rows)) return [{ item: rows, where: file }];
  return rows.map((item: unknown, index) => ({ item, where: `${file}[${index}]` }));
}

const fields = ["id", "subject", "action", "resource"] as const;

function readPolicy(
  item: unknown,
  where: string,
): { readonly policy: Policy } | { readonly problems: readonly string[] } {
  if (!isRecord(item))
    return { problems: [`${where}: is no policy, which has ${fields.join(", ")} and effect`] };
  const problems: string[] = [];
  const textOf = (field: string): string => {
    const value = item[field];
    if (typeof value === "string" && value !== "") return value;
    problems.push(`${where}: ${field} is ${value === undefined ? "missing" : "no text"}`);
    return "";
  };
  const [id = "", subject = "", action = "", resource = ""] = fields.map(textOf);
  const { effect } = item;
  const isEffect = effect === "allow" || effect === "deny";
  if (!isEffect) {
    const missing = effect === undefined ? "missing: " : "";
    problems.push(`${where}: effect is ${missing}allow or deny`);
  }
  for (const field of Object.keys(item)) {
    if (field !== "effect" && !fields.some((known) => known === field)) {
      problems.push(`${where}: there is no field ${field}`);
    }
  }
  if (problems.length > 0 || !isEffect) return { problems };
  return { policy: { id, subject, action, resource, effect } };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export type Plan = {
  readonly added: readonly Policy[];
  readonly changed: readonly { readonly before: Policy; readonly after: Policy }[];
  readonly pruned: readonly Policy[];
  readonly unchanged: readonly Policy[];
};

export function compare(
  present: readonly Policy[],
  wanted: readonly Policy[],
  { isPruning }: { readonly isPruning: boolean },
): Plan {
  const byId = new Map(present.map((policy) => [policy.id, policy]));
  const named = new Set(wanted.map(({ id }) => id));
  const added: Policy[] = [];
  const changed: { before: Policy; after: Policy }[] = [];
  const unchanged: Policy[] = [];
  for (const after of wanted) {
    const before = byId.get(after.id);
    if (!before) added.push(after);
    else if (isSame(before, after)) unchanged.push(after);
    else changed.push({ before, after });
  }
  const pruned = isPruning ? present.filter(({ id }) => !named.has(id)) : [];
  return { added, changed, pruned, unchanged };
}

function isSame(one: Policy, other: Policy): boolean {
  return one.effect === other.effect && fields.every((field) => one[field] === other[field]);
}

/** One after the other, not all at once. Denials come first and go last, so that nothing opens on the way. */
async function carryOut(values: Values, { added, changed, pruned }: Plan): Promise<void> {
  const written = [...added, ...changed.map(({ after }) => after)];
  const has = (wanted: Policy["effect"]) => (policy: Policy) => policy.effect === wanted;
  const set = async ({ id, ...rest }: Policy): Promise<void> => {
    await call(values, "setPolicy", { policyId: id, ...rest });
  };
  const remove = async ({ id }: Policy): Promise<void> => {
    await call(values, "deletePolicy", { policyId: id });
  };
  const steps = [
    ...written.filter(has("deny")).map((policy) => () => set(policy)),
    ...pruned.filter(has("allow")).map((policy) => () => remove(policy)),
    ...written.filter(has("allow")).map((policy) => () => set(policy)),
    ...pruned.filter(has("deny")).map((policy) => () => remove(policy)),
  ];
  const progress = new Progress(steps.length, "changes");
  for (const step of steps) {
    await step();
    progress.advance();
  }
  progress.end();
}

function printPlan({ added, changed, pruned }: Plan): string {
  const lines = [
    ...added.map((policy) => paint("good", `+ ${printable(sentenceOf(policy))}`)),
    ...changed.flatMap(({ before, after }) => [
      paint("warn", `~ ${printable(sentenceOf(after))}`),
      paint("dim", `    was ${printable(sentenceOf(before))}`),
    ]),
    ...pruned.map((policy) => paint("bad", `- ${printable(sentenceOf(policy))}`)),
  ];
  return lines.length === 0 ? "" : `${lines.join("\n")}\n\n`;
}

function summary({ added, changed, pruned, unchanged }: Plan, isDry: boolean): string {
  const counts = [
    `${added.length} added`,
    `${changed.length} changed`,
    `${pruned.length} pruned`,
    `${unchanged.length} as they were`,
  ].join(" · ");
  return isDry ? `${counts} · only shown, nothing was changed` : counts;
}
