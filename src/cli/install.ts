/** `tipstaff install`: makes a host tell what its agents do. Alone, it says which hosts there are. */
import { jsonOf, paint, print, type Tone } from "../terminal/index.ts";
import { changeHosts, surroundings } from "./change-hosts.ts";
import { type Column, printColumns } from "./columns.ts";
import { exits } from "./exits.ts";
import { type Host, hosts } from "./hosts/index.ts";
import { inPackage } from "./package.ts";
import type { Values } from "./table.ts";

export async function install(values: Values, words: readonly string[]): Promise<number> {
  if (words.length === 0) return listHosts(values);
  return changeHosts(values, words, {
    isRemoval: false,
    plan: (host, options) => host.plan(options),
    none: (host) => [`${host.title} is installed already`, ...obstaclesOf(host)].join("\n"),
    question: "Make these changes?",
    done: (host) => [
      ...(obstaclesOf(host).length > 0
        ? [`${host.title} is installed`, ...obstaclesOf(host)]
        : [`${host.title} now tells what its agents do`]),
      ...(host.afterInstall ? [host.afterInstall] : []),
      // A package runner clears its folder away some day; hooks then do nothing.
      ...(inPackage().includes("/_npx/")
        ? ["it will stop when npx tidies up: install tipstaff, then do this again"]
        : []),
    ],
  });
}

/** What is installed may tell nothing all the same. */
function obstaclesOf(host: Host): readonly string[] {
  const obstacle = host.obstacle?.(surroundings());
  return obstacle === undefined ? [] : [paint("warn", `but ${obstacle}`)];
}

type Row = {
  readonly name: string;
  readonly title: string;
  readonly state: string;
  readonly note: string;
};

const tones: Readonly<Record<string, Tone>> = {
  installed: "good",
  disabled: "warn",
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
      const obstacle = isWhole ? host.obstacle?.(options) : undefined;
      if (obstacle) return { name, title, state: "disabled", note: `installed, but ${obstacle}` };
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
