/** Looking into what a host hands over, which may be anything. */
export type Fields = { readonly [key: string]: unknown };

export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The first of these that is a text with something in it. */
export function textAt(value: unknown, ...keys: readonly string[]): string | undefined {
  const fields = fieldsOf(value);
  for (const key of keys) {
    const text = fields[key];
    if (typeof text === "string" && text.trim() !== "") return text;
  }
  return undefined;
}

/** Also what its class has. */
export function memberOf(value: unknown, key: string): unknown {
  const isObject = typeof value === "object" || typeof value === "function";
  return isObject && value !== null ? Reflect.get(value, key) : undefined;
}

/** What the method answers; nothing if there is none. */
export function call(value: unknown, method: string, ...words: readonly unknown[]): unknown {
  const found = memberOf(value, method);
  return typeof found === "function" ? Reflect.apply(found, value, words) : undefined;
}
