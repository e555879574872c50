/**
 * The one place that builds the parts: log, plane, views, doors. Whatever was opened is closed in the
 * opposite order: doors first, so that everyone is answered, then the plane, then the log.
 */
import { methodPaths, openGrpcDoor } from "./doors/grpc/index.ts";
import { type HttpDoor, type HttpDoorOptions, Metrics, openHttpDoor } from "./doors/http/index.ts";
import { type Log, MemoryLog, SqliteLog } from "./log/index.ts";
import { keepTime, Plane, SteadyClock } from "./plane/index.ts";
import { clearSocket, ListenError, type Place, printPlace, socketIn } from "./transport/index.ts";
import { FindView } from "./views/index.ts";

export type ServeOptions = {
  readonly version: string;
  /** Absent: in memory. */
  readonly dataDirectory?: string;
  readonly grpc: readonly Place[];
  /** Empty: no HTTP. */
  readonly http: readonly Place[];
  /** Go on without HTTP if its address is taken: nobody asked for that address. */
  readonly isHttpOptional: boolean;
  /** Whether browsers may reach the HTTP door under any name, not only those of this machine. */
  readonly isAnyHostAllowed: boolean;
  readonly warn: (message: string, cause?: unknown) => void;
  /** The log cannot be written, or we were wrong: the process must stop. */
  readonly onFault: (fault: unknown) => void;
};

export interface Daemon extends AsyncDisposable {
  readonly plane: Plane;
  readonly grpc: readonly Place[];
  readonly http: readonly Place[];
  /** Whether the log had no entries yet. */
  readonly isNew: boolean;
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
  const find = new FindView();
  const metrics = new Metrics({ methods: methodPaths });
  const plane = opened.use(
    await Plane.open({
      log,
      clock,
      views: [find],
      onCommit: (commit) => metrics.observeCommit(commit),
      onSnapshotFailure: (cause) => warn("a snapshot could not be written", cause),
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

  const grpc = opened.use(
    await openGrpcDoor({
      plane,
      find: (question) => find.search(question),
      places: options.grpc,
      onCall: (path) => metrics.countRpc(path),
      onFault: (fault, path) => warn(`${path} failed`, fault),
    }),
  );
  const http = await openHttp(options, plane, {
    about: {
      version: options.version,
      planeId: log.id,
      startedAtMs: Date.now(),
      pid: process.pid,
      isKept: log.isKept,
      grpcAddress: grpc.places.slice(0, 1).map(printPlace).join(),
      ...(dataDirectory === undefined ? {} : { dataDirectory }),
    },
    metrics,
    isReady: () => !stopping.signal.aborted,
    ...(options.isAnyHostAllowed ? { hosts: "any" } : {}),
    onFault: (fault, path) => warn(`${path} failed`, fault),
  });
  if (http) opened.use(http);
  const closing = opened.move();
  return {
    plane,
    grpc: grpc.places,
    http: http?.places ?? [],
    isNew,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Over TCP where asked, and on the socket in the data directory, which needs no port. */
async function openHttp(
  { http, isHttpOptional, dataDirectory, warn }: ServeOptions,
  plane: Plane,
  parts: Omit<HttpDoorOptions, "places">,
): Promise<HttpDoor | undefined> {
  const path = dataDirectory === undefined ? undefined : socketIn(dataDirectory);
  const hasSocket = path !== undefined && clearSocket(path);
  if (path !== undefined && !hasSocket) {
    warn(`${path} is too long for a socket: ask for the status with --http`);
  }
  const sockets = hasSocket ? [{ path }] : [];
  const open = async (places: readonly Place[]): Promise<HttpDoor | undefined> =>
    places.length === 0 ? undefined : await openHttpDoor(plane, { ...parts, places });
  try {
    return await open([...http, ...sockets]);
  } catch (error) {
    const isBusy = error instanceof ListenError && error.code === "address_in_use";
    if (!isBusy || !isHttpOptional) throw error;
    warn(`${error.message}: going on without dashboard and metrics`);
    return await open(sockets);
  }
}
