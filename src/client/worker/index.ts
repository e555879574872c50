export {
  type ChildExit,
  type ChildWorker,
  type ChildWorkerOptions,
  startChildWorker,
} from "./child-worker.ts";
export {
  type ConnectedWorker,
  type ConnectWorkerOptions,
  connectWorker,
  type WorkerTarget,
} from "./worker-client.ts";
export type { WorkerAgent } from "./worker-program.ts";
