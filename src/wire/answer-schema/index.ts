export { problemOfAnswer, problemOfSchema } from "./answer-schema.ts";
