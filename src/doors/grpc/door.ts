/** The AgentKeeper door: five services over gRPC, with health and reflection beside them. */
import type { Plane } from "../../plane/index.ts";
import type { Place } from "../../transport/index.ts";
import {
  ElectionServiceDefinition,
  EntitlementsServiceDefinition,
  LeaseServiceDefinition,
  RegistryServiceDefinition,
  TaskServiceDefinition,
} from "../../wire/agentkeeper/index.ts";
import {
  HealthDefinition,
  ServerReflectionAlphaDefinition,
  ServerReflectionDefinition,
} from "../../wire/grpc/index.ts";
import { Connection } from "./connection.ts";
import type { TaskLimits } from "./decode.ts";
import { healthMethods } from "./health.ts";
import { limits } from "./limits.ts";
import { type Find, methodsOf } from "./methods.ts";
import { reflectionMethods } from "./reflection.ts";
import { GrpcServer } from "./server.ts";

export type GrpcDoorOptions = {
  readonly plane: Plane;
  readonly find: Find;
  readonly places: readonly Place[];
  /** By default, and at most, 2,000,000 bytes each. */
  readonly taskLimits?: Partial<TaskLimits>;
  /** A call of one of the 22 methods has begun. */
  readonly onCall?: (path: string) => void;
  /** A handler failed through a fault of ours. */
  readonly onFault: (fault: unknown, path: string) => void;
};

export interface GrpcDoor extends AsyncDisposable {
  readonly places: readonly Place[];
}

const services = [
  RegistryServiceDefinition,
  LeaseServiceDefinition,
  ElectionServiceDefinition,
  EntitlementsServiceDefinition,
  TaskServiceDefinition,
];

/** The path of every AgentKeeper method. */
export const methodPaths: readonly string[] = services.flatMap(({ fullName, methods }) =>
  Object.values(methods).map(({ name }) => `/${fullName}/${name}`),
);

/** Listens in all places, or rejects with a `ListenError`. Serves from the moment it resolves. */
export async function openGrpcDoor(options: GrpcDoorOptions): Promise<GrpcDoor> {
  const { plane, find, places, onCall, onFault } = options;
  const { taskBytesMax } = limits;
  const taskLimits = {
    inputBytesMax: taskBytesMax,
    outputBytesMax: taskBytesMax,
    ...options.taskLimits,
  };
  const serviceNames = services.map(({ fullName }) => fullName);
  const standard = [HealthDefinition, ServerReflectionDefinition, ServerReflectionAlphaDefinition];
  const counted = new Set(methodPaths);
  return await GrpcServer.open({
    methods: [
      ...methodsOf(plane, find, taskLimits),
      ...healthMethods<Connection>(serviceNames),
      ...reflectionMethods<Connection>([...serviceNames, ...standard.map((one) => one.fullName)]),
    ],
    places,
    makeConnection: () => new Connection(),
    onCall: (path, connection) => {
      connection.firstCalls.arrive();
      if (counted.has(path)) onCall?.(path);
    },
    onFault,
  });
}
