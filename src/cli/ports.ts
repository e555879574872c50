/** Who has the daemon's ports: the daemon, nobody, or somebody else. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { connect } from "node:net";
import type { Overview } from "../wire/api/index.ts";
import { parseAddress } from "./address.ts";
import { defaults } from "./defaults.ts";
import type { Check } from "./doctor.ts";
import { limits } from "./limits.ts";

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
  const who = owner ? `process ${owner.pid} (${owner.name})` : "another program";
  const advice = `stop it, or start the daemon with another address: ${flag} localhost:0`;
  return { name, state: "warn", text: `${text} is taken by ${who}`, advice };
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
  const sockets = new Set(listeners(port).map((inode) => `socket:[${inode}]`));
  if (sockets.size === 0) return undefined;
  for (const pid of listDirectory("/proc").filter((name) => /^\d+$/.test(name))) {
    const files = listDirectory(`/proc/${pid}/fd`);
    if (files.some((file) => sockets.has(linkAt(`/proc/${pid}/fd/${file}`)))) {
      return { pid: Number(pid), name: textAt(`/proc/${pid}/comm`).trim() };
    }
  }
  return undefined;
}

/** Inodes of the sockets that listen on a port. */
function listeners(port: number): readonly string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const listening = "0A";
  return ["/proc/net/tcp", "/proc/net/tcp6"]
    .flatMap((path) => textAt(path).split("\n").slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(suffix) && state === listening)
    .flatMap((cells) => cells[9] ?? []);
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
