export { type FindQuery, FindView } from "./find.ts";
