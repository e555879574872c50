/** Checks schemas and answers: see the README of this room. Both are JSON, from anybody. */
import { limits } from "./limits.ts";

type Fields = Readonly<Record<string, unknown>>;

const typeNames = ["null", "boolean", "object", "array", "number", "integer", "string"];

const annotations: ReadonlySet<string> = new Set([
  "$schema",
  "$id",
  "$comment",
  "title",
  "description",
  "default",
  "examples",
  "format",
  "deprecated",
  "readOnly",
  "writeOnly",
]);

/** Why the value of a keyword is not valid. `problemOf` checks the schemas inside it. */
const keywords: Readonly<Record<string, (value: unknown) => string | undefined>> = {
  type: (value) => {
    const names = Array.isArray(value) ? value : [value];
    const isType = names.length > 0 && names.every((one) => typeNames.includes(one));
    return isType ? undefined : `must be one of ${typeNames.join(", ")}, or a list of these`;
  },
  enum: (value) =>
    Array.isArray(value) && value.length > 0 && value.length <= limits.enumMax
      ? undefined
      : `must be a list of 1 to ${limits.enumMax} values`,
  const: () => undefined,
  properties: (value) => (isFields(value) ? undefined : "must be an object"),
  required: (value) =>
    Array.isArray(value) && value.every((one) => typeof one === "string")
      ? undefined
      : "must be a list of names",
  additionalProperties: () => undefined,
  items: () => undefined,
  prefixItems: isList,
  anyOf: isList,
  oneOf: isList,
  allOf: isList,
  uniqueItems: (value) => (typeof value === "boolean" ? undefined : "must be true or false"),
  minProperties: isCount,
  maxProperties: isCount,
  minItems: isCount,
  maxItems: isCount,
  minLength: isCount,
  maxLength: isCount,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  multipleOf: (value) =>
    Number.isFinite(value) && Number(value) > 0 ? undefined : "must be a number above 0",
};

function isList(value: unknown): string | undefined {
  return Array.isArray(value) && value.length > 0 ? undefined : "must be a list of schemas";
}

function isCount(value: unknown): string | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0
    ? undefined
    : "must be a whole number, at least 0";
}

function isNumber(value: unknown): string | undefined {
  // JSON such as 1e999 reads as Infinity, which JSON cannot express.
  return Number.isFinite(value) ? undefined : "must be a number";
}

/** What is wrong with a schema, and where; undefined if it can be used for a question. */
export function problemOfSchema(schema: unknown): string | undefined {
  if (!isFields(schema)) return "must be an object";
  return problemOf(schema, { path: "", depth: 1, budget: { left: limits.schemasMax } });
}

type Place = {
  readonly path: string;
  readonly depth: number;
  readonly budget: { left: number };
};

function problemOf(schema: unknown, place: Place): string | undefined {
  const { path, depth, budget } = place;
  const at = (problem: string, keyword = ""): string => {
    const where = [path, keyword].filter((part) => part !== "").join(".");
    return where === "" ? problem : `${where}: ${problem}`;
  };
  budget.left -= 1;
  if (budget.left < 0) return `must have at most ${limits.schemasMax} schemas in it`;
  if (depth > limits.depthMax) return at(`must not be nested deeper than ${limits.depthMax}`);
  if (typeof schema === "boolean") return undefined;
  if (!isFields(schema)) return at("must be a schema: an object, true or false");
  for (const [keyword, value] of Object.entries(schema)) {
    if (annotations.has(keyword)) continue;
    const check = Object.hasOwn(keywords, keyword) ? keywords[keyword] : undefined;
    if (!check) return at("is not supported here", keyword);
    const problem = check(value);
    if (problem !== undefined) return at(problem, keyword);
  }
  for (const [name, inner] of within(schema)) {
    const next = { path: path === "" ? name : `${path}.${name}`, depth: depth + 1, budget };
    const problem = problemOf(inner, next);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The schemas inside a schema, with their paths. */
function* within(schema: Fields): Generator<readonly [path: string, schema: unknown]> {
  for (const name of ["items", "additionalProperties"]) {
    if (Object.hasOwn(schema, name)) yield [name, schema[name]];
  }
  for (const name of ["prefixItems", "anyOf", "oneOf", "allOf"]) {
    for (const [index, inner] of listOf(schema[name]).entries()) yield [`${name}.${index}`, inner];
  }
  const { properties } = schema;
  if (!isFields(properties)) return;
  for (const [name, inner] of Object.entries(properties)) yield [`properties.${name}`, inner];
}

/** What is wrong with an answer, and where; undefined if the schema allows it. Expects a schema without problems. */
export function problemOfAnswer(schema: unknown, answer: unknown): string | undefined {
  const work: Work = { left: limits.stepsMax, allowed: new Map() };
  const problem = check(schema, answer, { path: "", work });
  return work.left < 0 ? "is too large to be checked against the schema" : problem;
}

type At = { readonly path: string; readonly work: Work };

type Work = {
  /** How many steps are left: a hostile schema and answer together must not keep the process busy. */
  left: number;
  /** The values that `enum` and `const` of a schema allow, printed once. */
  readonly allowed: Map<Fields, readonly Allowed[]>;
};

type Allowed = { readonly texts: ReadonlySet<string>; readonly problem: Problem };

function check(schema: unknown, value: unknown, at: At): string | undefined {
  const { path, work } = at;
  work.left -= 1;
  if (work.left < 0) return "";
  const problem = checkHere(schema, value, at);
  if (problem === undefined || problem.isPlaced) return problem?.text;
  return path === "" ? problem.text : `${path}: ${problem.text}`;
}

type Problem = { readonly text: string; readonly isPlaced: boolean };

function here(text: string): Problem {
  return { text, isPlaced: false };
}

function checkHere(schema: unknown, value: unknown, at: At): Problem | undefined {
  if (schema === false) return here("no value is valid here: the schema is false");
  if (!isFields(schema)) return undefined;
  const { type } = schema;
  const types = Array.isArray(type) ? type : type === undefined ? [] : [type];
  readMany(at.work, types.length);
  if (types.length > 0 && !types.some((one) => isOf(one, value))) {
    return here(`must be ${types.map(inWords).join(" or ")}`);
  }
  return (
    checkAllowed(schema, value, at) ??
    problemWithin(schema, value, at) ??
    checkCombined(schema, value, at)
  );
}

function checkAllowed(schema: Fields, value: unknown, { work }: At): Problem | undefined {
  const known = work.allowed.get(schema) ?? allowedBy(schema, work);
  work.allowed.set(schema, known);
  if (known.length === 0) return undefined;
  const text = print(value, work);
  return known.find(({ texts }) => !texts.has(text))?.problem;
}

function allowedBy(schema: Fields, work: Work): readonly Allowed[] {
  const allow = (values: readonly unknown[], words: string): Allowed => {
    const texts = new Set(values.map((one) => print(one, work)));
    return { texts, problem: here(words + values.map((one) => JSON.stringify(one)).join(", ")) };
  };
  const { enum: values, const: only } = schema;
  return [
    ...(Array.isArray(values) ? [allow(values, "must be one of ")] : []),
    ...(Object.hasOwn(schema, "const") ? [allow([only], "must be ")] : []),
  ];
}

function problemWithin(schema: Fields, value: unknown, at: At): Problem | undefined {
  if (typeof value === "string") return checkText(schema, value, at);
  if (typeof value === "number") return checkNumber(schema, value);
  if (Array.isArray(value)) return checkItems(schema, value, at);
  return isFields(value) ? checkFields(schema, value, at) : undefined;
}

function checkText(schema: Fields, text: string, { work }: At): Problem | undefined {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema;
  if (minLength === 0 && maxLength === Number.POSITIVE_INFINITY) return undefined;
  readMany(work, text.length);
  const length = [...text].length;
  if (length < Number(minLength)) return here(`must have at least ${minLength} characters`);
  if (length > Number(maxLength)) return here(`must have at most ${maxLength} characters`);
  return undefined;
}

function checkNumber(schema: Fields, value: number): Problem | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === "number" && value < minimum) return here(`must be at least ${minimum}`);
  if (typeof maximum === "number" && value > maximum) return here(`must be at most ${maximum}`);
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum) {
    return here(`must be above ${exclusiveMinimum}`);
  }
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum) {
    return here(`must be below ${exclusiveMaximum}`);
  }
  if (typeof multipleOf !== "number") return undefined;
  const times = value / multipleOf;
  // 0.3 is three times 0.1, whatever floating point makes of it.
  const isMultiple = Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times));
  return isMultiple ? undefined : here(`must be a multiple of ${multipleOf}`);
}

function checkItems(schema: Fields, items: readonly unknown[], at: At): Problem | undefined {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY, uniqueItems } = schema;
  if (items.length < Number(minItems)) return here(`must have at least ${minItems} items`);
  if (items.length > Number(maxItems)) return here(`must have at most ${maxItems} items`);
  if (uniqueItems === true) {
    const different = new Set(items.map((item) => print(item, at.work, 1)));
    if (different.size < items.length) return here("must not have the same item twice");
  }
  const first = listOf(schema["prefixItems"]);
  for (const [index, item] of items.entries()) {
    const inner = index < first.length ? first[index] : (schema["items"] ?? true);
    const text = check(inner, item, { ...at, path: `${at.path}[${index}]` });
    if (text !== undefined) return { text, isPlaced: true };
  }
  return undefined;
}

function checkFields(schema: Fields, fields: Fields, at: At): Problem | undefined {
  const { minProperties = 0, maxProperties = Number.POSITIVE_INFINITY } = schema;
  const names = Object.keys(fields);
  const required = listOf(schema["required"]);
  readMany(at.work, names.length + required.length);
  if (names.length < Number(minProperties))
    return here(`must have at least ${minProperties} fields`);
  if (names.length > Number(maxProperties))
    return here(`must have at most ${maxProperties} fields`);
  const missing = required.find((name) => !Object.hasOwn(fields, String(name)));
  if (missing !== undefined) return here(`${missing} is missing`);
  const properties = isFields(schema["properties"]) ? schema["properties"] : {};
  for (const name of names) {
    const isNamed = Object.hasOwn(properties, name);
    const inner = isNamed ? properties[name] : (schema["additionalProperties"] ?? true);
    if (!isNamed && inner === false) return here(`there is no field ${name}`);
    const text = check(inner, fields[name], {
      ...at,
      path: at.path === "" ? name : `${at.path}.${name}`,
    });
    if (text !== undefined) return { text, isPlaced: true };
  }
  return undefined;
}

function checkCombined(schema: Fields, value: unknown, at: At): Problem | undefined {
  for (const inner of listOf(schema["allOf"])) {
    const text = check(inner, value, at);
    if (text !== undefined) return { text, isPlaced: true };
  }
  const { anyOf, oneOf } = schema;
  if (Array.isArray(anyOf)) {
    const problems = anyOf.map((inner) => check(inner, value, at));
    const [first] = problems;
    const isNone = problems.every((problem) => problem !== undefined);
    if (isNone && first !== undefined) return { text: first, isPlaced: true };
  }
  if (!Array.isArray(oneOf)) return undefined;
  const problems = oneOf.map((inner) => check(inner, value, at));
  const fitting = problems.filter((problem) => problem === undefined).length;
  if (fitting > 1)
    return here("must match exactly one of the schemas in oneOf, but matches several");
  const [first] = problems;
  return fitting === 0 && first !== undefined ? { text: first, isPlaced: true } : undefined;
}

function isOf(type: unknown, value: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isFields(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function inWords(type: unknown): string {
  switch (type) {
    case "null":
      return "null";
    case "boolean":
      return "true or false";
    case "object":
      return "an object";
    case "array":
      return "a list";
    case "integer":
      return "a whole number";
    case "number":
      return "a number";
    default:
      return "a text";
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** What takes a small part of a step each: names, types and characters. A few of them belong to the step itself. */
function readMany(work: Work, count: number): void {
  work.left -= Math.floor(count / limits.readsOfStep);
}

/** The same text for equal values, whatever the order of their fields. Each value inside it is a step. */
function print(value: unknown, work: Work, depth = 0): string {
  if (depth > 0) work.left -= 1;
  if (depth > limits.valueDepthMax) work.left = -1;
  if (work.left < 0) return "";
  const inner = (one: unknown): string => print(one, work, depth + 1);
  if (Array.isArray(value)) return `[${value.map(inner).join()}]`;
  if (!isFields(value)) return JSON.stringify(value) ?? "null";
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${inner(value[name])}`).join()}}`;
}
