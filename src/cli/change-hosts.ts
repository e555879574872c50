/** What `install` and `uninstall` have in common: plan, show, ask, change, and say what came of it. */
import { homedir } from "node:os";
import { jsonOf, paint, print, printable } from "../terminal/index.ts";
import { printChange } from "./change-words.ts";
import { confirm } from "./confirm.ts";
import { exits } from "./exits.ts";
import { mistake } from "./failure.ts";
import { applyChanges, checkWritable, type PurposefulChange } from "./file-changes.ts";
import { type FileChange, type Host, type HostOptions, hosts } from "./hosts/index.ts";
import { printPath } from "./paths.ts";
import { nearest } from "./suggest.ts";
import type { Values } from "./table.ts";

/** What a command does with the files of hosts. */
export type HostChange = {
  readonly isRemoval: boolean;
  readonly plan: (host: Host, options: HostOptions) => readonly FileChange[];
  /** Said of a host for which nothing is to be done. */
  readonly none: (host: Host) => string;
  readonly question: string;
  readonly done: (host: Host) => readonly string[];
};

type Planned = { readonly host: Host; readonly changes: readonly PurposefulChange[] };

export function changeHosts(values: Values, words: readonly string[], wanted: HostChange): number {
  if (words.length === 0)
    throw mistake(`which host? there is ${hosts.map(({ name }) => name).join(", ")}`);
  // All are planned before any is changed: one that cannot be understood or written stops them all.
  const planned = [...new Set(words)].map(hostNamed).map((host) => planFor(host, wanted));
  const changes = planned.flatMap((each) => each.changes);
  for (const each of changes) checkWritable(each);
  const isDry = values["dry-run"] === true;
  const isForPeople = !values["json"];
  const isDiff = values["diff"] === true;
  const isAnything = changes.length > 0;
  if (isForPeople) print(planned.map((each) => printPlan(each, wanted, { isDiff })).join(""));
  if (isForPeople && isAnything && !isDiff && !values["yes"])
    print(`${paint("dim", "--diff shows every line")}\n`);
  if (isAnything && !isDry) confirm(values, wanted.question);
  const backups = isDry ? [] : applyChanges(changes);
  if (!isForPeople) {
    print(
      `${jsonOf({ hosts: planned.map(describe), isApplied: isAnything && !isDry, backups })}\n`,
    );
  } else if (isAnything) {
    print(isDry ? "nothing was changed\n" : printOutcome(planned, backups, wanted));
  }
  return exits.ok;
}

function planFor(host: Host, { plan, isRemoval }: HostChange): Planned {
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
  wanted: HostChange,
  how: { readonly isDiff: boolean },
): string {
  if (changes.length === 0) return `${wanted.none(host)}\n`;
  return changes.map((each) => printChange(each, how)).join("");
}

function printOutcome(
  planned: readonly Planned[],
  backups: readonly string[],
  wanted: HostChange,
): string {
  const said = planned.flatMap(({ host, changes }) =>
    changes.length === 0 ? [] : wanted.done(host),
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

export function surroundings(): HostOptions {
  return { env: process.env, home: homedir() };
}
