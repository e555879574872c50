export { limits } from "./limits.ts";
export {
  type Asked,
  type Delegation,
  type FromWorker,
  type Held,
  type Introduction,
  type JobFrame,
  prefix,
  printFromWorker,
  printToWorker,
  type RefusedCode,
  type ResultOf,
  readFromWorker,
  readToWorker,
  type ToWorker,
  type Verdict,
  type WorkerOffer,
} from "./messages.ts";
