export { type Claim, claimOfFile } from "./claims.ts";
export { compareSightings, type Found, type SightOptions, sight } from "./sight.ts";
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
} from "./types.ts";
