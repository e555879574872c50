/**
 * A session's way to its runtime, over however many connections.
 *
 *   live      there is a connection, and a welcome was received on it
 *   detached  the connection is gone, and another is being made; what is asked meanwhile waits
 *   ended     by us, by the runtime, or because there is no way back; everything that waited was told
 */
import {
  ArcpError,
  type Dialect,
  dialectOfWelcome,
  type Envelope,
  type Hello,
  intersectFeatures,
  isArcpError,
  printFarewell,
  printPing,
  printPong,
  type ResumePoint,
  readFarewell,
  readPing,
  type Welcome,
} from "../../wire/arcp/index.ts";
import { orAborted } from "./abort.ts";
import { mintId } from "./chance.ts";
import { Connection, printText, type Receiver } from "./connection.ts";
import { limits } from "./limits.ts";
import type { Settings } from "./options.ts";
import type { Request } from "./pending.ts";
import { Pulse } from "./pulse.ts";
import { checkForPython, type PeerTraits, peers } from "./python-peer.ts";
import { beginAnew, type Resumption, replayFrom, resume } from "./resumption.ts";

/** Who is told what becomes of a session. */
export interface SessionListener {
  /** The last number up to which nothing is missing. */
  readonly lastEventSeq: number;
  /** Before any frame that follows the welcome. */
  attached(welcomed: Welcomed): void;
  /** The connection is lost, or an attempt to make another one failed. `ended` follows if it was the last. */
  detached(cause: unknown): void;
  received(envelope: Envelope): void;
  malformed(problem: string): void;
  /** The session is gone, and with it everything that only it knew of. There may be another. */
  forgotten(error: ArcpError): void;
  /** Once, and for good. */
  ended(error: ArcpError, how: { readonly wasClosedHere: boolean }): void;
}

export type Welcomed = {
  readonly isFirst: boolean;
  /** It is the session that there was before, here or elsewhere. */
  readonly goesOn: boolean;
  /** Of a session that is new here: its events are numbered from the next on. */
  readonly startsAfter: number | undefined;
};

export class Lifeline implements Receiver {
  readonly #settings: Settings;
  readonly #listener: SessionListener;
  /** Where a session of another program's is taken up. */
  readonly #takenUp: ResumePoint | undefined;
  readonly #leaving = new AbortController();
  #connection: Connection | undefined;
  #welcome: Welcome | undefined;
  /** Until it has spoken, as we were told, or as the protocol has it. */
  #dialect: Dialect;
  #features: readonly string[] = [];
  #pulse: Pulse | undefined;
  #ended: ArcpError | undefined;
  /** What the runtime last said was wrong with the session; why it ends, if it does. */
  #complaint: ArcpError | undefined;
  /** The runtime has forgotten it, and those who waited were told. */
  #isGone = false;
  #attached = Promise.withResolvers<void>();

  constructor(settings: Settings, listener: SessionListener, takenUp: ResumePoint | undefined) {
    this.#settings = settings;
    this.#listener = listener;
    this.#takenUp = takenUp;
    this.#dialect = settings.peer === "auto" ? "spec" : settings.peer;
    this.#attached.promise.catch(() => {});
  }

  /** Rejects as `Connection.open` does, or as the transport could not be made, or with the signal's reason. */
  async open(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    await orAborted(this.#open(), signal, () => {
      // There may be a welcome already, and a session that is to be left.
      this.close("client.abort").catch(() => {});
    });
  }

  async #open(): Promise<void> {
    const takenUp = this.#takenUp;
    if (!takenUp) return this.#attempt(undefined);
    const { traits } = this;
    const refusesEmptyReplay = traits.refusesEmptyReplay && this.#settings.canDialAgain;
    await replayFrom(takenUp.lastEventSeq, { ...traits, refusesEmptyReplay }, (lastEventSeq) =>
      this.#attempt({ ...takenUp, lastEventSeq }),
    );
  }

  /** The newest: there is one for each connection. */
  get welcome(): Welcome {
    if (!this.#welcome) throw new ArcpError("INVALID_REQUEST", "there is no session yet");
    return this.#welcome;
  }

  /** What both sides know, in our order. */
  get features(): readonly string[] {
    return this.#features;
  }

  get traits(): PeerTraits {
    return peers[this.#dialect];
  }

  get isLive(): boolean {
    return this.#connection !== undefined;
  }

  get isEnded(): boolean {
    return this.#ended !== undefined;
  }

  requireOpen(): void {
    if (this.#ended) throw this.#ended;
  }

  requireFeature(name: string): void {
    this.requireOpen();
    if (this.#features.includes(name)) return;
    throw new ArcpError(
      "INVALID_REQUEST",
      `the runtime and this client have not agreed on ${name}`,
    );
  }

  /** Rejects when there will be no connection any more. */
  async whenLive(): Promise<void> {
    this.requireOpen();
    await this.#attached.promise;
  }

  /** Throws what cannot be said, to anybody or to this runtime. */
  print(id: string, request: Request): string {
    const text = printText(id, { ...request, sessionId: this.#welcome?.sessionId });
    const { messageBytesMax, lineBytesMax } = this.traits;
    const most = this.#connection?.isLine ? lineBytesMax : messageBytesMax;
    const bytes = new TextEncoder().encode(text).length;
    // It would close the connection, and again when the same is sent on the next one.
    if (bytes > most) {
      const message = `a message to this runtime has at most ${most} bytes, not ${bytes}`;
      throw new ArcpError("INVALID_REQUEST", message);
    }
    const problem = this.#dialect === "python" ? checkForPython(request) : undefined;
    if (problem) throw problem;
    return text;
  }

  /** What is written while there is no connection is gone. */
  write(text: string): void {
    this.#connection?.send(text);
    this.#pulse?.said();
  }

  /** Throws if there is no connection; `whenLive` says when there is. */
  say(request: Request): void {
    this.requireOpen();
    const text = this.print(mintId("envelope"), request);
    if (!this.#connection) throw new ArcpError("HEARTBEAT_LOST", "there is no connection now");
    this.write(text);
  }

  /** We give this connection up, and look for another. */
  leave(cause: ArcpError): void {
    const connection = this.#connection;
    if (!connection) return;
    this.#detach(cause);
    const closing = connection.close(cause.message).catch(() => {});
    if (this.#settings.canReconnect) void this.#comeBack(cause, closing);
    else this.#end(cause);
  }

  /** Something is wrong with the session itself. */
  complained(error: ArcpError): void {
    this.#complaint = error;
    if (!isFatal(error) || !this.#connection) return;
    if (error.code === "HEARTBEAT_LOST" && this.#settings.canReconnect) {
      this.#settings.onHeartbeatLost();
      this.leave(error);
      return;
    }
    this.#hangUp(error, "the session is over");
  }

  /** The runtime takes its leave. One that only stops comes back, with what it remembers. */
  #dismissed(reason: string): void {
    const cause = new ArcpError("CANCELLED", `the runtime said goodbye: ${reason}`);
    if (reason === "shutdown" && this.#settings.canReconnect) this.leave(cause);
    else this.#hangUp(cause, "peer.bye");
  }

  async close(reason: string): Promise<void> {
    const connection = this.#connection;
    this.#end(closedHere(), { wasClosedHere: true });
    if (!connection) return;
    const isBye = this.#settings.closeMessage === "bye" || !this.traits.knowsClose;
    const type = isBye ? "session.bye" : "session.close";
    const farewell = { type, payload: printFarewell({ reason }) };
    connection.send(this.print(mintId("envelope"), farewell));
    await connection.closedByPeer(limits.farewellMs, this.#settings.time);
    await connection.close(reason);
  }

  // What a connection tells.

  welcomed(connection: Connection, welcome: Welcome, envelope: Envelope): void {
    if (this.#ended) {
      connection.close("client.close").catch(() => {});
      return;
    }
    const before = this.#welcome?.sessionId ?? this.#takenUp?.sessionId;
    const goesOn = before === welcome.sessionId;
    if (this.#welcome && !goesOn && !this.#isGone) {
      this.#forget(expiredAt(this.#listener.lastEventSeq));
    }
    this.#isGone = false;
    const isFirst = this.#welcome === undefined;
    this.#connection = connection;
    this.#welcome = welcome;
    this.#dialect = dialectOfWelcome(envelope, this.#settings.peer);
    this.#features = intersectFeatures(this.#settings.features, welcome.features);
    this.#watch(welcome);
    const seen = goesOn ? this.#takenUp?.lastEventSeq : 0;
    this.#listener.attached({
      isFirst,
      goesOn,
      startsAfter: isFirst || !goesOn ? seen : undefined,
    });
    this.#attached.resolve();
  }

  received(envelope: Envelope): void {
    if (this.#ended) return;
    this.#pulse?.heard();
    this.#complaint = undefined;
    this.#listener.received(envelope);
    switch (envelope.type) {
      case "session.ping":
        this.#pong(envelope);
        return;
      case "session.bye":
      case "session.closed":
        this.#dismissed(readFarewell(envelope).reason ?? "");
    }
  }

  malformed(problem: string): void {
    this.#listener.malformed(problem);
  }

  lost(connection: Connection, cause: ArcpError): void {
    if (connection !== this.#connection) return;
    this.#detach(cause);
    if (this.#ended) return;
    const why = this.#complaint ?? cause;
    if (!this.#settings.canReconnect) this.#end(why);
    else void this.#comeBack(why);
  }

  async #attempt(resumePoint: ResumePoint | undefined): Promise<void> {
    const { token, client, features, vendor, handshakeMs, time, dial } = this.#settings;
    const hello: Hello = {
      client,
      token,
      capabilities: { encodings: ["json"], features, vendor },
      resume: resumePoint,
    };
    const { signal } = this.#leaving;
    const transport = await dial(signal);
    if (this.#ended) {
      transport.close("nobody wants it any more").catch(() => {});
      throw this.#ended;
    }
    await Connection.open(transport, this, { hello, handshakeMs, time, signal });
  }

  #watch({ heartbeatIntervalSec }: Welcome): void {
    if (heartbeatIntervalSec === undefined || !this.#features.includes("heartbeat")) return;
    this.#pulse = new Pulse(heartbeatIntervalSec * 1_000, this.#settings.time, {
      ping: () => this.#ping(),
      lost: () => this.#silent(),
    });
  }

  #ping(): void {
    if (!this.isLive) return;
    const ping = { nonce: mintId("nonce"), sentAtMs: Date.now() };
    this.say({ type: "session.ping", payload: printPing(ping) });
  }

  #pong(envelope: Envelope): void {
    const { value: ping, problem } = readPing(envelope);
    if (problem) {
      this.malformed(problem.message);
      return;
    }
    const pong = { pingNonce: ping.nonce, receivedAtMs: Date.now() };
    this.say({ type: "session.pong", payload: printPong(pong) });
  }

  #silent(): void {
    if (!this.isLive) return;
    this.#settings.onHeartbeatLost();
    const message = "the runtime has been silent for two heartbeats";
    this.leave(new ArcpError("HEARTBEAT_LOST", message));
  }

  #detach(cause: ArcpError): void {
    this.#pulse?.stop();
    this.#pulse = undefined;
    if (!this.#connection) return;
    this.#connection = undefined;
    this.#attached = Promise.withResolvers();
    this.#attached.promise.catch(() => {});
    this.#listener.detached(cause);
  }

  async #comeBack(cause: ArcpError, closing?: Promise<void>): Promise<void> {
    const { resumeToken, resumeWindowSec, sessionId } = this.welcome;
    const windowMs = (resumeWindowSec || limits.resumeWindowSec) * 1_000;
    const { traits } = this;
    const resumption: Resumption = {
      lastEventSeq: this.#listener.lastEventSeq,
      windowMs,
      traits,
      time: this.#settings.time,
      signal: this.#leaving.signal,
      attempt: (lastEventSeq) =>
        this.#attempt(
          lastEventSeq === undefined ? undefined : { sessionId, resumeToken, lastEventSeq },
        ).catch((error: unknown) => {
          if (!this.#ended) this.#listener.detached(error);
          throw error;
        }),
    };
    try {
      if (traits.resumesAfterClose) await closing;
      await resume(resumption);
    } catch (error) {
      if (this.#ended) return;
      const failure = isArcpError(error) ? error : cause;
      if (failure.code === "RESUME_WINDOW_EXPIRED") await this.#afterRefusal(resumption, failure);
      else this.#end(failure);
    }
  }

  /** ARCP-221. */
  async #afterRefusal(resumption: Resumption, refusal: ArcpError): Promise<void> {
    this.#forget(refusal);
    const isUnreachable = refusal.details?.["unreachable"] === true;
    if (!this.#settings.opensFresh || isUnreachable) {
      this.#end(refusal);
      return;
    }
    try {
      await beginAnew(resumption);
    } catch (error) {
      this.#end(isArcpError(error) ? error : refusal);
    }
  }

  #forget(error: ArcpError): void {
    this.#isGone = true;
    this.#listener.forgotten(error);
  }

  #hangUp(cause: ArcpError, reason: string): void {
    const connection = this.#connection;
    if (!connection) return;
    this.#end(cause);
    connection.close(reason).catch(() => {});
  }

  #end(error: ArcpError, { wasClosedHere = false } = {}): void {
    if (this.#ended) return;
    this.#ended = error;
    this.#detach(error);
    this.#leaving.abort(error);
    this.#listener.ended(error, { wasClosedHere });
    this.#attached.reject(error);
  }
}

const fatal: ReadonlySet<string> = new Set([
  "UNAUTHENTICATED",
  "HEARTBEAT_LOST",
  "RESUME_WINDOW_EXPIRED",
]);

/** ARCP-59. */
export function isFatal({ code }: ArcpError): boolean {
  return fatal.has(code);
}

export function closedHere(): ArcpError {
  return new ArcpError("CANCELLED", "the client was closed");
}

export function expiredAt(lastEventSeq: number): ArcpError {
  const message = `the runtime opened another session; events after ${lastEventSeq} are lost`;
  return new ArcpError("RESUME_WINDOW_EXPIRED", message);
}
