/** What a question asks, in words: the same in the daemon, on the command line and on the page. */
import { limits } from "./limits.ts";

type Asked = {
  readonly prompt: string;
  readonly scope?: { readonly read: readonly string[]; readonly writePrefix?: string } | undefined;
};

/** The prompt. A request for access begins with the files that it is for. */
export function promptText({ prompt, scope }: Asked): string {
  if (!scope) return prompt;
  const { read, writePrefix } = scope;
  const shown = read.slice(0, limits.patternsShownMax);
  const more = read.length - shown.length;
  const patterns = more > 0 ? [...shown, `${more} more patterns`] : shown;
  const wishes = [
    ...(patterns.length > 0 ? [`read ${patterns.join(", ")}`] : []),
    ...(writePrefix === undefined ? [] : [`write ${writePrefix}`]),
  ];
  return `wants to ${wishes.join(" and ") || "have access"}: ${prompt}`;
}

/** The same after the name of the asker: `asks: Pay 5 EUR?`, `wants to read docs/**: to compare`. */
export function asksText(asked: Asked): string {
  return asked.scope ? promptText(asked) : `asks: ${asked.prompt}`;
}
