export { apply, type Circumstances, isOpen, settle } from "./apply.ts";
export { type HostEvent, readEvent, textIn } from "./event.ts";
export {
  type Evidence,
  readSelfReport,
  readTranscript,
  selfReportPath,
  witness,
} from "./evidence.ts";
export {
  type HookedEvent,
  type HostName,
  hookedEvents,
  hostNames,
  hostOf,
  isHostName,
  metaKeys,
} from "./hosts.ts";
export { limits } from "./limits.ts";
export { endsInQuestion, isQuestionTool } from "./questions.ts";
export {
  type Beginning,
  beat,
  newSession,
  recordOf,
  type Session,
} from "./session.ts";
