/** Apart from the room's other front, because this one brings `ws`. */
export { type ConnectOptions, connectWebSocket } from "./client.ts";
export { closeCodes } from "./close-codes.ts";
export { type Guard, parseHostHeader, type Refusal, refusalOf } from "./hosts.ts";
export {
  attachUpgrade,
  type ServerOptions,
  startWebSocketServer,
  type UpgradeOptions,
  type Upgrades,
  type WebSocketServing,
} from "./server.ts";
