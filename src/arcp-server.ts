/**
 * A runtime for agents in one object: the log, the one writer, who does the work, and the ARCP door, put together.
 * In a program of its own, or inside another one's HTTP server; `tipstaff up` has one beside its other doors.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { Server } from "node:http";
import manifest from "../package.json" with { type: "json" };
import { type Handler, JobContext } from "./arcp-context.ts";
import type { Job } from "./core/index.ts";
import {
  type Accepted,
  type ArcpDoor,
  type ArcpDoorOptions,
  limits,
  type Observation,
  openArcpDoor,
  type VendorHandler,
  type Verify,
} from "./doors/arcp/index.ts";
import {
  type ArcpServerOptions,
  type ArcpUpgradeOptions,
  attachArcpUpgrade,
  startArcpServer,
} from "./doors/arcp/websocket/index.ts";
import { type Log, LogError, MemoryLog, SqliteLog } from "./log/index.ts";
import { type Clock, keepTime, type Outcome, Plane, SteadyClock } from "./plane/index.ts";
import {
  type AgentOptions,
  type Around,
  type JobRequest,
  type Logger,
  type Provisioner,
  type RunContextOptions,
  type Runtime,
  type RuntimeOptions,
  type Submitted,
  withFields,
} from "./runtime/index.ts";
import { type ByteBudgets, makeByteBudgets, type Transport } from "./transport/index.ts";
import type { Upgrades, WebSocketServing } from "./transport/websocket/index.ts";
import {
  features as allFeatures,
  arcpCodeOf,
  type DialectOption,
  type JsonObject,
  type PeerName,
  type RejectionOptions,
} from "./wire/arcp/index.ts";
import type { WorkerOffer } from "./wire/worker/index.ts";
import { openWork, type Work, type WorkOptions } from "./work.ts";

export { type DelegateOptions, type Handler, JobContext } from "./arcp-context.ts";
export {
  type ChildExit,
  type ChildWorker,
  type ChildWorkerOptions,
  type ConnectedWorker,
  type ConnectWorkerOptions,
  connectWorker,
  startChildWorker,
  type WorkerAgent,
  type WorkerTarget,
} from "./client/worker/index.ts";
export {
  type LeaseOpContext,
  type SessionContext,
  type ValidateLeaseOpInput,
  type VendorHandler,
  validateLeaseOp,
} from "./doors/arcp/index.ts";
export {
  attachArcpUpgrade,
  startArcpServer as startWebSocketServer,
} from "./doors/arcp/websocket/index.ts";
export type {
  AgentOptions,
  Around,
  AskOptions,
  AskSchemaOptions,
  Delegated,
  Fields,
  GrantedScope,
  IssueContext,
  Logger,
  Provisioned,
  Provisioner,
  ScopeRequestOptions,
} from "./runtime/index.ts";
export {
  fromChild,
  fromProcess,
  fromStreams,
  pairMemoryTransports,
  type Transport,
} from "./transport/index.ts";
export { parseHostHeader, refusalOf as hostRefusal } from "./transport/websocket/index.ts";
export {
  ArcpError as ARCPError,
  type ErrorCode,
  implementationVersion as IMPL_VERSION,
  isArcpError as isARCPError,
  protocolVersion as PROTOCOL_VERSION,
} from "./wire/arcp/index.ts";
export type { WorkerOffer } from "./wire/worker/index.ts";

/** Tokens and whom each stands for; or a function that knows. */
export type Bearer = Readonly<Record<string, string>> | Verify;

/** A job, as far as who decides about seeing it should know it. */
export type SeenJob = {
  readonly jobId: string;
  readonly agent: string;
  readonly principal: string;
};

/** An agent, and its versions if it has any. */
export type AgentListing = ReturnType<Runtime["catalogue"]["list"]>[number];

/** What a server on a plane of somebody else's is told. */
export type DoorSettings = RejectionOptions & {
  readonly bearer: Bearer;
  /** What clients are told of it. */
  readonly runtime?: PeerName;
  /** All, if absent. */
  readonly features?: readonly string[];
  /** What else the welcome advertises, under names of vendors. */
  readonly capabilities?: JsonObject;
  readonly heartbeatSec?: number;
  readonly resumeWindowSec?: number;
  /** How long a job has to unwind when it is cancelled. */
  readonly cancelGraceMs?: number;
  /** The same when the server closes; as when it is cancelled, if absent. */
  readonly closeGraceMs?: number;
  /** Unacknowledged events at which a job is told that its client lags. */
  readonly backPressureEvents?: number;
  /** Unfinished jobs of one session; 100, if absent. */
  readonly jobsPerSessionMax?: number;
  /** Unfinished jobs of one principal, over all its sessions and other doors; 50,000, if absent. */
  readonly jobsPerPrincipalMax?: number;
  /** Sessions of one principal, those that can be resumed included; 1,000, if absent. */
  readonly sessionsPerPrincipalMax?: number;
  readonly dialect?: DialectOption;
  readonly hideForeignJobs?: boolean;
  /** Whether who asked for a job may cancel it from another session, too. A command line needs that. */
  readonly cancelAcrossSessions?: boolean;
  /** Whether a job without `model.use` may use no model at all; it may not, unless this is false. */
  readonly requireModelLease?: boolean;
  /** What relative paths in a lease are relative to. */
  readonly workingDirectory?: string;
  /** Who may see jobs that others asked for. By default, nobody. */
  readonly authorizeObserve?: (principal: string, job: SeenJob, operation: Observation) => boolean;
  /**
   * Who may offer agents from another process, and get jobs for them, whoever asked. By default, nobody: a caller
   * must not become the worker of others.
   */
  readonly mayWork?: (principal: string, offer: WorkerOffer) => boolean;
  /**
   * How long such a process may be away before what it had is another's, or ends. A minute, if absent. After a restart
   * it counts from there, if whoever opened the plane has said the same to it: `ARCPServer.open` does.
   */
  readonly workerGraceMs?: number;
  readonly audit?: ArcpDoorOptions["audit"];
  /** What is left of a lease that a principal asks for: less than that, or all of it. */
  readonly narrowLease?: ArcpDoorOptions["narrowLease"];
  /** Whether credentials are told over networks without TLS too, for everybody there to read. */
  readonly credentialsAnywhere?: boolean;
  /** Makes credentials for jobs, and unmakes them when they have ended. */
  readonly provisioner?: Provisioner;
  /** How long a streamed result may be, decoded; 256 MiB, if absent. */
  readonly resultBytesMax?: number;
  /** Whether what a tool or an agent threw says that an upstream's limit for spending is reached. */
  readonly isSpendLimit?: (error: unknown) => boolean;
  /**
   * Told in words of what goes wrong and is survived: a handler that failed, with its stack; a worker that is lost; a
   * credential that cannot be revoked. Agents have it as `ctx.logger`. `console` is one. By default, nobody is told.
   */
  readonly logger?: Logger;
  /** Told what a handler threw: callers get its message, where it was thrown is yours alone. */
  readonly onAgentError?: (error: unknown, job: SeenJob) => void;
  /** Told of credentials that cannot be revoked, though they were tried several times. */
  readonly onRevocationFailure?: RuntimeOptions["onRevocationFailure"];
  /** Told why a job got no credentials. That may have a secret in it, so that nobody else is. */
  readonly onIssueFailure?: RuntimeOptions["onIssueFailure"];
  /** What every attempt of a job is run inside of: `jobSpans` of `tipstaff/tracing`, say. */
  readonly around?: Around;
  /** Put around every transport that is accepted: `withTracing`, say. */
  readonly wrap?: (transport: Transport) => Transport;
  /** Told of what goes wrong and is survived. By default, the logger; without one, a warning of the process. */
  readonly onFault?: (fault: unknown) => void;
};

export type ARCPServerOptions = DoorSettings & {
  /** Where to keep everything; in memory, if absent. */
  readonly dataDirectory?: string;
  /** The same, as other runtimes call it: the directory of the log, or `memory`. */
  readonly eventLog?: string;
  /**
   * The log cannot be written, or we were wrong: nobody is answered any more, and the process is to end, lest it goes
   * on without memory. By default it ends, with words that say why.
   */
  readonly onFatal?: (fault: unknown) => void;
};

export class ARCPServer implements AsyncDisposable {
  readonly plane: Plane;
  readonly #work: Work;
  readonly #door: ArcpDoor;
  readonly #wrap: (transport: Transport) => Transport;
  readonly #vendorHandlers = new Map<string, VendorHandler>();
  readonly #listening = new Set<WebSocketServing | Upgrades>();
  readonly #opened = new AsyncDisposableStack();
  readonly #graceMs: number;
  readonly #budgets: ByteBudgets;
  #closing: Promise<void> | undefined;

  /** Rejects with a `LogError` if there is no log to be had in the directory. */
  static async open(options: ARCPServerOptions): Promise<ARCPServer> {
    await using opened = new AsyncDisposableStack();
    const { workerGraceMs, onFatal = stop } = options;
    checkNumbers(options);
    const directory = directoryOf(options);
    const log: Log = opened.use(
      directory === undefined ? new MemoryLog() : SqliteLog.open(directory),
    );
    // Whoever listens keeps the process alive, and whoever works; that time passes does not (ARCP-73).
    const clock = new SteadyClock({ keepsAlive: false });
    const tell = faultHandlerOf(options);
    const onDamage = (problem: string): void => tell(new LogError("damaged", problem));
    const plane = opened.use(
      await Plane.open({ log, clock, workerGraceMs, onDamage, onFault: onFatal }),
    );
    for (const warning of log.warnings) tell(warning);
    const stopping = new AbortController();
    const timekeeping = keepTime(plane, clock, stopping.signal).catch(onFatal);
    opened.defer(async () => {
      stopping.abort();
      await timekeeping;
    });
    const server = new ARCPServer(plane, clock, options);
    server.#opened.use(opened.move());
    return server;
  }

  /**
   * On a plane that is there already, and is closed by whoever opened it. `work` is given where other doors have jobs
   * too; it is closed with the server. The settings that are about jobs are then those that it was opened with.
   * The budgets are shared with the other doors of the process, if it has any.
   */
  constructor(
    plane: Plane,
    clock: Clock,
    settings: DoorSettings,
    work: Work = openWork(plane, workOptionsOf(clock, settings)),
    budgets: ByteBudgets = makeByteBudgets(),
  ) {
    checkNumbers(settings);
    this.#budgets = budgets;
    const { authorizeObserve, runtime, features, bearer } = settings;
    const { provisioner } = settings;
    const onFault = faultHandlerOf(settings);
    const { wrap = asItIs } = settings;
    this.plane = plane;
    this.#graceMs = settings.closeGraceMs ?? settings.cancelGraceMs ?? limits.cancelGraceMs;
    this.#wrap = wrap;
    this.#work = work;
    this.#door = openArcpDoor({
      plane,
      runtime: work.runtime,
      clock,
      name: runtime ?? { name: "tipstaff", version: manifest.version },
      verify: typeof bearer === "function" ? bearer : tableOf(bearer),
      features: (features ?? allFeatures).filter((name) => provisioner || name !== secret),
      capabilities: settings.capabilities,
      rejectWith: settings.rejectWith,
      versionErrorAs: settings.versionErrorAs,
      dialect: settings.dialect,
      heartbeatMs: msOf(settings.heartbeatSec),
      resumeWindowMs: msOf(settings.resumeWindowSec),
      cancelGraceMs: settings.cancelGraceMs,
      backPressureEvents: settings.backPressureEvents,
      narrowLease: settings.narrowLease,
      audit: settings.audit,
      hidesForeignJobs: settings.hideForeignJobs,
      sessionsOfPrincipalMax: settings.sessionsPerPrincipalMax,
      jobsOfSessionMax: settings.jobsPerSessionMax,
      tellsCredentialsAnywhere: settings.credentialsAnywhere,
      cancelsAcrossSessions: settings.cancelAcrossSessions,
      mayObserve:
        authorizeObserve &&
        ((principal, job, operation) => authorizeObserve(principal, seen(job), operation)),
      vendorHandlers: this.#vendorHandlers,
      vendorFamilies: [work.remoteWorkers],
      onFault,
    });
  }

  /** Until what it answers is disposed. */
  registerAgent(name: string, handler: Handler, options?: AgentOptions): Disposable {
    return this.#work.runtime.registerAgentWith(contextOf, name, handler, options);
  }

  registerAgentVersion(name: string, version: string, handler: Handler): Disposable {
    return this.registerAgent(name, handler, { version });
  }

  /** Those that somebody offers just now. */
  get agents(): readonly AgentListing[] {
    return this.#work.runtime.catalogue.list();
  }

  /** How many offer an agent, by its full name, and are connected just now. */
  workersOf(agent: string): number {
    return this.#work.runtime.workersOf(agent);
  }

  /** What the name means without a version. */
  setDefaultAgentVersion(name: string, version: string): void {
    this.#work.runtime.catalogue.setDefault(name, version);
  }

  /** For callers that have no session here, and hear of their jobs otherwise: through other doors. */
  submit(request: Omit<JobRequest, "sessionId" | "requestId">): Promise<Outcome<Submitted>> {
    return this.#work.submit(request);
  }

  /** Messages of a vendor's type go there. */
  onVendorMessage(type: string, handler: VendorHandler): void {
    this.#vendorHandlers.set(type, handler);
  }

  /** Whoever is at the other end may say hello. */
  accept(transport: Transport): Accepted {
    return this.#door.accept(this.#wrap(transport));
  }

  get #serving(): ArcpUpgradeOptions {
    return {
      firstFrameBytesMax: limits.helloBytesMax,
      showsToken: true,
      budgets: this.#budgets,
      onTransport: (transport, _, welcome) => {
        this.#door.accept(this.#wrap(transport), welcome);
      },
    };
  }

  /** A WebSocket server of its own. Rejects with a `ListenError` if the place is taken. */
  async listen(
    options: Omit<ArcpServerOptions, "onTransport" | "onFault"> = {},
  ): Promise<WebSocketServing> {
    const { port = 7777 } = options;
    const serving = await startArcpServer({ ...this.#serving, ...options, port });
    this.#listening.add(serving);
    return serving;
  }

  /** On one path of a server that is there already; the rest of it is not touched. */
  attach(
    server: Server,
    options: Omit<ArcpUpgradeOptions, "onTransport" | "onFault"> = {},
  ): Upgrades {
    const upgrades = attachArcpUpgrade(server, { ...this.#serving, ...options });
    this.#listening.add(upgrades);
    return upgrades;
  }

  /**
   * Says goodbye to all. Jobs of agents in this process are cancelled, and have their time for that; those that may
   * be repeated are, when the log is opened again.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // From the last to the first, whatever becomes of each.
    await using steps = new AsyncDisposableStack();
    // Jobs have their time to unwind, also where nothing else keeps the process alive.
    const awake = setInterval(() => undefined, this.#graceMs + 1_000);
    steps.defer(() => clearInterval(awake));
    steps.use(this.#opened);
    steps.defer(async () => {
      await Promise.all([...this.#listening].map((serving) => serving.close()));
    });
    steps.use(this.#door);
    steps.defer(() => this.#work.close({ graceMs: this.#graceMs }));
    steps.defer(() => this.#door.sayGoodbye());
    // That they are cut off now is our doing, and none of their time is up because of it.
    steps.use(this.#work.remoteWorkers);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** As the Python SDK calls it. */
export const ARCPRuntime: typeof ARCPServer = ARCPServer;
export type ARCPRuntime = ARCPServer;

/** Offered only where somebody makes credentials (ARCP-51). */
const secret = "provisioned_credentials";

/** Settings of a server that are about jobs, in the runtime's words. */
function workOptionsOf(clock: Clock, settings: DoorSettings): WorkOptions {
  const { provisioner, onRevocationFailure, onIssueFailure, around, onAgentError } = settings;
  const { requireModelLease = true, workingDirectory } = settings;
  return {
    clock,
    rules: {
      allowsUnnamedModels: !requireModelLease,
      ...(workingDirectory !== undefined && { workingDirectory }),
    },
    ...(provisioner && { provisioner }),
    ...(onRevocationFailure && { onRevocationFailure }),
    ...(onIssueFailure && { onIssueFailure }),
    ...(around && { around: inArcpCodes(around) }),
    resultBytesMax: settings.resultBytesMax,
    jobsOfPrincipalMax: settings.jobsPerPrincipalMax,
    isSpendLimit: settings.isSpendLimit,
    logger: settings.logger,
    onAgentError: onAgentError && ((error, job) => onAgentError(error, seen(job))),
    onFault: faultHandlerOf(settings),
    mayWork: settings.mayWork,
    workerGraceMs: settings.workerGraceMs,
  };
}

function faultHandlerOf({ logger, onFault }: DoorSettings): (fault: unknown) => void {
  return onFault ?? (logger ? faultsTo(logger) : warn);
}

/** In a time that does not tell how much of a token is right. */
function tableOf(tokens: Readonly<Record<string, string>>): Verify {
  const table = Object.entries(tokens).map(([token, principal]) => ({
    digest: digestOf(token),
    principal,
  }));
  return (token) => {
    const shown = digestOf(token);
    return table.filter(({ digest }) => timingSafeEqual(digest, shown)).at(0);
  };
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

function contextOf(options: RunContextOptions): JobContext {
  return new JobContext(options);
}

/** Reports the outcome of an attempt to `around` with ARCP's error codes instead of the runtime's own. */
function inArcpCodes(around: Around): Around {
  return (job, run) =>
    around(job, async (trace) => {
      const outcome = await run(trace);
      if (outcome.status === "success") return outcome;
      const { failure } = outcome;
      return { ...outcome, failure: { ...failure, code: arcpCodeOf(failure.code) } };
    });
}

function asItIs(transport: Transport): Transport {
  return transport;
}

function seen({ id, agent, principal }: Job): SeenJob {
  return { jobId: id, agent, principal };
}

function msOf(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1_000;
}

function directoryOf({ dataDirectory, eventLog }: ARCPServerOptions): string | undefined {
  if (dataDirectory !== undefined && eventLog !== undefined) {
    throw new TypeError("dataDirectory and eventLog name the same thing; give one of them");
  }
  return eventLog === "memory" ? undefined : (dataDirectory ?? eventLog);
}

/** A limit that is NaN is never reached, and would be no limit. */
function checkNumbers(settings: DoorSettings): void {
  for (const [name, value] of Object.entries(settings)) {
    if (typeof value !== "number" || value >= 0) continue;
    throw new RangeError(`${name} must be 0 or more, not ${value}`);
  }
}

function faultsTo(logger: Logger): (fault: unknown) => void {
  const { error: log } = withFields(logger, {});
  return (error) => log("something failed, and was survived", { error });
}

function warn(fault: unknown): void {
  process.emitWarning(fault instanceof Error ? fault : String(fault));
}

/** The log cannot be written, or we were wrong: the process must not go on without memory. */
function stop(fault: unknown): void {
  setImmediate(() => {
    throw fault instanceof LogError ? inWords(fault) : fault;
  });
}

/** Where in our sources it was noticed tells nobody anything. */
function inWords({ code, message }: LogError): LogError {
  const rest = "this program ends; everything that was acknowledged before is kept";
  const told = new LogError(code, `${message}; ${rest}`);
  told.stack = `${told.name}: ${told.message}`;
  return told;
}
