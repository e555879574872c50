/** `tipstaff install`: makes a host tell what its agents do. Alone, it says which hosts there are. */
import { homedir } from "node:os";
import { printChange } from "./change-words.ts";
import { type Column, printColumns } from "./columns.ts";
import { confirm } from "./confirm.ts";
import { exits } from "./exits.ts";
import { mistake } from "./failure.ts";
import { applyChanges, checkWritable, type PurposefulChange } from "./file-changes.ts";
import { type FileChange, type Host, type HostOptions, hosts } from "./hosts/index.ts";
import { inPackage } from "./hosts/package.ts";
import { printPath } from "./paths.ts";
import { nearest } from "./suggest.ts";
import type { Values } from "./table.ts";
import { paint, print, type Tone } from "./terminal.ts";
import { jsonOf, printable } from "./text.ts";

export async function install(values: Values, words: readonly string[]): Promise<number> {
  if (words.length === 0) return listHosts(values);
  return change(values, words, {
    isRemoval: false,
    plan: (host, options) => host.plan(options),
    none: (host) => `${host.title} is installed already`,
    question: "Make these changes?",
    done: (host) => [
      `${host.title} now tells what its agents do`,
      ...(host.afterInstall ? [host.afterInstall] : []),
      // A package runner clears its folder away some day; hooks then do nothing.
      ...(inPackage().includes("/_npx/")
        ? ["it will stop when npx tidies up: install tipstaff, then do this again"]
        : []),
    ],
  });
}

/** What a command does with the files of hosts. */
export type Doing = {
  readonly isRemoval: boolean;
  readonly plan: (host: Host, options: HostOptions) => readonly FileChange[];
  /** Said of a host for which nothing is to be done. */
  readonly none: (host: Host) => string;
  readonly question: string;
  readonly done: (host: Host) => readonly string[];
};

type Planned = { readonly host: Host; readonly changes: readonly PurposefulChange[] };

export function change(values: Values, words: readonly string[], doing: Doing): number {
  if (words.length === 0)
    throw mistake(`which host? there is ${hosts.map(({ name }) => name).join(", ")}`);
  // All are planned before any is changed: one that cannot be understood or written stops them all.
  const planned = [...new Set(words)].map(hostNamed).map((host) => planFor(host, doing));
  const changes = planned.flatMap((each) => each.changes);
  for (const each of changes) checkWritable(each);
  const isDry = values["dry-run"] === true;
  const isForPeople = !values["json"];
  const isDiff = values["diff"] === true;
  const isAnything = changes.length > 0;
  if (isForPeople) print(planned.map((each) => printPlan(each, doing, { isDiff })).join(""));
  if (isForPeople && isAnything && !isDiff && !values["yes"])
    print(`${paint("dim", "--diff shows every line")}\n`);
  if (isAnything && !isDry) confirm(values, doing.question);
  const backups = isDry ? [] : applyChanges(changes);
  if (!isForPeople) {
    print(
      `${jsonOf({ hosts: planned.map(describe), isApplied: isAnything && !isDry, backups })}\n`,
    );
  } else if (isAnything) {
    print(isDry ? "nothing was changed\n" : printOutcome(planned, backups, doing));
  }
  return exits.ok;
}

function planFor(host: Host, { plan, isRemoval }: Doing): Planned {
  const options = surroundings();
  const ours = new Set(host.planRemoval(options).map(({ path }) => path));
  const changes = plan(host, options).map((change): PurposefulChange => {
    const purpose = isRemoval ? "remove" : ours.has(change.path) ? "renew" : "install";
    return { ...change, purpose };
  });
  return { host, changes };
}

function printPlan(
  { host, changes }: Planned,
  doing: Doing,
  how: { readonly isDiff: boolean },
): string {
  if (changes.length === 0) return `${doing.none(host)}\n`;
  return changes.map((each) => printChange(each, how)).join("");
}

function printOutcome(
  planned: readonly Planned[],
  backups: readonly string[],
  doing: Doing,
): string {
  const said = planned.flatMap(({ host, changes }) =>
    changes.length === 0 ? [] : doing.done(host),
  );
  const kept = backups.map((path) =>
    paint("dim", `as it was before: ${printable(printPath(path))}`),
  );
  return `${[...said, ...kept].join("\n")}\n`;
}

function describe({ host, changes }: Planned): object {
  return {
    name: host.name,
    title: host.title,
    changes: changes.map(({ path, before, after, says }) => ({
      path,
      kind: before === undefined ? "create" : after === undefined ? "delete" : "change",
      says,
      before: before ?? null,
      after: after ?? null,
    })),
  };
}

function hostNamed(name: string): Host {
  const found = hosts.find((host) => host.name === name);
  if (found) return found;
  const names = hosts.map((host) => host.name);
  const meant = nearest(name, names);
  const hint = meant === undefined ? `there is ${names.join(", ")}` : `did you mean ${meant}?`;
  throw mistake(`there is no host ${name}; ${hint}`);
}

function surroundings(): HostOptions {
  return { env: process.env, home: homedir() };
}

type Row = {
  readonly name: string;
  readonly title: string;
  readonly state: string;
  readonly note: string;
};

const tones: Readonly<Record<string, Tone>> = {
  installed: "good",
  "to be renewed": "warn",
  unreadable: "bad",
};

function listHosts(values: Values): number {
  const options = surroundings();
  const rows = hosts.map((host): Row => {
    const { name, title } = host;
    try {
      const isThere = host.planRemoval(options).length > 0;
      const isWhole = isThere && host.plan(options).length === 0;
      const state = isWhole ? "installed" : isThere ? "to be renewed" : "not installed";
      return { name, title, state, note: isWhole ? "" : `tipstaff install ${name}` };
    } catch (error) {
      const note = error instanceof Error ? error.message : String(error);
      return { name, title, state: "unreadable", note };
    }
  });
  if (values["json"]) {
    print(`${jsonOf({ hosts: rows.map(({ name, title, state }) => ({ name, title, state })) })}\n`);
    return exits.ok;
  }
  const columns: readonly Column<Row>[] = [
    { title: "STATE", cell: ({ state }) => ({ text: state, tone: tones[state] }), weight: 9 },
    { title: "HOST", cell: ({ name }) => name, weight: 10 },
    { title: "", cell: ({ note }) => note, weight: 5 },
  ];
  print(printColumns(rows, columns));
  return exits.ok;
}
