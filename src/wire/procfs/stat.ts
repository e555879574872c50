/** What Linux says of a process in `/proc/<pid>/stat`: one line of fields, of which these matter. */
export type ProcessStat = {
  /** One letter. `Z` and `X` are dead, and only not yet buried. */
  readonly state: string;
  readonly parent: number;
  /** When it started: hundredths of a second since the machine did, whatever the kernel itself counts in. */
  readonly startTicks: string;
};

/** Undefined if it is no such line. */
export function statOf(text: string): ProcessStat | undefined {
  // The second field is a name in brackets, in which anything may stand: the others begin after the last of them.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state = "", parent = "", startTicks = ""] = [fields[0], fields[1], fields[19]];
  if (state === "" || !/^\d+$/.test(parent) || !/^\d+$/.test(startTicks)) return undefined;
  return { state, parent: Number(parent), startTicks };
}
