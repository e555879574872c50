export { adopt, type BareTransport } from "./adopt.ts";
export {
  type ByteAccount,
  ByteBudget,
  type ByteBudgetOptions,
  type ByteBudgetReason,
  type ByteBudgets,
  bytesTakenFrom,
  isStuck,
  makeByteBudgets,
} from "./byte-budget.ts";
export { ConnectionLimit, type ConnectionSeat } from "./connection-limit.ts";
export { Embeddings, EmbeddingsError, type EmbeddingsOptions } from "./embeddings.ts";
export { ListenError, type Listening, listen, type Place, printPlace } from "./listen.ts";
export { pairMemoryTransports } from "./memory.ts";
export { fromChild, fromProcess, fromStreams, type StdioOptions } from "./stdio.ts";
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
} from "./transport.ts";
export { clearSocket, socketIn } from "./unix-socket.ts";
