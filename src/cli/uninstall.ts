/** `tipstaff uninstall`: takes our part out of a host's files again, and nothing else. */
import { changeHosts } from "./change-hosts.ts";
import { asItWas } from "./file-changes.ts";
import type { Values } from "./table.ts";

export async function uninstall(values: Values, words: readonly string[]): Promise<number> {
  return changeHosts(values, words, {
    isRemoval: true,
    plan: (host, options) => host.planRemoval(options).map(asItWas),
    none: (host) => `${host.title} is not installed`,
    question: "Make these changes?",
    done: (host) => [`${host.title} does not tell any more what its agents do`],
  });
}
