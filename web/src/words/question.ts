/**
 * A question to a person as a form, and what was entered in the form as an answer. The form follows the JSON
 * Schema as far as fields for people go; every other part of a schema is one field for JSON. Whether the schema
 * allows the answer is not decided here but by `problemOfAnswer`, as in the daemon.
 */
import type { QuestionInfo as Question } from "tipstaff/client";

export type Choice = { readonly label: string; readonly value: unknown };

export type Field = {
  /** The name of the property; empty if the field is the whole answer. */
  readonly name: string;
  readonly label: string;
  readonly note: string;
  readonly isRequired: boolean;
} & Entry;

type Entry =
  | { readonly kind: "text" | "number" | "json" }
  | { readonly kind: "one" | "several"; readonly choices: readonly Choice[] };

export type Form =
  /** One click answers. */
  | { readonly of: "buttons"; readonly choices: readonly Choice[] }
  | { readonly of: "fields"; readonly fields: readonly Field[]; readonly isObject: boolean };

type Asked = Pick<Question, "kind" | "choices" | "schema">;
type Fields = Readonly<Record<string, unknown>>;

/** More choices than these are easier to find in a list. */
const buttonsMax = 12;

export function formOf({ kind, choices, schema }: Asked): Form {
  if (kind === "scope") {
    const grant = { label: "Grant", value: { granted: true } };
    return { of: "buttons", choices: [grant, { label: "Deny", value: { granted: false } }] };
  }
  if (choices) {
    return { of: "buttons", choices: choices.map((text) => ({ label: text, value: text })) };
  }
  const properties = propertiesOf(schema);
  if (properties) return { of: "fields", fields: properties, isObject: true };
  const entry: Entry = schema === undefined ? { kind: "text" } : entryOf(schema);
  if (entry.kind === "one" && entry.choices.length <= buttonsMax) {
    return { of: "buttons", choices: entry.choices };
  }
  const whole = { name: "", label: "Answer", note: textOf(schema, "description") };
  return { of: "fields", fields: [{ ...whole, isRequired: true, ...entry }], isObject: false };
}

/** One field for each property; undefined if fields cannot make up the object. */
function propertiesOf(schema: unknown): readonly Field[] | undefined {
  if (!isFields(schema) || schema["type"] !== "object") return undefined;
  const { properties } = schema;
  if (!isFields(properties) || Object.keys(properties).length === 0) return undefined;
  const required = listOf(schema["required"]);
  if (!required.every((name) => Object.hasOwn(properties, String(name)))) return undefined;
  return Object.entries(properties).map(([name, inner]) => ({
    name,
    label: textOf(inner, "title") || name,
    note: textOf(inner, "description"),
    isRequired: required.includes(name),
    ...entryOf(inner),
  }));
}

function entryOf(schema: unknown): Entry {
  if (!isFields(schema)) return { kind: "json" };
  const choices = choicesOf(schema);
  if (choices) return { kind: "one", choices };
  switch (schema["type"]) {
    case "string":
      return { kind: "text" };
    case "number":
    case "integer":
      return { kind: "number" };
    case "array": {
      const several = isFields(schema["items"]) ? choicesOf(schema["items"]) : undefined;
      return several ? { kind: "several", choices: several } : { kind: "json" };
    }
    default:
      return { kind: "json" };
  }
}

/** The allowed values, if the schema allows only a few. */
function choicesOf(schema: Fields): readonly Choice[] | undefined {
  const { type, enum: values } = schema;
  if (Array.isArray(values)) return values.map((value) => ({ label: labelOf(value), value }));
  if (type === "boolean") {
    return [
      { label: "Yes", value: true },
      { label: "No", value: false },
    ];
  }
  const parts = listOf(schema["oneOf"] ?? schema["anyOf"]);
  const isAllConst = parts.every((part) => isFields(part) && Object.hasOwn(part, "const"));
  if (parts.length === 0 || !isAllConst) return undefined;
  return parts.filter(isFields).map((part) => ({
    label: textOf(part, "title") || labelOf(part["const"]),
    value: part["const"],
  }));
}

export type Read = { readonly answer: unknown } | { readonly problem: string };

/** `entered` is the content of each field: the indexes of the chosen choices, or the text. */
export function answerFrom(
  { fields, isObject }: Extract<Form, { of: "fields" }>,
  entered: readonly (readonly string[])[],
): Read {
  const given: [string, unknown][] = [];
  for (const [index, field] of fields.entries()) {
    const texts = entered[index] ?? [];
    if (texts.every((text) => text.trim() === "")) {
      if (!field.isRequired) continue;
      const isText = field.kind === "text" && isObject;
      if (!isText && field.kind !== "several") return { problem: `${field.label} is missing` };
    }
    const read = valueIn(field, texts);
    if ("problem" in read) return read;
    given.push([field.name, read.answer]);
  }
  // `fromEntries` defines the properties: a field with the name `__proto__` is a field like others.
  return { answer: isObject ? Object.fromEntries(given) : given[0]?.[1] };
}

function valueIn(field: Field, texts: readonly string[]): Read {
  const [text = ""] = texts;
  switch (field.kind) {
    case "text":
      return { answer: text };
    case "number": {
      const value = Number(text);
      return Number.isFinite(value)
        ? { answer: value }
        : { problem: `${field.label} must be a number` };
    }
    case "one":
      return { answer: field.choices[Number(text)]?.value };
    case "several":
      return { answer: texts.map((index) => field.choices[Number(index)]?.value) };
    case "json":
      try {
        return { answer: JSON.parse(text) };
      } catch {
        const such = 'such as 42, "text" or {"name": "value"}';
        return { problem: `${field.label} must be JSON ${such}` };
      }
  }
}

/** How a question ended, without when. */
export function endOf({ state, answer, answeredBy, reason }: Question): string {
  if (state === "open") return "open";
  if (state === "answered") {
    return `answered by ${answeredBy ?? "somebody"}: ${labelOf(answer)}`;
  }
  return `closed: ${closings[reason ?? "withdrawn"]}`;
}

const closings: Readonly<Record<NonNullable<Question["reason"]>, string>> = {
  withdrawn: "the agent or job that asked no longer needs an answer",
  timed_out: "nobody answered before its deadline",
  asker_ended: "the agent or job that asked has ended",
  cannot_run_again: "its job was interrupted and does not run again",
};

function labelOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function textOf(schema: unknown, name: "title" | "description"): string {
  const text = isFields(schema) ? schema[name] : undefined;
  return typeof text === "string" ? text : "";
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
