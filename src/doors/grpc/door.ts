/** The AgentKeeper door: five services over gRPC, ours, and health and reflection beside them. */
import type { Plane } from "../../plane/index.ts";
import { type ByteBudgets, makeByteBudgets, type Place } from "../../transport/index.ts";
import {
  ElectionServiceDefinition,
  EntitlementsServiceDefinition,
  LeaseServiceDefinition,
  RegistryServiceDefinition,
  TaskServiceDefinition,
} from "../../wire/agentkeeper/index.ts";
import { PlaneServiceDefinition } from "../../wire/agentkeeper-ext/index.ts";
import {
  HealthDefinition,
  ServerReflectionAlphaDefinition,
  ServerReflectionDefinition,
} from "../../wire/grpc/index.ts";
import { Connection } from "./connection.ts";
import type { TaskLimits } from "./decode.ts";
import { type About, extensionMethods } from "./ext/methods.ts";
import { healthMethods } from "./health.ts";
import { limits } from "./limits.ts";
import { type AskModel, type Find, methodsOf } from "./methods.ts";
import { reflectionMethods } from "./reflection.ts";
import { GrpcServer, type Method } from "./server.ts";

export type GrpcDoorOptions = {
  readonly plane: Plane;
  readonly find: Find;
  readonly ask?: AskModel;
  readonly places: readonly Place[];
  readonly about: About;
  /** The budgets that all doors of the process share; the door makes its own if absent. */
  readonly budgets?: ByteBudgets;
  /**
   * Whether the `authorization` of a call contains the local token. The token is optional: it protects the connection
   * from being closed to make room for another.
   */
  readonly isToken?: (authorization: string) => boolean;
  /** How long a request may take to be complete; `limits.requestMs` if absent. */
  readonly requestMs?: number;
  /** Connections for each listen address; `limits.connectionsMax` if absent. */
  readonly connectionsMax?: number;
  /** By default, and at most, 2,000,000 bytes each. */
  readonly taskLimits?: Partial<TaskLimits>;
  /** A call of one of the 22 methods, or of the extension's, has begun. */
  readonly onCall?: (path: string) => void;
  /** Told how long each took; not of those that may wait. */
  readonly onAnswer?: (ms: number) => void;
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
export const methodPaths: readonly string[] = services.flatMap(pathsOf);
/** The path of every method of the extension. */
export const extensionPaths: readonly string[] = pathsOf(PlaneServiceDefinition);

function pathsOf(service: {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, { readonly name: string }>>;
}): string[] {
  return Object.values(service.methods).map(({ name }) => `/${service.fullName}/${name}`);
}

/** Listens in all places, or rejects with a `ListenError`. Serves from the moment it resolves. */
export async function openGrpcDoor(options: GrpcDoorOptions): Promise<GrpcDoor> {
  const { plane, find, ask, places, onCall, onAnswer = () => {}, onFault } = options;
  const { taskBytesMax } = limits;
  const taskLimits = {
    inputBytesMax: taskBytesMax,
    outputBytesMax: taskBytesMax,
    ...options.taskLimits,
  };
  const serviceNames = [...services, PlaneServiceDefinition].map(({ fullName }) => fullName);
  const standard = [HealthDefinition, ServerReflectionDefinition, ServerReflectionAlphaDefinition];
  const counted = new Set([...methodPaths, ...extensionPaths]);
  return await GrpcServer.open({
    methods: [
      ...methodsOf(plane, { find, ask, taskLimits }).map((method) => timed(method, onAnswer)),
      ...extensionMethods(plane, options.about, taskLimits).map((one) => timed(one, onAnswer)),
      ...healthMethods<Connection>(serviceNames),
      ...reflectionMethods<Connection>([...serviceNames, ...standard.map((one) => one.fullName)]),
    ],
    places,
    budgets: options.budgets ?? makeByteBudgets(),
    isToken: options.isToken ?? (() => false),
    requestMs: options.requestMs ?? limits.requestMs,
    connectionsMax: options.connectionsMax ?? limits.connectionsMax,
    makeConnection: () => new Connection(),
    onCall: (path, connection) => {
      connection.firstCalls.arrive();
      if (counted.has(path)) onCall?.(path);
    },
    onFault,
  });
}

/** Streams and calls that may wait take as long as there is nothing to say. */
const patient = [/Watch(Election)?$/, /ClaimTask$/, /ext.*AcquireLease$/];

function timed(method: Method<Connection>, onAnswer: (ms: number) => void): Method<Connection> {
  if (patient.some((pattern) => pattern.test(method.path))) return method;
  return {
    ...method,
    receive: async (message, call) => {
      const startedMs = performance.now();
      await method.receive(message, call);
      onAnswer(performance.now() - startedMs);
    },
  };
}
