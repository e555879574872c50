export { fieldsInPath, type InputSchema, inputSchemaOf, openApiDocument } from "./document.ts";
export { limits } from "./limits.ts";
export { type Operation, operations } from "./operations.ts";
export { type Read, readInput } from "./read.ts";
export { statusOf } from "./status.ts";
