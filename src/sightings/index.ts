export { type Claim, claimOfFile } from "./claims.ts";
export {
  type FindOptions,
  findProcesses,
  surveyProcesses,
} from "./processes/find.ts";
export { compareSightings, type Found, sight } from "./sight.ts";
export { Surroundings } from "./surroundings.ts";
export type {
  FoundProcess,
  Known,
  ProcessKey,
  RegisteredAgent,
  Sighting,
  SightingState,
  SourceKind,
  StatusFile,
  Tmux,
  Tokens,
  Told,
} from "./types.ts";
