/**
 * The ARCP door (ARCP 1.1): sessions over any transport, jobs, their events. Whoever is connected is told what is
 * durable; whoever comes back is told what it missed.
 */
import { randomFillSync } from "node:crypto";
import type { SessionId } from "../../core/index.ts";
import type { Rotation } from "../../runtime/index.ts";
import type { Transport } from "../../transport/index.ts";
import { monotonicUlids } from "../../wire/arcp/index.ts";
import { Audience } from "./audience.ts";
import { Connection, type ConnectionParts } from "./connection.ts";
import { sayingOnce } from "./printer.ts";
import type { ArcpDoorOptions } from "./settings.ts";

/** One that was let in to say hello. */
export type Accepted = {
  /** Resolves when the connection is down, and what follows from that is kept. */
  readonly done: Promise<void>;
};

export interface ArcpDoor extends AsyncDisposable {
  /**
   * Serves a new connection, whose peer may open or resume a session. `onWelcome` is called when the peer has shown a
   * valid token.
   */
  accept(transport: Transport, onWelcome?: () => void): Accepted;
  readonly connections: number;
  /** Tells everybody that it shuts down. They may leave by themselves. */
  sayGoodbye(): void;
}

export function openArcpDoor(options: ArcpDoorOptions): ArcpDoor {
  const audience = new Audience();
  const open = new Set<Connection>();
  const connections = new Map<SessionId, Connection>();
  const { clock } = options;
  const newUlid = monotonicUlids({ nowMs: () => clock.nowMs(), fill: randomFillSync });
  const rotations = new Map<number, Rotation>();
  const printing = { plane: options.plane, rotations, sayOnce: sayingOnce() };
  const parts: ConnectionParts = { options, audience, newUlid, connections, printing };
  const rotating = options.runtime.onRotation((rotation) => {
    rotations.set(rotation.sequence, rotation);
  });
  const tap = options.plane.tap((entries) => {
    audience.hear(entries);
    // Who is behind is told without the value.
    if (rotations.size > 0) for (const { sequence } of entries) rotations.delete(sequence);
  });
  let isClosed = false;
  return {
    accept(transport, onWelcome) {
      if (isClosed) return { done: transport.close("shutdown", 1001) };
      const connection = new Connection(parts, transport, onWelcome);
      open.add(connection);
      void connection.done.then(() => open.delete(connection));
      return connection;
    },
    get connections() {
      return open.size;
    },
    sayGoodbye() {
      isClosed = true;
      for (const connection of open) connection.sayGoodbye("shutdown");
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      const all = [...open];
      await Promise.all(all.map((connection) => connection.leave("shutdown", 1001)));
      await Promise.all(all.map((connection) => connection.done));
      tap[Symbol.dispose]();
      rotating[Symbol.dispose]();
    },
  };
}
