/** What a browser can carry: nothing of Node, no package. */
export { adopt, type BareTransport } from "../adopt.ts";
export { pairMemoryTransports } from "../memory.ts";
export {
  type CloseHandler,
  type Closing,
  type Frame,
  type FrameHandler,
  type Link,
  Malformed,
  type MalformedCode,
  type Transport,
  TransportError,
  type TransportErrorCode,
} from "../transport.ts";
export { type ConnectOptions, connectWebSocket } from "../websocket/client.ts";
export { closeCodes } from "../websocket/close-codes.ts";
