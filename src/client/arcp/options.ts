/** What a client is told once, and what that comes to. */
import { connectWebSocket, type Transport } from "../../transport/browser/index.ts";
import {
  type ArcpError,
  type ClientName,
  type DialectOption,
  features,
  implementationVersion,
  type JsonObject,
} from "../../wire/arcp/index.ts";
import { type AckPace, usualPace } from "./acknowledging.ts";
import type { FrameListener } from "./handlers.ts";
import { limits } from "./limits.ts";
import { systemTime, type Timekeeper } from "./time.ts";

/** Where the runtime is: an address, a link that is there, or how to make one, each time anew. */
export type Target = string | URL | Transport | (() => Transport | Promise<Transport>);

/** Events after this one are missing, and the runtime cannot send them again. */
export type Gap = {
  readonly sessionId: string;
  readonly lastEventSeq: number;
  readonly cause: ArcpError;
};

/** `console` is one. */
export type ClientLogger = {
  readonly warn: (message: string, fields?: Readonly<Record<string, unknown>>) => void;
};

export type ClientOptions = {
  /** A bearer token. */
  readonly token: string;
  /** There is one. */
  readonly authScheme?: "bearer" | undefined;
  readonly client?: ClientName | undefined;
  /** All that there are, if not said. */
  readonly features?: readonly string[] | undefined;
  /** Capabilities under vendors' names. */
  readonly capabilities?: JsonObject | undefined;
  /**
   * Tell the runtime what was read: true, if not said. A Python runtime forgets for everybody what one has
   * read, and is told only if this is set.
   */
  readonly autoAck?: boolean | Partial<AckPace> | undefined;
  /**
   * Come back after a loss and resume: true, if not said and the target can be connected to again. Where the
   * runtime has forgotten the session, a fresh one is opened, unless `freshSession` is false.
   */
  readonly reconnect?: boolean | { readonly freshSession?: boolean } | undefined;
  /** Gives up connecting, with its reason; of no effect once there is a session. */
  readonly signal?: AbortSignal | undefined;
  readonly handshakeTimeoutMs?: number | undefined;
  readonly answerTimeoutMs?: number | undefined;
  /** What the runtime is; found out from its welcome, if not said. */
  readonly peer?: DialectOption | undefined;
  /** How to take leave: some runtimes know only `close`. */
  readonly closeMessage?: "bye" | "close" | undefined;
  /** Handlers that are there before the first frame is. */
  readonly on?: Readonly<Record<string, FrameListener>> | undefined;
  /** Called once: event numbers were missing, or the session ended and cannot be resumed. */
  readonly onSessionBroken?: ((error: ArcpError) => void) | undefined;
  readonly onHeartbeatLost?: (() => void) | undefined;
  /** Something came that is no frame, or none that we know. It is dropped. */
  readonly onProtocolError?: ((problem: string) => void) | undefined;
  readonly onGap?: ((gap: Gap) => void) | undefined;
  /** Gets a line for each call of the four callbacks above. */
  readonly logger?: ClientLogger | undefined;
  /** For tests. */
  readonly time?: Timekeeper | undefined;
};

export type Settings = {
  readonly token: string;
  readonly client: ClientName;
  readonly features: readonly string[];
  readonly vendor: JsonObject;
  /** Undefined: never. */
  readonly ackPace: AckPace | undefined;
  readonly isAckAsked: boolean;
  /** A transport that the program passed in can be used only once. */
  readonly canDialAgain: boolean;
  readonly canReconnect: boolean;
  readonly opensFresh: boolean;
  readonly handshakeMs: number;
  readonly answerMs: number;
  readonly peer: DialectOption;
  readonly closeMessage: "bye" | "close";
  readonly on: Readonly<Record<string, FrameListener>>;
  readonly onSessionBroken: (error: ArcpError) => void;
  readonly onHeartbeatLost: () => void;
  readonly onProtocolError: (problem: string) => void;
  readonly onGap: (gap: Gap) => void;
  readonly time: Timekeeper;
  readonly dial: (signal: AbortSignal) => Promise<Transport>;
};

export function settle(target: Target, options: ClientOptions): Settings {
  const { autoAck = true, reconnect = true, logger } = options;
  const canDialAgain =
    typeof target === "string" || typeof target === "function" || target instanceof URL;
  return {
    token: options.token,
    client: options.client ?? { name: "tipstaff", version: implementationVersion },
    features: options.features ?? features,
    vendor: options.capabilities ?? {},
    ackPace: autoAck === false ? undefined : { ...usualPace, ...(autoAck === true ? {} : autoAck) },
    isAckAsked: options.autoAck !== undefined,
    canDialAgain,
    canReconnect: canDialAgain && reconnect !== false,
    opensFresh: reconnect === true || (reconnect !== false && reconnect.freshSession !== false),
    handshakeMs: options.handshakeTimeoutMs ?? limits.handshakeMs,
    answerMs: options.answerTimeoutMs ?? limits.answerMs,
    peer: options.peer ?? "auto",
    closeMessage: options.closeMessage ?? "bye",
    on: options.on ?? {},
    onSessionBroken: outside(options.onSessionBroken, (error) =>
      logger?.warn("events are missing, or the session cannot be resumed", { error }),
    ),
    onHeartbeatLost: outside(options.onHeartbeatLost, () =>
      logger?.warn("the runtime sends no heartbeats any more"),
    ),
    onProtocolError: outside(options.onProtocolError, (problem) =>
      logger?.warn("the runtime sent something that is not a valid frame", { problem }),
    ),
    onGap: outside(options.onGap, ({ lastEventSeq, cause }) =>
      logger?.warn("events are missing, and the runtime cannot send them again", {
        lastEventSeq,
        error: cause,
      }),
    ),
    time: options.time ?? systemTime,
    dial: dialler(target),
  };
}

/** An error that a callback of the program throws must not keep the other callbacks from being called. */
function outside<Words extends unknown[]>(
  ...callbacks: readonly (((...words: Words) => void) | undefined)[]
): (...words: Words) => void {
  return (...words) => {
    for (const callback of callbacks) {
      try {
        callback?.(...words);
      } catch (fault) {
        queueMicrotask(() => {
          throw fault;
        });
      }
    }
  };
}

function dialler(target: Target): (signal: AbortSignal) => Promise<Transport> {
  if (typeof target === "function") return async () => target();
  if (typeof target === "object" && "onFrame" in target) return async () => target;
  return (signal) => connectWebSocket(target, { signal });
}
