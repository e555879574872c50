export {
  type ChildExit,
  type ChildWorker,
  type ChildWorkerOptions,
  startChildWorker,
} from "./child-worker.ts";
export type { WorkerOffer } from "./protocol.ts";
export {
  type AttachedWorker,
  RemoteWorkers,
  type RemoteWorkersOptions,
  type WorkerLink,
} from "./remote-workers.ts";
export {
  type ConnectedWorker,
  type ConnectWorkerOptions,
  connectWorker,
  type WorkerTarget,
} from "./worker-client.ts";
export type { WorkerAgent } from "./worker-program.ts";
