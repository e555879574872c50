import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../../core/index.ts";
import { type ErrorCode, isOpen, type OperationName, routes } from "../api/index.ts";
import { openApiDocument, operations, readInput, refusalsOf, statusOf } from "./index.ts";

type Described = {
  readonly operationId: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly schema: { readonly items?: { readonly enum?: readonly string[] } };
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
  readonly security?: unknown;
};
type Content = {
  readonly "application/json": {
    readonly schema: { readonly properties: object; readonly additionalProperties: boolean };
  };
};
type Document = {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
};

/** As whoever asks for it gets it. */
const document: Document = JSON.parse(JSON.stringify(openApiDocument({ version: "1.2.3" })));
const names = Object.keys(routes) as OperationName[];

function describedAs(name: OperationName): Described {
  const { method, path } = routes[name];
  const described = document.paths[`/api/v1${path}`]?.[method.toLowerCase()];
  assert(described, name);
  return described;
}

test("every operation is in the document, under its own name and where it is", () => {
  for (const name of names) assert.equal(describedAs(name).operationId, name);
  const all = Object.values(document.paths).flatMap((path) => Object.values(path));
  assert.equal(all.length, names.length + 1, "and the stream of events");
  assert.deepEqual([document.openapi, document.info.version], ["3.1.0", "1.2.3"]);
});

test("a field is asked for in one place: path, query or body", () => {
  for (const name of names) {
    const { parameters = [], requestBody } = describedAs(name);
    const inPath = [...routes[name].path.matchAll(/\{(\w+)\}/g)].map(([, field]) => field);
    const placed = (where: string) =>
      parameters.filter((parameter) => parameter.in === where).map((parameter) => parameter.name);
    assert.deepEqual(placed("path"), inPath, name);
    const schema = requestBody?.content["application/json"].schema;
    const inBody = Object.keys(schema?.properties ?? {});
    assert.equal(schema?.additionalProperties ?? false, false, "what is not named is refused");
    const fields = [...inPath, ...placed("query"), ...inBody];
    assert.equal(new Set(fields).size, fields.length, name);
    assert.deepEqual(placed("header"), operations[name].hasKey ? ["Idempotency-Key"] : [], name);
  }
});

test("an operation names its status and every refusal, each under its own status", () => {
  for (const name of names) {
    const { responses } = describedAs(name);
    const { [operations[name].status ?? 200]: done, ...refused } = responses;
    assert.equal(done?.description, "Done");
    const told = Object.entries(refused).flatMap(([status, { description }]) =>
      description.split(", ").map((code) => [code, Number(status)]),
    );
    const codes: readonly ErrorCode[] = refusalsOf(name);
    assert.deepEqual(
      Object.fromEntries(told),
      Object.fromEntries(codes.map((code) => [code, statusOf[code]])),
    );
  }
});

test("what changes something asks for the token", () => {
  for (const name of names) {
    assert.equal(describedAs(name).security === undefined, isOpen(name), name);
  }
});

test("whatever the document refers to is in it", () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)];
  assert(references.length > 50);
  for (const [, reference = ""] of references) {
    const [, name = ""] = /^#\/components\/schemas\/(\w+)$/.exec(reference) ?? [];
    assert(Object.hasOwn(document.components.schemas, name), reference);
  }
});

test("the limits of a question are those that the core enforces", () => {
  const schema = describedAs("askQuestion").requestBody?.content["application/json"].schema;
  assert.partialDeepStrictEqual(schema?.properties, {
    prompt: { minLength: 1, maxLength: limits.promptLengthMax },
    choices: {
      minItems: 1,
      maxItems: limits.choicesMax,
      items: { minLength: 1, maxLength: limits.choiceLengthMax },
    },
    timeoutMs: { maximum: limits.questionTimeoutMsMax },
  });
});

test("a list can be filtered by all states at once", () => {
  const filters = [
    ["listAgents", "liveness"],
    ["listTasks", "state"],
    ["listJobs", "state"],
    ["listQuestions", "state"],
  ] as const;
  for (const [name, field] of filters) {
    const parameter = describedAs(name).parameters?.find((each) => each.name === field);
    const states = parameter?.schema.items?.enum ?? [];
    assert(states.length > 2, name);
    assert.equal(readInput(name, { [field]: states }).problem, undefined, name);
  }
});

test("a wrong value of a query is named by its field alone, one of a body also by its place", () => {
  const state = readInput("listQuestions", { state: ["foo"] });
  assert.equal(state.problem, "state: must be one of open, answered, closed");
  const asked = { agentId: "a", prompt: "Which?", choices: ["one", ""] };
  assert.equal(readInput("askQuestion", asked).problem, "choices.1: must not be empty");
});
