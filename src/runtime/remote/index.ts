export {
  type AttachedWorker,
  RemoteWorkers,
  type RemoteWorkersOptions,
  type WorkerLink,
} from "./remote-workers.ts";
