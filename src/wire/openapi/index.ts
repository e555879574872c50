export { fieldsInPath, type InputSchema, inputSchemaOf, openApiDocument } from "./document.ts";
export { limits } from "./limits.ts";
export { hasBody, type Operation, operations, refusalsOf } from "./operations.ts";
export { type Read, readInput } from "./read.ts";
export { statusOf } from "./status.ts";
export { error as errorSchema } from "./vocabulary.ts";
