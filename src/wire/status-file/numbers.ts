/**
 * Numbers that JavaScript would change. An integer beyond 2^53 is kept as its own digits, in the way that
 * `JSON.rawJSON` keeps them: whoever prints it, with us or with `JSON.stringify`, prints what was read.
 * A runtime without that function reads such a number inexactly, as `JSON.parse` does.
 */
type Source = { readonly source?: string };

type JsonWithSources = {
  readonly parse: (
    text: string,
    revive?: (key: string, value: unknown, context?: Source) => unknown,
  ) => unknown;
  readonly rawJSON?: (source: string) => unknown;
  readonly isRawJSON?: (value: unknown) => boolean;
};

const json: JsonWithSources = JSON;

/** Might there be one? In a string it may also be something else; then looking closely does no harm. */
const suspects = /[:,[]\s*-?\d(?:\d{15}|\d*(?:\.\d+)?[eE]\+?\d{3})/;

/** As `JSON.parse`, throwing what it throws, with the digits of large numbers. */
export function parseExactly(text: string): unknown {
  const { rawJSON } = json;
  if (!rawJSON || !suspects.test(text)) return json.parse(text);
  return json.parse(text, (_, value, context) => {
    const isChanged = typeof value === "number" && !isFaithful(value, context?.source);
    return isChanged && context?.source !== undefined ? rawJSON(context.source) : value;
  });
}

/** Its digits, if it is a number that is kept as such. */
export function exactDigits(value: unknown): string | undefined {
  if (typeof value !== "object" || json.isRawJSON?.(value) !== true) return undefined;
  return JSON.stringify(value);
}

export function isExactInteger(value: unknown): boolean {
  const digits = exactDigits(value);
  return digits !== undefined && /^-?\d+$/.test(digits);
}

/** Fractions are allowed to lose what a double cannot hold; being out of its range is another matter. */
function isFaithful(value: number, source = ""): boolean {
  return Number.isSafeInteger(value) || (Number.isFinite(value) && !/^-?\d+$/.test(source));
}
