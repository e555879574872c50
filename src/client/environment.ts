/**
 * What this machine says about where the daemon is: `TIPSTAFF_URL`, `TIPSTAFF_TOKEN`, `TIPSTAFF_DATA_DIR`,
 * and the file that the daemon keeps its token in. The one place outside the command line that reads the
 * environment: a program that says nothing should find the daemon that its user runs. Node's modules are
 * asked for by name at run time, so that a browser's bundle has none of them; in a browser nothing is found.
 */

export type Surroundings = {
  readonly url: string | undefined;
  readonly token: string | undefined;
  /** Where the token of this machine's daemon is kept. */
  readonly tokenPath: string | undefined;
};

export function lookAround(): Surroundings {
  const env = globalThis.process?.env ?? {};
  return {
    url: env["TIPSTAFF_URL"] || undefined,
    token: env["TIPSTAFF_TOKEN"] || undefined,
    tokenPath: findTokenPath(env),
  };
}

/** Undefined if there is none, or it may not be read. */
export function readToken(path: string): string | undefined {
  try {
    const token = globalThis.process?.getBuiltinModule?.("node:fs").readFileSync(path, "utf8");
    return token?.trim() || undefined;
  } catch {
    return undefined;
  }
}

function findTokenPath(env: NodeJS.ProcessEnv): string | undefined {
  const directory = env["TIPSTAFF_DATA_DIR"];
  if (directory) return `${directory}/token`;
  const state = env["XDG_STATE_HOME"];
  if (state) return `${state}/tipstaff/token`;
  const home = globalThis.process?.getBuiltinModule?.("node:os").homedir();
  return home ? `${home}/.local/state/tipstaff/token` : undefined;
}
