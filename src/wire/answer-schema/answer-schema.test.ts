import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import * as z from "zod";
import { problemOfAnswer, problemOfSchema } from "./answer-schema.ts";
import { limits } from "./limits.ts";

const order = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Order",
  type: "object",
  properties: {
    size: { type: "integer", minimum: 1, maximum: 5, description: "from 1 to 5" },
    colours: { type: "array", items: { enum: ["red", "blue"] }, minItems: 1, uniqueItems: true },
    note: { anyOf: [{ type: "string", minLength: 1, maxLength: 3 }, { type: "null" }] },
  },
  required: ["size"],
  additionalProperties: false,
} as const;

test("an answer is held to the schema, and the problem says where it is", () => {
  assert.equal(problemOfSchema(order), undefined);
  const cases: readonly (readonly [unknown, string | undefined])[] = [
    [{ size: 1, colours: ["red", "blue"], note: null }, undefined],
    [{ size: 5, note: "äöü" }, undefined],
    ["x", "must be an object"],
    [{}, "size is missing"],
    [{ size: 1.5 }, "size: must be a whole number"],
    [{ size: 6 }, "size: must be at most 5"],
    [{ size: 1, colours: [] }, "colours: must have at least 1 items"],
    [{ size: 1, colours: ["red", "red"] }, "colours: must not have the same item twice"],
    [{ size: 1, colours: ["red", "green"] }, 'colours[1]: must be one of "red", "blue"'],
    [{ size: 1, note: "long" }, "note: must have at most 3 characters"],
    [{ size: 1, more: 1 }, "there is no field more"],
    [JSON.parse('{"size":1,"__proto__":1}'), "there is no field __proto__"],
  ];
  for (const [answer, problem] of cases) {
    assert.equal(problemOfAnswer(order, answer), problem, JSON.stringify(answer));
  }
});

test("a schema that cannot be checked is refused, and says which part", () => {
  const cases: readonly (readonly [unknown, string])[] = [
    ["string", "must be an object"],
    [true, "must be an object"],
    [{ type: "text" }, "type: must be one of"],
    [{ pattern: "(a+)+$" }, "pattern: is not supported here"],
    [{ $ref: "#" }, "$ref: is not supported here"],
    [{ properties: { a: { items: { $ref: "#" } } } }, "properties.a.items.$ref: is not supported"],
    [{ enum: [] }, "enum: must be a list of 1 to"],
    [{ required: [1] }, "required: must be a list of names"],
    [{ anyOf: [] }, "anyOf: must be a list of schemas"],
    [{ anyOf: [1] }, "anyOf.0: must be a schema"],
    [{ minLength: -1 }, "minLength: must be a whole number, at least 0"],
    [{ multipleOf: 0 }, "multipleOf: must be a number above 0"],
    [{ constructor: 1 }, "constructor: is not supported here"],
  ];
  for (const [schema, problem] of cases) {
    const found = problemOfSchema(schema) ?? "";
    assert(found.startsWith(problem), found);
  }
});

test("a schema is bounded in depth and in size", () => {
  let deep: object = {};
  for (let depth = 1; depth < limits.depthMax; depth += 1) deep = { items: deep };
  assert.equal(problemOfSchema(deep), undefined);
  assert.match(problemOfSchema({ items: deep }) ?? "", /nested deeper/);
  const many = Array.from({ length: limits.schemasMax - 1 }, () => ({}));
  assert.equal(problemOfSchema({ anyOf: many }), undefined);
  assert.match(problemOfSchema({ anyOf: [...many, {}] }) ?? "", /at most 256 schemas/);
});

test("a bound that JSON cannot express is refused", () => {
  for (const keyword of ["minimum", "exclusiveMaximum", "multipleOf"]) {
    const schema = JSON.parse(`{ "${keyword}": 1e999 }`);
    assert.match(problemOfSchema(schema) ?? "", /must be a number/);
  }
});

test("zod agrees about answers, for schemas that zod prints", () => {
  const field = fc.constantFrom(
    z.string().min(2).max(4),
    z.number().min(-1).max(3),
    z.int().min(0).max(10),
    z.boolean(),
    z.null(),
    z.enum(["a", "b"]),
    z.array(z.int().min(0).max(2)).max(3),
    z.union([z.string(), z.literal(7)]),
    z.tuple([z.string(), z.boolean()]),
  );
  const schema = fc
    .tuple(field, field, fc.boolean())
    .map(([one, other, isOptional]) =>
      z.strictObject({ one, other: isOptional ? other.optional() : other }),
    );
  const part = fc.constantFrom(
    "a",
    "abc",
    "abcde",
    0,
    1,
    1.5,
    7,
    -2,
    true,
    null,
    [],
    [1],
    [3],
    ["x", true],
  );
  const answer = fc.oneof(
    part,
    fc.record({ one: part, other: part, more: part }, { requiredKeys: [] }),
  );
  fc.assert(
    fc.property(schema, answer, (zod, value) => {
      const printed = z.toJSONSchema(zod);
      assert.equal(problemOfSchema(printed), undefined, JSON.stringify(printed));
      const isValid = problemOfAnswer(printed, value) === undefined;
      assert.equal(isValid, zod.safeParse(value).success, JSON.stringify([printed, value]));
    }),
    { numRuns: 2_000 },
  );
});

test("a schema and an answer that are dear to compare are refused soon", () => {
  const anyOf = Array.from({ length: limits.schemasMax - 2 }, () => ({ type: "number" }));
  const schema = { items: { anyOf: [...anyOf, { type: "string" }] } };
  const answer = (length: number): readonly string[] => Array.from({ length }, () => "x");
  assert.equal(problemOfAnswer(schema, answer(300)), undefined);
  const startedMs = performance.now();
  assert.match(problemOfAnswer(schema, answer(16_000)) ?? "", /too large to be checked/);
  assert(performance.now() - startedMs < 2_000);
});

test("a schema with long lists is checked soon against an answer with many values", () => {
  const count = (length: number): readonly number[] => Array.from({ length }, (_, index) => index);
  const many = (length: number, part: unknown): readonly unknown[] => Array(length).fill(part);
  const names = Object.fromEntries(count(9_000).map((name) => [`k${name}`, 0]));
  const cases: readonly (readonly [
    schema: object,
    answer: unknown,
    problem: RegExp | undefined,
  ])[] = [
    [{ enum: count(limits.enumMax) }, many(21_000, {}), /^must be one of 0, 1, 2/],
    [{ enum: count(limits.enumMax) }, many(1_000_000, {}), /too large to be checked/],
    [{ items: { enum: count(limits.enumMax) } }, count(limits.enumMax), undefined],
    [{ items: { anyOf: [{ enum: count(1_000) }, {}] } }, many(21_000, {}), undefined],
    [{ items: { anyOf: [{ const: count(1_000) }, {}] } }, many(21_000, {}), undefined],
    [{ anyOf: many(250, { uniqueItems: true }) }, many(21_000, {}), /too large/],
    [{ items: { type: many(1_200, "number") } }, many(21_000, 7), /too large/],
    [{ items: { required: many(3_500, "a") } }, many(8_000, { a: 1 }), /too large/],
    [{ anyOf: many(250, { maxProperties: 0 }) }, names, /too large/],
    [{ anyOf: many(250, { maxLength: 1 }) }, "x".repeat(65_000), /too large/],
  ];
  const startedMs = performance.now();
  for (const [schema, answer, problem] of cases) {
    const found = problemOfAnswer(schema, answer);
    if (problem) assert.match(found ?? "", problem);
    else assert.equal(found, undefined);
  }
  assert(performance.now() - startedMs < 3_000);
});

test("an answer that is nested too deep to be compared is refused", () => {
  const nested = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth));
  const deepest = limits.valueDepthMax + 1;
  assert.equal(problemOfAnswer({ enum: [nested(deepest)] }, nested(deepest)), undefined);
  for (const depth of [deepest + 1, 30_000]) {
    assert.match(problemOfAnswer({ enum: [1] }, nested(depth)) ?? "", /too large to be checked/);
  }
});
