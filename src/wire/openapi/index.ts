export { type InputSchema, inputSchemaOf, openApiDocument } from "./document.ts";
export { limits } from "./limits.ts";
export { type Operation, operations } from "./operations.ts";
