export { type Claim, claimOfFile } from "./claims.ts";
export {
  type FindOptions,
  findProcesses,
  type ProcessSurvey,
  surveyProcesses,
} from "./processes/find.ts";
export { compareSightings, type Found, type SightOptions, sight } from "./sight.ts";
export { Surroundings, type SurroundingsOptions } from "./surroundings.ts";
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
