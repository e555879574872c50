/**
 * What `tipstaff install` knows of a host: which files would change, and how. A host only says; the
 * command shows it, asks, keeps a backup and writes.
 */

export type Env = Readonly<Record<string, string | undefined>>;

export type HostOptions = {
  readonly env: Env;
  /** The user's home directory. */
  readonly home: string;
};

export type FileChange = {
  readonly path: string;
  /** What is there now, byte for byte; undefined: no such file. */
  readonly before: string | undefined;
  /** What will be there; undefined: the file goes. */
  readonly after: string | undefined;
  /** What the change does, for a person: `7 hooks that tell tipstaff what happens`. */
  readonly says: string;
  /** More of it, a line each, for who wants to know before saying yes. */
  readonly details: readonly string[];
};

export type Host = {
  /** What is typed: `claude-code`. */
  readonly name: string;
  /** What it is called: `Claude Code`. */
  readonly title: string;
  /**
   * What would change, file by file; empty if it is installed already. Throws a `Failure` that names the file if
   * one is not to be understood: nothing is then written.
   */
  plan(options: HostOptions): readonly FileChange[];
  /** What would change to be without it; empty if it is not installed. */
  planRemoval(options: HostOptions): readonly FileChange[];
  /** What in the user's own settings keeps the host from telling anything, and the way out; usually nothing. */
  obstacle?(options: HostOptions): string | undefined;
  /** One line on what is left to do: trust the hooks, restart the host. */
  readonly afterInstall?: string;
};
