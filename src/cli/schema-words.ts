/** What a JSON Schema allows, in words for the person who types the answer. */
import { limits } from "./limits.ts";

type Fields = Readonly<Record<string, unknown>>;

/** `object with parts (whole number, 1 to 12), reference (text, optional)`; `any JSON` if it says nothing. */
export function schemaText(schema: unknown, depth = 0): string {
  if (!isFields(schema)) return "any JSON";
  const { type, enum: values } = schema;
  if (Array.isArray(values)) return listText(values.map(printValue), " | ");
  if ("const" in schema) return printValue(schema["const"]);
  const branches = schema["anyOf"] ?? schema["oneOf"] ?? (Array.isArray(type) ? type : undefined);
  if (Array.isArray(branches) && depth < limits.schemaDepthShownMax) {
    const texts = branches.map((branch) =>
      schemaText(isFields(branch) ? branch : { ...schema, type: branch }, depth + 1),
    );
    return listText([...new Set(texts)], " or ");
  }
  switch (type) {
    case "string":
      return `text${rangeText(schema, ["minLength", "maxLength"], " characters")}`;
    case "integer":
      return `whole number${rangeText(schema, ["minimum", "maximum"])}`;
    case "number":
      return `number${rangeText(schema, ["minimum", "maximum"])}`;
    case "boolean":
      return "true or false";
    case "null":
      return "null";
    case "array": {
      const items = schema["items"];
      const isShown = items !== undefined && depth < limits.schemaDepthShownMax;
      const what = isShown ? ` of ${schemaText(items, depth + 1)}` : "";
      return `list${what}${rangeText(schema, ["minItems", "maxItems"], " items")}`;
    }
    case "object":
      return `object${fieldsText(schema, depth)}`;
    default:
      return "any JSON";
  }
}

/** Whether the schema mentions texts. One that allows everything does not: its answer must be JSON. */
export function namesText(schema: unknown): boolean {
  if (!isFields(schema)) return false;
  const { type, enum: values, const: value, anyOf, oneOf } = schema;
  return (
    [type].flat().includes("string") ||
    [values, value].flat().some((one) => typeof one === "string") ||
    [anyOf, oneOf].flat().some(namesText)
  );
}

function fieldsText({ properties, required }: Fields, depth: number): string {
  if (!isFields(properties) || depth >= limits.schemaDepthShownMax) return "";
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const fields = Object.entries(properties).map(([name, field]) => {
    const optional = needed.includes(name) ? "" : ", optional";
    return `${name} (${schemaText(field, depth + 1)}${optional})`;
  });
  return fields.length === 0 ? "" : ` with ${listText(fields, ", ")}`;
}

/** `, 1 to 12`; empty without bounds. */
function rangeText(schema: Fields, [low, high]: readonly [string, string], unit = ""): string {
  const [min, max] = [schema[low], schema[high]];
  if (typeof min === "number" && typeof max === "number") return `, ${min} to ${max}${unit}`;
  if (typeof min === "number") return `, at least ${min}${unit}`;
  return typeof max === "number" ? `, at most ${max}${unit}` : "";
}

function listText(texts: readonly string[], separator: string): string {
  const shown = texts.slice(0, limits.schemaPartsShownMax);
  const more = texts.length - shown.length;
  return shown.join(separator) + (more > 0 ? `${separator}${more} more` : "");
}

function printValue(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
