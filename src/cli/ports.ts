/** Who has the daemon's ports: the daemon, nobody, or somebody else. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { connect } from "node:net";
import type { Overview } from "../wire/api/index.ts";
import { parseAddress } from "./address.ts";
import { defaults } from "./defaults.ts";
import type { Check } from "./doctor.ts";
import { Failure } from "./failure.ts";
import { limits } from "./limits.ts";
import { printPath } from "./paths.ts";
import { askOverview } from "./status.ts";

/** Of the daemon that runs, or those that one would take. */
export async function checkPorts(overview: Overview | undefined): Promise<readonly Check[]> {
  const wanted = [
    { name: "gRPC", text: overview?.grpcAddress ?? defaults.grpc, flag: "--grpc", off: "" },
    {
      name: "HTTP",
      text: overview ? overview.httpAddress : defaults.http,
      flag: "--http",
      off: "no dashboard, no metrics",
    },
    {
      name: "ARCP",
      text: overview ? overview.arcpAddress : defaults.arcp,
      flag: "--arcp",
      off: "no jobs",
    },
  ];
  return await Promise.all(
    wanted.map(async ({ name, text, flag, off }): Promise<Check> => {
      if (text === undefined) return { name, state: "ok", text: `off: ${off}` };
      return await checkPort({ name, text, flag }, overview);
    }),
  );
}

async function checkPort(
  { name, text, flag }: { readonly name: string; readonly text: string; readonly flag: string },
  overview: Overview | undefined,
): Promise<Check> {
  const address = parseAddress(text);
  if (!address || "path" in address) return { name, state: "ok", text };
  const isTaken = await answers(address.host || "localhost", address.port);
  const owner = isTaken ? ownerOf(address.port) : undefined;
  if (overview) {
    if (!isTaken) {
      const advice = "stop the daemon and start it again";
      return { name, state: "fail", text: `${text}: nobody listens`, advice };
    }
    // Whoever cannot look into other processes believes that it is the daemon.
    if (owner === undefined || owner.pid === overview.pid) {
      return { name, state: "ok", text: `${text}, the daemon's` };
    }
  }
  if (!isTaken) return { name, state: "ok", text: `${text}, free` };
  const who = await nameOwner(address.port, defaults.http);
  const advice = `stop it, or start the daemon with another address: ${flag} localhost:0`;
  return { name, state: "warn", text: `${text} is in use by ${who}`, advice };
}

/**
 * Names the program that listens on a port. It is a Tipstaff if its HTTP API says so, which is asked at `http` and at
 * all ports of the process that has the port.
 */
export async function nameOwner(port: number, http: string): Promise<string> {
  const owner = ownerOf(port);
  const ports = [port, ...(owner ? portsOf(owner.pid) : [])].slice(0, limits.portsAskedMax);
  const addresses = new Set([http, ...ports.map((one) => `localhost:${one}`)]);
  const overviews = await Promise.all([...addresses].map(overviewAt));
  const tipstaff = overviews.find((overview) =>
    [overview?.grpcAddress, overview?.httpAddress, overview?.arcpAddress].some((address) =>
      address?.endsWith(`:${port}`),
    ),
  );
  if (tipstaff) return nameTipstaff(tipstaff);
  return owner ? `process ${owner.pid} (${owner.name})` : "another program";
}

async function overviewAt(http: string): Promise<Overview | undefined> {
  if (http === "") return undefined;
  try {
    return await askOverview({ http }, { answerMs: limits.portMs });
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

function nameTipstaff({ pid, dataDirectory }: Overview): string {
  const log =
    dataDirectory === undefined ? "log in memory" : `data directory ${printPath(dataDirectory)}`;
  return `another Tipstaff (process ${pid}, ${log})`;
}

function answers(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: limits.portMs });
    const end = (isThere: boolean) => (): void => {
      socket.destroy();
      resolve(isThere);
    };
    socket.on("connect", end(true));
    socket.on("timeout", end(false));
    socket.on("error", end(false));
  });
}

type Owner = { readonly pid: number; readonly name: string };

/** Which process listens on a port, as Linux tells it; undefined elsewhere, or if it is not ours to know. */
export function ownerOf(port: number): Owner | undefined {
  const sockets = new Set(
    listeners()
      .filter((one) => one.port === port)
      .map(({ socket }) => socket),
  );
  if (sockets.size === 0) return undefined;
  for (const pid of listDirectory("/proc").filter((name) => /^\d+$/.test(name))) {
    if (filesOf(pid).some((file) => sockets.has(file))) {
      return { pid: Number(pid), name: textAt(`/proc/${pid}/comm`).trim() };
    }
  }
  return undefined;
}

/** On which a process listens. */
function portsOf(pid: number): readonly number[] {
  const files = new Set(filesOf(String(pid)));
  const ports = listeners().filter(({ socket }) => files.has(socket));
  return [...new Set(ports.map(({ port }) => port))];
}

function filesOf(pid: string): readonly string[] {
  return listDirectory(`/proc/${pid}/fd`).map((file) => linkAt(`/proc/${pid}/fd/${file}`));
}

/** All TCP sockets that listen: the port, and the name that the socket has among the files of its process. */
function listeners(): readonly { readonly port: number; readonly socket: string }[] {
  const listening = "0A";
  return ["/proc/net/tcp", "/proc/net/tcp6"]
    .flatMap((path) => textAt(path).split("\n").slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state]) => state === listening)
    .map(({ 1: local = "", 9: inode = "" }) => ({
      port: Number.parseInt(local.split(":")[1] ?? "", 16),
      socket: `socket:[${inode}]`,
    }));
}

function textAt(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function listDirectory(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function linkAt(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
