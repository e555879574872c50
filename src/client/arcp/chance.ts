/** Ids of what we send. The one place of this client that draws lots. */
import { type IdKind, monotonicUlids, printId, printTraceId } from "../../wire/arcp/index.ts";

const nextUlid = monotonicUlids({
  nowMs: () => Date.now(),
  fill: (bytes) => bytes.set(crypto.getRandomValues(new Uint8Array(bytes.length))),
});

export function mintId(kind: IdKind): string {
  return printId(kind, nextUlid());
}

export function mintTraceId(): string {
  return printTraceId(crypto.getRandomValues(new Uint8Array(16)));
}
