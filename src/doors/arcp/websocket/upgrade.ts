/** Where ARCP is on an HTTP server (ARCP 1.1 §4): its path and the names of its sub-protocol. */
import type { Server } from "node:http";
import {
  attachUpgrade,
  type ServerOptions,
  startWebSocketServer,
  type UpgradeOptions,
  type Upgrades,
  type WebSocketServing,
} from "../../../transport/websocket/index.ts";

/** `/arcp` and the sub-protocols `arcp.v1.1` and `arcp`, unless others are named. */
type WithDefaults<Options extends UpgradeOptions> = Omit<Options, "path" | "subprotocols"> &
  Partial<Pick<UpgradeOptions, "path" | "subprotocols">>;

export type ArcpUpgradeOptions = WithDefaults<UpgradeOptions>;
export type ArcpServerOptions = WithDefaults<ServerOptions>;

/** On one path of a server that exists already; upgrades of other paths are left to other listeners. */
export function attachArcpUpgrade(server: Server, options: ArcpUpgradeOptions): Upgrades {
  return attachUpgrade(server, { ...options, ...endpointOf(options) });
}

/** A server that does nothing else. Rejects with a `ListenError` if its address is in use. */
export function startArcpServer(options: ArcpServerOptions): Promise<WebSocketServing> {
  return startWebSocketServer({ ...options, ...endpointOf(options) });
}

function endpointOf({
  path = "/arcp",
  subprotocols = ["arcp.v1.1", "arcp"],
}: ArcpUpgradeOptions | ArcpServerOptions): Pick<UpgradeOptions, "path" | "subprotocols"> {
  return { path, subprotocols };
}
