export { Embeddings, EmbeddingsError, type EmbeddingsOptions } from "./embeddings.ts";
export { ListenError, type Listening, listen, type Place, printPlace } from "./listen.ts";
export { clearSocket, socketIn } from "./unix-socket.ts";
