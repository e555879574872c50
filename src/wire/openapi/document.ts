/** The OpenAPI document, made from the routes and the schemas. */
import * as z from "zod";
import { basePath, eventsPath, type OperationName, type Route, routes } from "../api/index.ts";
import { type Operation, operations } from "./operations.ts";
import { error } from "./vocabulary.ts";

type Json = { readonly [key: string]: unknown };

/** Schemas by their names. */
type Components = Map<string, unknown>;

export function openApiDocument({ version }: { readonly version: string }): Json {
  const components: Components = new Map();
  const paths: Record<string, Record<string, Json>> = {};
  for (const [name, route] of entriesOf(routes)) {
    const at = basePath + route.path;
    paths[at] = { ...paths[at], [route.method.toLowerCase()]: describe(name, route, components) };
  }
  paths[eventsPath] = { get: describeEvents(components) };
  return {
    openapi: "3.1.0",
    info: {
      title: "Tipstaff",
      version,
      description:
        "The control plane for the agents you run. GET needs no token; all else needs the local one.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    paths,
    components: {
      schemas: Object.fromEntries(components),
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description: "The file `token` in the data directory",
        },
      },
    },
  };
}

function describe(name: OperationName, route: Route, components: Components): Json {
  const operation: Operation<OperationName> = operations[name];
  const { properties = {}, required = [] } = schemaOf(operation.input, components);
  const inPath = fieldsInPath(route.path);
  const rest = Object.keys(properties).filter((field) => !inPath.includes(field));
  const hasBody = route.method === "POST" || route.method === "PUT";
  const parameters = [
    ...inPath.map((field) => parameter(field, "path", properties[field], true)),
    ...(hasBody
      ? []
      : rest.map((field) =>
          parameter(field, "query", properties[field], required.includes(field)),
        )),
    ...(operation.hasKey ? [idempotencyKey] : []),
  ];
  const body = {
    type: "object",
    properties: Object.fromEntries(rest.map((field) => [field, properties[field]])),
    required: rest.filter((field) => required.includes(field)),
    additionalProperties: false,
  };
  return {
    operationId: name,
    summary: operation.summary,
    tags: [route.path.split("/")[1]],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(hasBody ? { requestBody: { required: rest.length > 0, content: json(body) } } : {}),
    ...(route.method === "GET" || name === "openSession" ? {} : { security: [{ token: [] }] }),
    responses: {
      [operation.status ?? 200]: {
        description: "Done",
        content: json(schemaOf(operation.answer, components)),
      },
      default: { description: refusalsOf(operation), content: json(schemaOf(error, components)) },
    },
  };
}

function refusalsOf({ refusals }: Operation<OperationName>): string {
  return refusals.length === 0 ? "Refused" : `Refused: ${refusals.join(", ")}`;
}

/** The names in braces. */
export function fieldsInPath(path: string): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, field]) => field ?? "");
}

export type InputSchema = {
  readonly properties?: Readonly<Record<string, Json>>;
  readonly required?: readonly string[];
};

/** What an operation takes, as JSON Schema. */
export function inputSchemaOf(name: OperationName): InputSchema {
  return schemaOf(operations[name].input, new Map());
}

/** What it refers to is put among the components. */
function schemaOf(schema: z.ZodType, components: Components): Json & InputSchema {
  const printed = JSON.stringify(z.toJSONSchema(schema, { io: "input" }));
  const placed = JSON.parse(printed.replaceAll("#/$defs/", "#/components/schemas/"));
  const { $schema: _, $defs = {}, ...rest } = placed;
  for (const [id, { id: _, ...component }] of Object.entries<Json>($defs)) {
    components.set(id, component);
  }
  return rest;
}

function parameter(
  name: string,
  where: "path" | "query",
  schema: unknown,
  required: boolean,
): Json {
  return { name, in: where, required, schema };
}

const idempotencyKey: Json = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description: "Asked again with the same key, the answer is about the same thing",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" },
};

function json(schema: Json): Json {
  return { "application/json": { schema } };
}

function describeEvents(components: Components): Json {
  return {
    operationId: "watchEntries",
    summary: "Every entry of the log from a sequence on, as server-sent events",
    tags: ["events"],
    parameters: [
      parameter("after", "query", { type: "integer", minimum: 0 }, false),
      parameter("topic", "query", { type: "array", items: { type: "string" } }, false),
    ],
    responses: {
      200: { description: "A stream that does not end", content: { "text/event-stream": {} } },
      default: { description: "Refused", content: json(schemaOf(error, components)) },
    },
  };
}

function entriesOf<Key extends string, Value>(
  record: Readonly<Record<Key, Value>>,
): [Key, Value][] {
  return Object.entries(record) as [Key, Value][];
}
