/** `tipstaff up` and `agentkeeper`: the daemon in this process, until it is told to stop. */
import { randomBytes } from "node:crypto";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { emittersDirectory } from "../emitters/index.ts";
import { LogError } from "../log/index.ts";
import { type Daemon, type ServeOptions, serve } from "../serve.ts";
import { print } from "../terminal/index.ts";
import { ListenError, type Place, printPlace } from "../transport/index.ts";
import { type Places, parseAddress, placesFor } from "./address.ts";
import { defaults } from "./defaults.ts";
import { exits } from "./exits.ts";
import { Failure } from "./failure.ts";
import { parseKeep } from "./keep.ts";
import { limits } from "./limits.ts";
import { linesTo, makeLogger } from "./logger.ts";
import { statusDirectoryFrom } from "./looking.ts";
import { offerAgents } from "./offered-agents.ts";
import { inPackage } from "./package.ts";
import { dataDirectoryFrom, printPath } from "./paths.ts";
import { nameOwner } from "./ports.ts";
import type { Values } from "./table.ts";
import { countOf } from "./times.ts";
import { ensureToken, tokenPath } from "./token.ts";
import { version } from "./version.ts";

export async function up(values: Values): Promise<number> {
  const isMemory = values["memory"] === true;
  if (isMemory && values["data-dir"] !== undefined) {
    return mistake("--memory and --data-dir exclude each other");
  }
  return run({
    grpc: textOf(values["grpc"]) ?? defaults.grpc,
    http: textOf(values["http"]),
    httpDefault: defaults.http,
    arcp: textOf(values["arcp"]),
    agents: textOf(values["agents"]),
    dataDirectory: isMemory ? undefined : dataDirectoryFrom(values),
    tokenDirectory: dataDirectoryFrom(values),
    addressFlags: "--grpc, --http or --arcp",
    isJson: values["json"] === true,
    isInsecure: values["insecure"] === true,
    logFormat: values["log-format"],
    taskInputMax: textOf(values["task-input-max"]),
    taskOutputMax: textOf(values["task-output-max"]),
    keepDays: textOf(values["keep-days"]),
    keepBytes: textOf(values["keep-bytes"]),
    embedder: textOf(values["embedder"]),
    embedderModel: textOf(values["embedder-model"]),
    status: statusFrom(values),
  });
}

function statusFrom(values: Values): ServeOptions["status"] {
  if (values["status-dir"] === "") return undefined;
  return {
    directory: resolve(statusDirectoryFrom(values)),
    isMirroring: values["mirror-status"] === true,
    emitters: {
      directory: emittersDirectory({ env: process.env, home: homedir() }),
      successor: inPackage("dist", "emitters", "writer.cjs"),
    },
    env: process.env,
  };
}

/** The drop-in daemon: without a data directory it keeps nothing. */
export async function agentkeeper(values: Values): Promise<number> {
  return run({
    grpc: textOf(values["addr"]) ?? defaults.agentkeeperGrpc,
    http: textOf(values["metrics-addr"]),
    httpDefault: defaults.agentkeeperHttp,
    arcp: "",
    agents: undefined,
    dataDirectory: values["data-dir"] ? dataDirectoryFrom(values) : undefined,
    tokenDirectory: dataDirectoryFrom(values),
    addressFlags: "--addr or --metrics-addr",
    isJson: false,
    isInsecure: values["insecure"] === true,
    logFormat: values["log-format"],
    taskInputMax: textOf(values["task-input-max"]),
    taskOutputMax: textOf(values["task-output-max"]),
    keepDays: textOf(values["keep-days"]),
    keepBytes: textOf(values["keep-bytes"]),
    embedder: undefined,
    embedderModel: undefined,
    status: undefined,
  });
}

type Wishes = {
  readonly grpc: string;
  /** Absent: nobody asked, so a busy address is no reason to stop. Empty: no HTTP. */
  readonly http: string | undefined;
  readonly httpDefault: string;
  /** As `http`. */
  readonly arcp: string | undefined;
  /** A module with agents that take jobs. */
  readonly agents: string | undefined;
  readonly dataDirectory: string | undefined;
  /** Where the local token is: also a daemon that keeps nothing has one. */
  readonly tokenDirectory: string;
  /** For whoever must choose other addresses. */
  readonly addressFlags: string;
  /** Say in one line of JSON where it serves, for programs. */
  readonly isJson: boolean;
  readonly isInsecure: boolean;
  readonly logFormat: Values[string];
  readonly taskInputMax: string | undefined;
  readonly taskOutputMax: string | undefined;
  readonly keepDays: string | undefined;
  readonly keepBytes: string | undefined;
  readonly embedder: string | undefined;
  readonly embedderModel: string | undefined;
  readonly status: ServeOptions["status"];
};

async function run(wishes: Wishes): Promise<number> {
  const { isInsecure, dataDirectory } = wishes;
  const logFormat = wishes.logFormat ?? "text";
  if (logFormat !== "text" && logFormat !== "json") return mistake("--log-format is text or json");
  const inputBytesMax = parseBytes(wishes.taskInputMax);
  const outputBytesMax = parseBytes(wishes.taskOutputMax);
  if (inputBytesMax === undefined || outputBytesMax === undefined) {
    return mistake(
      `--task-input-max and --task-output-max are bytes, ${limits.taskBytesMax} at most`,
    );
  }
  const kept = parseKeep({ days: wishes.keepDays, bytes: wishes.keepBytes });
  if (kept.refusal !== undefined) return mistake(kept.refusal);
  const { embedder: embedderUrl, embedderModel: model = "default" } = wishes;
  if (embedderUrl !== undefined && !/^https?:/.test(URL.parse(embedderUrl)?.protocol ?? "")) {
    return mistake("--embedder is the address of a server, such as http://localhost:11434/v1");
  }
  const apiKey = process.env["TIPSTAFF_EMBEDDER_KEY"];
  if (wishes.grpc === "") return mistake("an address for gRPC is needed");
  const grpc = placesOf(wishes.grpc, isInsecure);
  if (grpc.refusal !== undefined) return mistake(grpc.refusal);
  const http = placesOf(wishes.http ?? wishes.httpDefault, isInsecure);
  if (http.refusal !== undefined) return mistake(http.refusal);
  const arcp = placesOf(wishes.arcp ?? defaults.arcp, isInsecure);
  if (arcp.refusal !== undefined) return mistake(arcp.refusal);

  const logger = makeLogger(logFormat);
  // What agents hand in is for this user alone, whatever the directory's own mode is.
  process.umask(0o077);
  const options: ServeOptions = {
    version,
    // A data directory that cannot be written ends it anyway, with a better reason.
    token: tokenIn(wishes.tokenDirectory, (message) => {
      if (dataDirectory === undefined) logger.warn(message);
    }),
    grpc: grpc.places,
    taskLimits: { inputBytesMax, outputBytesMax },
    keep: kept.keep,
    http: http.places,
    isHttpOptional: wishes.http === undefined,
    isAnyHostAllowed: isInsecure,
    warn: (message, cause) => logger.warn(cause === undefined ? {} : { err: cause }, message),
    logger: linesTo(logger),
    onFault: (fault) => {
      const kept = dataDirectory === undefined ? "" : "; everything acknowledged before is kept";
      logger.fatal({ err: fault }, `stopped${kept}`);
      process.exit(fault instanceof LogError ? exits.cannotWrite : exits.fault);
    },
    ...(dataDirectory === undefined ? {} : { dataDirectory }),
    ...(wishes.status ? { status: wishes.status } : {}),
    ...(arcp.places.length === 0
      ? {}
      : { arcp: { places: arcp.places, isOptional: wishes.arcp === undefined } }),
    ...(embedderUrl === undefined
      ? {}
      : { embedder: { url: embedderUrl, model, ...(apiKey ? { apiKey } : {}) } }),
  };
  const stopping = stopSignal();
  let isServing = false;
  // Nobody was answered yet, and the log can be left at any moment.
  void stopping.then(() => {
    if (!isServing) process.exit(exits.ok);
  });
  let daemon: Daemon;
  try {
    daemon = await serve(options);
    await withAgents(daemon, wishes.agents);
    // Agents of this process are programs of anybody's: what one leaves to nobody must not take the others along.
    if (wishes.agents !== undefined) {
      process.on("unhandledRejection", (err) =>
        logger.error({ err }, "a failure was left to nobody"),
      );
    }
    process.on("uncaughtException", options.onFault);
    isServing = true;
  } catch (error) {
    if (!(error instanceof LogError || error instanceof ListenError)) throw error;
    logger.fatal(`${await whatHappened(error, wishes)}${nextStep(error, wishes)}`);
    return exits.no;
  }
  const isNarrowed = grpc.isNarrowed || http.isNarrowed || arcp.isNarrowed;
  if (wishes.isJson) {
    print(`${JSON.stringify(ready(daemon, wishes))}\n`);
  } else if (logFormat === "text") {
    print(banner(daemon, wishes, { isNarrowed }));
  } else {
    if (isNarrowed) logger.warn("only this machine can connect; --insecure would let others in");
    const { grpc, http, arcp } = daemon;
    const places = { grpc, http, ...(arcp.length > 0 && { arcp }) };
    const printed = Object.entries(places).map(([door, all]) => [door, all.map(printPlace)]);
    logger.info(Object.fromEntries(printed), "up");
  }

  const signal = await stopping;
  logger.info(`${signal}: stopping`);
  await daemon[Symbol.asyncDispose]();
  // An agent of this process that does not listen would keep it alive; what it does now is nobody's.
  setTimeout(() => process.exit(exits.ok), limits.exitMs).unref();
  return exits.ok;
}

/** What cannot offer its agents is closed again. */
async function withAgents(daemon: Daemon, path: string | undefined): Promise<void> {
  try {
    await offerAgents(daemon.work, path);
  } catch (error) {
    await daemon[Symbol.asyncDispose]();
    throw error;
  }
}

async function whatHappened(error: LogError | ListenError, wishes: Wishes): Promise<string> {
  if (error.code !== "address_in_use") return error.message;
  const { place } = error;
  if ("path" in place) return error.message;
  const owner = await nameOwner(place.port, wishes.http ?? wishes.httpDefault);
  return `${printPlace(place)} is in use by ${owner}`;
}

/** What to do about it, on the same line. */
function nextStep(error: LogError | ListenError, { addressFlags }: Wishes): string {
  switch (error.code) {
    case "address_in_use":
      return `; choose another port with ${addressFlags}`;
    case "in_use":
      return "; tipstaff status shows its process, --data-dir takes another directory";
    default:
      return "";
  }
}

/** Where none can be kept nobody can write over HTTP; that is no reason not to serve. */
function tokenIn(directory: string, warn: (message: string) => void): string {
  try {
    return ensureToken(directory);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    warn(`no token can be kept in ${printPath(directory)}, so HTTP is read-only: ${why}`);
    return randomBytes(32).toString("base64url");
  }
}

/** Where programs find it. */
function ready(
  { http, grpc, arcp }: Daemon,
  { tokenDirectory }: Wishes,
): Readonly<Record<string, string>> {
  const place = http.find((place) => "host" in place);
  const [grpcPlace] = grpc;
  const [arcpPlace] = arcp;
  return {
    ...(place ? { http: `http://${printPlace(place)}` } : {}),
    ...(grpcPlace ? { grpc: printPlace(grpcPlace) } : {}),
    ...(arcpPlace ? { arcp: `ws://${printPlace(arcpPlace)}/arcp` } : {}),
    tokenFile: tokenPath(tokenDirectory),
  };
}

function parseBytes(text: string | undefined): number | undefined {
  if (text === undefined) return limits.taskBytesMax;
  const bytes = /^\d{1,7}$/.test(text) ? Number(text) : Number.NaN;
  return bytes <= limits.taskBytesMax ? bytes : undefined;
}

/** The second signal ends the process at once, whatever it is doing. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isFirst = true;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (!isFirst) process.exit(exits.no);
      isFirst = false;
      resolve(signal);
    };
    process.on("SIGTERM", onSignal);
    process.on("SIGINT", onSignal);
  });
}

/** Empty text: nowhere. */
function placesOf(text: string, isInsecure: boolean): Places {
  if (text === "") return { places: [], isNarrowed: false };
  const address = parseAddress(text);
  if (!address) return { refusal: `${text} is no address; write host:port, :port or unix:/path` };
  return placesFor(address, { isInsecure });
}

function banner(
  daemon: Daemon,
  { dataDirectory, isInsecure, http, status }: Wishes,
  { isNarrowed }: { readonly isNarrowed: boolean },
): string {
  const data = dataDirectory === undefined ? "in memory" : `data ${printPath(dataDirectory)}`;
  const age = daemon.isNew && dataDirectory !== undefined ? " (new)" : "";
  const reach = isInsecure
    ? "OTHER MACHINES CAN CONNECT, without credentials"
    : isNarrowed
      ? "only this machine can connect (--insecure would let others in)"
      : "only this machine can connect";
  const httpPlace = daemon.http.find((place) => "host" in place);
  const dashboard = httpPlace
    ? `http://${forPeople(httpPlace)}${process.stdout.isTTY ? daemon.makeLink() : ""}`
    : "off; --http <address> turns it on";
  return [
    `tipstaff ${version} · node ${process.versions.node} · ${data}${age}`,
    "",
    ...(http === "" ? [] : [`  dashboard   ${dashboard}`]),
    ...daemon.grpc
      .slice(0, 1)
      .map(
        (place) => `  gRPC        ${forPeople(place).padEnd(22)}  AgentKeeper SDKs connect here`,
      ),
    ...daemon.arcp
      .slice(0, 1)
      .map((place) => `  ARCP        ${forPeople(place).padEnd(22)}  jobs: tipstaff job submit`),
    ...(daemon.status ? [`  status      ${statusLine(daemon.status, status)}`] : []),
    "",
    `  ${reach} · ctrl-c stops`,
    "",
    "",
  ].join("\n");
}

function statusLine(
  { directory, files }: NonNullable<Daemon["status"]>,
  wished: Wishes["status"],
): string {
  const watching = `${printPath(directory).padEnd(22)}  watching ${countOf(files.length, "agent")}`;
  return wished?.isMirroring ? `${watching}, mirroring those that register` : watching;
}

/** Both loopback addresses are `localhost`. */
function forPeople(place: Place): string {
  if ("host" in place && place.host === "127.0.0.1") return `localhost:${place.port}`;
  return printPlace(place);
}

function textOf(value: Values[string]): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function mistake(message: string): never {
  throw new Failure("mistake", message);
}
