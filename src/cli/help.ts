/** Help texts, from the table. */
import { type CommandRow, commands } from "./table.ts";

export function printHelp(command?: CommandRow): string {
  return command ? helpFor(command) : overview();
}

function overview(): string {
  return [
    "The control plane for the agents you run.",
    "",
    "  tipstaff up          start it, then open http://localhost:9090",
    "  tipstaff status      see what is in it",
    "",
    "Commands:",
    ...columns(commands.map(({ name, summary }) => [name, summary])),
    "",
    "`tipstaff <command> --help` says more. Exit codes: 0 yes, 1 no, 2 typed wrong, 3 no daemon.",
  ].join("\n");
}

function helpFor({ summary, examples, flags, exits }: CommandRow): string {
  const rows = flags.map(({ name, value, help, default: standard }) => [
    `--${name}${value ? ` <${value}>` : ""}`,
    standard === undefined ? help : `${help} (${standard})`,
  ]);
  const meanings = [...exits, [2, "typed wrong"] as const].map(
    ([code, meaning]) => `${code} ${meaning}`,
  );
  return [
    ...examples.map((example) => `  ${example}`),
    "",
    `${capital(summary)}.`,
    "",
    ...columns(rows),
    "",
    `Exit codes: 0 done; ${meanings.join("; ")}.`,
  ].join("\n");
}

function columns(rows: readonly (readonly string[])[]): string[] {
  const width = Math.max(...rows.map(([first = ""]) => first.length)) + 3;
  return rows.map(([first = "", second = ""]) => `  ${first.padEnd(width)}${second}`);
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
