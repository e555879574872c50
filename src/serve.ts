/**
 * The one place that builds the parts: log, plane, views, doors. Whatever was opened is closed in the
 * opposite order: doors first, so that everyone is answered, then the plane, then the log.
 */
import { hostname } from "node:os";
import { ARCPServer, type Logger } from "./arcp-server.ts";
import { type GrpcDoorOptions, methodPaths, openGrpcDoor } from "./doors/grpc/index.ts";
import {
  Credentials,
  type HttpDoor,
  type HttpDoorOptions,
  Metrics,
  makeLookAround,
  openHttpDoor,
  Timeline,
} from "./doors/http/index.ts";
import { openMirror, openStatusDoor, type StatusDoor } from "./doors/status-files/index.ts";
import { openWriter } from "./emitters/index.ts";
import { type Log, MemoryLog, SqliteLog } from "./log/index.ts";
import { type Keep, keepTime, Plane, SteadyClock } from "./plane/index.ts";
import { findProcesses, Surroundings } from "./sightings/index.ts";
import { idleClock } from "./status-files/index.ts";
import {
  clearSocket,
  Embeddings,
  type EmbeddingsOptions,
  ListenError,
  makeByteBudgets,
  type Place,
  printPlace,
  socketIn,
} from "./transport/index.ts";
import { FindView, Model, WorkView } from "./views/index.ts";
import { openWork } from "./work.ts";

export type ServeOptions = {
  readonly version: string;
  /** Absent: in memory. */
  readonly dataDirectory?: string;
  /** How much history is kept on disk. By default, 30 days and 4 GB. */
  readonly keep?: Keep;
  readonly grpc: readonly Place[];
  /** What a task may bring along and leave behind, where it is less than the door allows. */
  readonly taskLimits?: GrpcDoorOptions["taskLimits"];
  /** Empty: no HTTP. */
  readonly http: readonly Place[];
  /** Go on without HTTP if its address is taken: nobody asked for that address. */
  readonly isHttpOptional: boolean;
  /** Where ARCP clients and workers connect. Absent: nowhere. */
  readonly arcp?: {
    readonly places: readonly Place[];
    /** Go on without it if an address is taken: nobody asked for that address. */
    readonly isOptional: boolean;
  };
  /** Whether browsers may reach the HTTP door under any name, not only those of this machine. */
  readonly isAnyHostAllowed: boolean;
  /** What a caller must know to change something over HTTP, and to be let in over ARCP. */
  readonly token: string;
  /** A server of models that knows what texts mean better than the table that comes with us. */
  readonly embedder?: EmbeddingsOptions;
  /** Where agents leave their status files. Absent: this machine is not looked at. */
  readonly status?: {
    readonly directory: string;
    /** Write one for every registered agent too. */
    readonly isMirroring: boolean;
    /** Where the hooks of hosts leave what they have to say, for the daemon to write. Absent: it does not. */
    readonly emitters?: {
      readonly directory: string;
      /** The program that goes on writing when the daemon ends. */
      readonly successor: string;
    };
    /** Says where programs keep their own records. */
    readonly env: Readonly<Record<string, string | undefined>>;
  };
  readonly warn: (message: string, cause?: unknown) => void;
  /** What jobs have to tell whoever runs this process; by default, what goes wrong is warned of. */
  readonly logger?: Logger;
  /** The log cannot be written, or we were wrong: the process must stop. */
  readonly onFault: (fault: unknown) => void;
};

export interface Daemon extends AsyncDisposable {
  readonly plane: Plane;
  readonly grpc: readonly Place[];
  readonly http: readonly Place[];
  readonly arcp: readonly Place[];
  /** For agents of this process. */
  readonly work: ARCPServer;
  /** The path of a link that lets one browser act; good until it is used. */
  makeLink(): string;
  /** The HTTP door, for requests of this process. */
  fetch(request: Request): Promise<Response>;
  /** Whether the log had no entries yet. */
  readonly isNew: boolean;
  readonly status?: Pick<StatusDoor, "directory" | "files">;
}

/** Resolves when everything is recovered and served. Rejects with a `LogError` or a `ListenError`. */
export async function serve(options: ServeOptions): Promise<Daemon> {
  const { dataDirectory, warn, onFault } = options;
  await using opened = new AsyncDisposableStack();
  const log: Log = opened.use(
    dataDirectory === undefined ? new MemoryLog() : SqliteLog.open(dataDirectory),
  );
  const isNew = log.lastSequence === 0;
  const clock = new SteadyClock();
  const find = new FindView({ afterTurn: setImmediate });
  const jobs = new WorkView();
  const model = options.embedder && openModel(options.embedder, { clock, find, warn });
  if (model) opened.use(model);
  const metrics = new Metrics({ methods: methodPaths });
  const timeline = new Timeline();
  const credentials = new Credentials(options.token);
  const budgets = makeByteBudgets();
  const plane = opened.use(
    await Plane.open({
      log,
      clock,
      views: model ? [find, jobs, model] : [find, jobs],
      onCommit: (commit) => {
        metrics.observeCommit(commit);
        timeline.observeCommit(commit);
      },
      ...(options.keep ? { keep: options.keep } : {}),
      onSnapshotFailure: (cause) => warn("a snapshot could not be written", cause),
      onCutFailure: (cause) => warn("the log could not be cut, and grows", cause),
      onDamage: (problem) => warn(problem),
      onFault,
    }),
  );
  for (const warning of log.warnings) warn(warning);

  const stopping = new AbortController();
  const timekeeping = keepTime(plane, clock, stopping.signal).catch(onFault);
  opened.defer(async () => {
    stopping.abort();
    await timekeeping;
  });

  const startedAtMs = await plane.read((_, nowMs) => nowMs);
  const grpc = opened.use(
    await openGrpcDoor({
      plane,
      find: (question, asked) => find.search(question, asked).hits.map((hit) => hit.agentId),
      ...(model ? { ask: (query: string) => model.ask(query) } : {}),
      about: { version: options.version, planeId: log.id, startedAtMs, isKept: log.isKept },
      places: options.grpc,
      budgets,
      isToken: (authorization) => credentials.hasToken(authorization),
      ...(options.taskLimits ? { taskLimits: options.taskLimits } : {}),
      onCall: (path) => metrics.countRpc(path),
      onAnswer: (ms) => timeline.observeCall(ms),
      onFault: (fault, path) => warn(`${path} failed`, fault),
    }),
  );
  const logger = options.logger ?? loggerTo(warn);
  const onJobFault = (fault: unknown): void => warn("a session failed", fault);
  // All who have the token are one user.
  const work = openWork(plane, { clock, logger, mayWork: () => true, onFault: onJobFault });
  const arcpServer = opened.use(
    new ARCPServer(
      plane,
      clock,
      {
        bearer: { [options.token]: "local" },
        runtime: { name: "tipstaff", version: options.version },
        closeGraceMs: stopMs,
        cancelAcrossSessions: true,
        logger,
        onFault: onJobFault,
      },
      work,
      budgets,
    ),
  );
  const arcp = await openArcp(options, arcpServer);
  const { status } = options;
  const hostName = hostname();
  if (status?.emitters) {
    const { directory: stateDirectory, successor } = status.emitters;
    opened.use(openWriter({ stateDirectory, statusDirectory: status.directory, successor }));
  }
  const statusDoor =
    status &&
    opened.use(
      await openStatusDoor(plane, {
        directory: status.directory,
        clock: idleClock,
        hostName,
        warn,
      }),
    );
  if (statusDoor) metrics.countFiles(() => statusDoor.files);
  if (status?.isMirroring) {
    opened.use(await openMirror(plane, { directory: status.directory, clock: idleClock, warn }));
  }
  const looks = makeLookAround({
    plane,
    files: () => statusDoor?.files ?? [],
    findProcesses: status ? () => findProcesses() : () => [],
    hostName,
    ...(status ? { surroundings: new Surroundings({ env: status.env }) } : {}),
  });
  let isClosing = false;
  let httpPlaces: readonly Place[] = [];
  const http = await openHttp(options, plane, {
    about: () => ({
      version: options.version,
      planeId: log.id,
      startedAtMs,
      pid: process.pid,
      isKept: log.isKept,
      ...addressOf("grpcAddress", grpc.places),
      ...addressOf("httpAddress", httpPlaces),
      ...addressOf("arcpAddress", arcp),
      ...(dataDirectory === undefined ? {} : { dataDirectory }),
    }),
    budgets,
    metrics,
    timeline,
    credentials,
    find: async (question) => {
      const asked = model && (await model.ask(question.query));
      return await plane.read(() => find.search(question, asked));
    },
    ...looks,
    work: jobs,
    workersOf: (agent) => work.workersOf(agent),
    ranking: () => (model ? find.ranking(model.trouble) : { ranking: "table" }),
    ...(options.taskLimits ? { taskLimits: options.taskLimits } : {}),
    submitJob: (request) => work.submit({ ...request, principal: "local" }),
    isReady: () => !isClosing,
    hosts: options.isAnyHostAllowed ? "any" : options.http.flatMap(hostOf),
    onFault: (fault, path) => warn(`${path} failed`, fault),
  });
  httpPlaces = http.flatMap((door) => door.places);
  const closing = opened.move();
  return {
    plane,
    grpc: grpc.places,
    http: httpPlaces,
    arcp,
    work: arcpServer,
    isNew,
    ...(statusDoor ? { status: statusDoor } : {}),
    makeLink: () => `/#key=${credentials.makeLink(Date.now(), Number.POSITIVE_INFINITY)}`,
    fetch: (request) => http[0].fetch(request),
    [Symbol.asyncDispose]: async () => {
      isClosing = true;
      // All at once: nobody waits for another door's callers.
      const doors = [grpc, arcpServer, ...http].map((door) => door[Symbol.asyncDispose]());
      await Promise.all(doors);
      await closing.disposeAsync();
    },
  };
}

/** What jobs of this process have to unwind when it stops. Whoever stopped it waits. */
const stopMs = 3_000;

/** Whoever may reach it under another name than this machine's is no client of ours, but a page. */
const localNames = ["localhost", "127.0.0.1", "[::1]"];

async function openArcp(
  { arcp, isAnyHostAllowed, warn }: ServeOptions,
  work: ARCPServer,
): Promise<readonly Place[]> {
  if (!arcp) return [];
  const { places, isOptional } = arcp;
  const guard = isAnyHostAllowed
    ? {}
    : { allowedHosts: localNames, allowedOriginHosts: localNames };
  try {
    return (await work.listen({ places, ...guard })).places;
  } catch (error) {
    if (!(error instanceof ListenError) || !isOptional) throw error;
    warn(`${error.message}: jobs over ARCP are off; choose another port with --arcp`);
    return [];
  }
}

/** Where to connect, if it can be said in one word. */
function addressOf<Name extends string>(
  name: Name,
  places: readonly Place[],
): { readonly [Key in Name]?: string } {
  const place = places.find((place) => "host" in place);
  return place ? ({ [name]: printPlace(place) } as { [Key in Name]?: string }) : {};
}

/** Follows the agents from the moment the plane opens. */
function openModel(
  options: EmbeddingsOptions,
  { clock, find, warn }: Pick<ServeOptions, "warn"> & { clock: SteadyClock; find: FindView },
): Model {
  const learn = find.learn.bind(find);
  return new Model({ embedder: new Embeddings(options), clock, learn, warn });
}

/** As it stands in a URL. */
function hostOf(place: Place): string[] {
  if ("path" in place) return [];
  return [place.host.includes(":") ? `[${place.host}]` : place.host];
}

/**
 * Over TCP where asked, and on the socket in the data directory. Nobody asked for that socket, nor for an
 * address that is only the default: where one of these cannot be had, the daemon goes on without it.
 */
async function openHttp(
  { http: places, isHttpOptional, dataDirectory, warn }: ServeOptions,
  plane: Plane,
  parts: Omit<HttpDoorOptions, "places">,
): Promise<readonly [HttpDoor, ...HttpDoor[]]> {
  const open = (where: readonly Place[]): Promise<HttpDoor> =>
    openHttpDoor(plane, { ...parts, places: where });
  const first = await open(places).catch((error: unknown) => {
    if (!(error instanceof ListenError) || !isHttpOptional) throw error;
    warn(`${error.message}: the dashboard and metrics are off`);
    return open([]);
  });
  if (dataDirectory === undefined) return [first];
  const path = socketIn(dataDirectory);
  try {
    clearSocket(path);
    return [first, await open([{ path }])];
  } catch (error) {
    warn(`no socket at ${path}: ask for the status with --http`, error);
    return [first];
  }
}

function loggerTo(warn: ServeOptions["warn"]): Logger {
  const unsaid = (): void => undefined;
  const said: Logger["warn"] = (message, fields) => warn(message, fields?.["error"]);
  return { debug: unsaid, info: unsaid, warn: said, error: said };
}
