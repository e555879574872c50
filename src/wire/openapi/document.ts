/** The OpenAPI document, made from the routes and the schemas. */
import * as z from "zod";
import {
  basePath,
  type ErrorCode,
  eventsPath,
  isOpen,
  type OperationName,
  routes,
} from "../api/index.ts";
import { everyones, hasBody, operations, refusalsOf } from "./operations.ts";
import { statusOf } from "./status.ts";
import { error } from "./vocabulary.ts";

type Json = { readonly [key: string]: unknown };

/** Schemas by their names. */
type Components = Map<string, unknown>;

export function openApiDocument({ version }: { readonly version: string }): Json {
  const components: Components = new Map();
  const paths: Record<string, Record<string, Json>> = {};
  for (const name of namesOf(routes)) {
    const { method, path } = routes[name];
    const at = basePath + path;
    paths[at] = { ...paths[at], [method.toLowerCase()]: describe(name, components) };
  }
  paths[eventsPath] = { get: describeEvents(components) };
  return {
    openapi: "3.1.0",
    info: {
      title: "Tipstaff",
      version,
      description:
        "The control plane for the agents you run. GET needs no token, except for questions, jobs and status files. All other methods need it.",
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

function describe(name: OperationName, components: Components): Json {
  const { path } = routes[name];
  const { summary, input, answer, hasKey, status = 200 } = operations[name];
  const { properties = {}, required = [] } = schemaOf(input, components);
  const inPath = fieldsInPath(path);
  const rest = Object.keys(properties).filter((field) => !inPath.includes(field));
  const isRequired = (field: string): boolean => required.includes(field);
  const inQuery = hasBody(name) ? [] : rest;
  const parameters = [
    ...inPath.map((field) => parameter(field, "path", properties[field], true)),
    ...inQuery.map((field) => parameter(field, "query", properties[field], isRequired(field))),
    ...(hasKey ? [idempotencyKey] : []),
  ];
  const body = {
    type: "object",
    properties: Object.fromEntries(rest.map((field) => [field, properties[field]])),
    required: rest.filter(isRequired),
    additionalProperties: false,
  };
  const isBodyRequired = body.required.length > 0;
  return {
    operationId: name,
    summary,
    tags: [path.split("/")[1]],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(hasBody(name) ? { requestBody: { required: isBodyRequired, content: json(body) } } : {}),
    ...(isOpen(name) ? {} : { security: [{ token: [] }] }),
    responses: {
      [status]: { description: "Done", content: json(schemaOf(answer, components)) },
      ...refused(refusalsOf(name), components),
    },
  };
}

/** One answer for each status, naming its codes. */
function refused(codes: readonly ErrorCode[], components: Components): Json {
  const byStatus = Object.groupBy(codes, (code) => statusOf[code]);
  const content = json(schemaOf(error, components));
  const answers = Object.entries(byStatus).map(([status, codes = []]) => {
    return [status, { description: codes.join(", "), content }] as const;
  });
  return Object.fromEntries(answers);
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
      ...refused(["invalid_argument", "limit_reached", ...everyones], components),
    },
  };
}

function namesOf<Key extends string>(record: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(record) as Key[];
}
