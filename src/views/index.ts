export { type FindHit, type FindQuery, FindView, type Found } from "./find.ts";
export { type Asked, type Embedder, Model, type ModelOptions } from "./meaning/model.ts";
export { type JobStanding, type LastWords, WorkView } from "./work.ts";
