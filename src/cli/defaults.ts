/** Where the daemon listens unless told otherwise. */
export const defaults = {
  grpc: "localhost:7070",
  http: "localhost:9090",
  arcp: "localhost:7777",
  agentkeeperGrpc: ":7070",
  agentkeeperHttp: ":9090",
} as const;
