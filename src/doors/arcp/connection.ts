/**
 * One transport, from its first frame to its end. Frames pass through the protocol's state machine; what it wants
 * done is done here: sessions are opened and resumed, requests handed on. The session goes on when the connection
 * does not.
 */
import { randomBytes } from "node:crypto";
import {
  type Job,
  type JobId,
  type SessionId,
  jobId as toJobId,
  sessionId as toSessionId,
} from "../../core/index.ts";
import type { Entry } from "../../log/index.ts";
import { type Follower, isDelegated, traceIdOf } from "../../runtime/index.ts";
import type { Frame, Transport } from "../../transport/index.ts";
import {
  ArcpError,
  answerType,
  type ChunkSize,
  type Dialect,
  dialects,
  type Effect,
  type Envelope,
  type Heartbeat,
  type Hello,
  heard,
  intersectFeatures,
  type JsonObject,
  look,
  printAccepted,
  printFarewell,
  printFrame,
  printId,
  printPing,
  printPong,
  printResumeToken,
  printSessionError,
  printWelcome,
  said,
  skippedKinds,
  startConnection,
  startHeartbeat,
  stepConnection,
  unhandledVendor,
  type Connection as WireConnection,
} from "../../wire/arcp/index.ts";
import type { Audience } from "./audience.ts";
import { hashOf } from "./decode.ts";
import { encodeAccepted } from "./encode.ts";
import { toArcpError } from "./errors.ts";
import { limits } from "./limits.ts";
import { Printer, type PrinterParts } from "./printer.ts";
import { type Asking, handle } from "./requests.ts";
import type { ArcpDoorOptions, SessionContext, VendorFamily } from "./settings.ts";
import { type Outlet, type Send, Telling } from "./telling.ts";

export type ConnectionParts = {
  readonly options: ArcpDoorOptions;
  readonly audience: Audience;
  /** One that nobody had before. */
  readonly newUlid: () => string;
  readonly printing: PrinterParts;
  /** The connection that a session has just now. */
  readonly connections: Map<SessionId, Connection>;
};

/** What a connection knows once it was let in. */
type Attached = Asking & {
  readonly attachment: number;
  readonly printer: Printer;
};

export class Connection implements Outlet {
  readonly #parts: ConnectionParts;
  readonly #options: ArcpDoorOptions;
  readonly #transport: Transport;
  readonly #onWelcome: () => void;
  #wire: WireConnection;
  #session: Attached | undefined;
  #heardAtMs: number;
  #saidAtMs: number;
  /** The last number that the other side says it has got. */
  #acknowledged = 0;
  #isLagTold = false;
  /** Jobs of the session keep to its pace while it is connected. */
  #following: Disposable | undefined;
  /** Bytes of answers since the caller was last seen to read. */
  #answeredBytes = 0;
  /** What its requests have taken since others had their turn. */
  #busyMs = 0;
  #hasSaidGoodbye = false;
  /** Whether the other side did. */
  #hasPeerLeft = false;
  readonly #families = new Map<VendorFamily, ReturnType<VendorFamily["attach"]>>();
  /** Resolves when the log has stored that the session has no connection. */
  #detached: Promise<void> | undefined;
  readonly #closing = new AbortController();
  readonly #done = Promise.withResolvers<void>();

  constructor(parts: ConnectionParts, transport: Transport, onWelcome: () => void = () => {}) {
    this.#onWelcome = onWelcome;
    const nowMs = parts.options.clock.nowMs();
    this.#parts = parts;
    this.#options = parts.options;
    this.#transport = transport;
    this.#heardAtMs = nowMs;
    this.#saidAtMs = nowMs;
    this.#wire = startConnection(nowMs, printId("session", parts.newUlid()));
    transport.onFrame((frame) => this.#receive(frame));
    transport.onMalformed(() => void this.#step({ type: "frame", frame: undefined }));
    transport.onFault(this.#options.onFault);
    transport.onClose(() => this.#closed());
    void this.#awaitHello();
  }

  /** Resolves when it is down, and all that follows from that is kept. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  get hasRoom(): boolean {
    return this.#transport.hasRoom && this.#transport.queuedBytes <= limits.queuedBytesMax;
  }

  /** How long pieces of results may be here. */
  get chunk(): ChunkSize {
    const { chunk, lineChunk } = dialects[this.#session?.dialect ?? "spec"];
    return this.#transport.link.kind === "stdio" ? lineChunk : chunk;
  }

  drained(): Promise<void> {
    return this.#transport.drained();
  }

  lose(): void {
    void this.leave("lagged", 1013);
  }

  sayGoodbye(reason: string): void {
    if (!this.#session || this.#hasSaidGoodbye) return;
    this.#hasSaidGoodbye = true;
    this.#say("session.bye", printFarewell({ reason }));
  }

  /** Says goodbye and closes. The session can be resumed. */
  async leave(reason: string, code: number): Promise<void> {
    this.sayGoodbye(reason);
    await this.#transport.close(reason, code);
  }

  #receive(frame: Frame): Promise<void> | undefined {
    this.#heardAtMs = this.#options.clock.nowMs();
    const startedMs = performance.now();
    const waiting = this.#step({ type: "frame", frame });
    this.#busyMs += performance.now() - startedMs;
    return waiting ?? this.#session?.telling.room ?? this.#unread() ?? this.#takeTurns();
  }

  /**
   * Stops reading from a caller that does not read its answers, until it does. Unread events do not count: a caller
   * that is behind with them may still cancel their job.
   */
  #unread(): Promise<void> | undefined {
    if (this.#answeredBytes <= limits.unreadBytesMax && this.hasRoom) return undefined;
    this.#answeredBytes = 0;
    return this.#transport.drained();
  }

  #takeTurns(): Promise<void> | undefined {
    if (this.#busyMs < limits.turnMs) return undefined;
    this.#busyMs = 0;
    return new Promise((resolve) => setImmediate(resolve));
  }

  #step(input: Parameters<typeof stepConnection>[1]): Promise<void> | undefined {
    const { dialect } = this.#options;
    const { connection, effects } = stepConnection(this.#wire, input, {
      ...(dialect && { dialect }),
    });
    this.#wire = connection;
    let waiting: Promise<void> | undefined;
    for (const effect of effects) waiting = this.#carryOut(effect) ?? waiting;
    return waiting;
  }

  /** Only a hello is waited for. */
  #carryOut(effect: Effect): Promise<void> | undefined {
    switch (effect.type) {
      case "open":
        return this.#open(effect);
      case "handle":
        if (this.#session) this.#handle(this.#session, effect.envelope);
        return;
      case "vendor":
        if (effect.envelope.type !== answerType) this.#handleVendor(effect.envelope);
        else if (this.#session) this.#handle(this.#session, effect.envelope);
        return;
      case "pong": {
        const receivedAtMs = this.#options.clock.nowMs();
        this.#say("session.pong", printPong({ pingNonce: effect.nonce, receivedAtMs }));
        return;
      }
      case "refuse": {
        const { error, requestId, sessionId } = effect;
        const payload = printSessionError({ error, requestId });
        this.#inOrder(() => this.#say("session.error", payload, { sessionId }));
        return;
      }
      case "leave": {
        const { reply, reason } = effect;
        if (reply) this.#inOrder(() => this.#say("session.closed", printFarewell({ reason })));
        // Done now and not when the transport is closed, because a peer that says goodbye and reads nothing more
        // delays that.
        this.#hasPeerLeft = true;
        this.#detach();
        void this.#closeInTime();
        return;
      }
      case "close": {
        const { code, reason } = effect;
        this.#inOrder(() => void this.#transport.close(reason, code));
        return;
      }
    }
  }

  /** What somebody's hook throws is our fault, and the caller is told no more than that. */
  #handle(session: Attached, envelope: Envelope): void {
    try {
      handle(this.#options, session, envelope);
    } catch (fault) {
      this.#options.onFault(fault);
      const error = { code: "INTERNAL_ERROR", message: "this could not be carried out" } as const;
      const payload = printSessionError({ error, requestId: envelope.id });
      this.#inOrder(() => this.#say("session.error", payload));
    }
  }

  /** After the answers to what was asked before. */
  #inOrder(send: Send): void {
    if (this.#session) this.#session.telling.answer(send);
    else void send();
  }

  async #open({ envelope, hello, dialect }: Effect & { readonly type: "open" }): Promise<void> {
    const requestId = envelope.id;
    try {
      const principal = await this.#verify(hello.token);
      if (this.#transport.closed) return;
      await (hello.resume
        ? this.#resumeSession(hello, principal, dialect)
        : this.#openSession(hello, principal, dialect));
    } catch (fault) {
      if (!(fault instanceof ArcpError)) this.#options.onFault(fault);
      const error =
        fault instanceof ArcpError
          ? fault
          : new ArcpError("INTERNAL_ERROR", "the session could not be opened");
      void this.#step({ type: "rejected", error: error.toPayload(), requestId });
    }
  }

  /** One answer, whatever is wrong with the token (ARCP-47). */
  async #verify(token: string): Promise<string> {
    let known: { readonly principal: string } | undefined;
    try {
      known = await this.#options.verify(token);
    } catch {
      known = undefined;
    }
    if (!known) throw new ArcpError("UNAUTHENTICATED", "this token is not valid here");
    return known.principal;
  }

  async #openSession(hello: Hello, principal: string, dialect: Dialect): Promise<void> {
    const { plane, resumeWindowMs: windowMs = limits.resumeWindowMs } = this.#options;
    const sessionId = toSessionId(printId("session", this.#parts.newUlid()));
    const resumeToken = printResumeToken(randomBytes(32));
    const features = this.#effective(hello.capabilities?.features ?? []);
    const { refusal } = await plane.submit(
      {
        type: "session.open",
        sessionId,
        principal,
        tokenHash: hashOf(resumeToken),
        features,
        skips: skippedKinds(new Set(features)),
        windowMs,
        jobsMax: this.#options.jobsOfSessionMax ?? limits.jobsOfSessionMax,
        sessionsOfPrincipalMax: this.#options.sessionsOfPrincipalMax,
      },
      { actor: `principal/${principal}` },
      () => undefined,
    );
    if (refusal) throw toArcpError(refusal);
    this.#attach({ sessionId, principal, dialect, features, attachment: 1 }, resumeToken, 0);
  }

  /** Whatever is wrong with it, the answer is the same (ARCP-60). */
  async #resumeSession(hello: Hello, principal: string, dialect: Dialect): Promise<void> {
    const { plane } = this.#options;
    const { resume, capabilities } = hello;
    if (!resume) return;
    const sessionId = toSessionId(resume.sessionId);
    const resumeToken = printResumeToken(randomBytes(32));
    const features = capabilities && this.#effective(capabilities.features);
    const { value: session, refusal } = await plane.submit(
      {
        type: "session.resume",
        sessionId,
        principal,
        shownHash: hashOf(resume.resumeToken),
        tokenHash: hashOf(resumeToken),
        afterEventSequence: resume.lastEventSeq,
        jobsMax: this.#options.jobsOfSessionMax ?? limits.jobsOfSessionMax,
        ...(features && { features, skips: skippedKinds(new Set(features)) }),
      },
      { actor: `principal/${principal}` },
      ({ sessions }) => sessions.byId.get(sessionId),
    );
    if (refusal || !session) {
      throw new ArcpError("RESUME_WINDOW_EXPIRED", "this session cannot be resumed");
    }
    const { attachment } = session;
    this.#attach(
      { sessionId, principal, dialect, features: session.features, attachment },
      resumeToken,
      resume.lastEventSeq,
    );
  }

  #effective(offered: readonly string[]): readonly string[] {
    return intersectFeatures(offered, this.#options.features);
  }

  #attach(
    known: Pick<Attached, "sessionId" | "principal" | "dialect" | "attachment"> & {
      readonly features: readonly string[];
    },
    resumeToken: string,
    afterEventSequence: number,
  ): void {
    this.#onWelcome();
    const { plane, clock, runtime, name, onFault } = this.#options;
    const { heartbeatMs = limits.heartbeatMs, resumeWindowMs = limits.resumeWindowMs } =
      this.#options;
    const { sessionId } = known;
    const { audience, connections, newUlid } = this.#parts;
    void connections.get(sessionId)?.leave("superseded", 1000);
    const parts = { plane, audience, sessionId, outlet: this, afterEventSequence, onFault };
    const telling = new Telling(parts);
    const features = new Set(known.features);
    const takesCredentials = features.has("provisioned_credentials") && this.#isPrivate;
    this.#session = {
      ...known,
      features,
      takesCredentials,
      telling,
      printer: new Printer(this.#parts.printing, {
        ...known,
        takesChunks: features.has("result_chunk"),
        takesCredentials,
        messageBytesMax: this.#messageBytesMax(known.dialect),
      }),
      send: (type, payload, about) => this.#say(type, payload, about),
      acknowledge: (eventSequence) => this.#acknowledge(eventSequence),
      newJobId: () => toJobId(printId("job", newUlid())),
    };
    this.#acknowledged = afterEventSequence;
    connections.set(sessionId, this);
    this.#following = runtime.followers.add({ sessionId }, followerOf(telling, this.chunk));
    void this.#step({ type: "accepted", sessionId });
    const welcome = printWelcome({
      runtime: name,
      sessionId,
      acceptedAtMs: clock.nowMs(),
      resumeToken,
      resumeWindowSec: resumeWindowMs / 1_000,
      heartbeatIntervalSec: heartbeatMs / 1_000,
      features: known.features,
      agents: runtime.catalogue.list(),
      vendor: { ...this.#options.capabilities, [answerType]: {} },
    });
    this.#say("session.welcome", welcome);
    telling.start();
    if (features.has("heartbeat")) void this.#keepAlive(heartbeatMs);
  }

  #messageBytesMax(dialect: Dialect): number | undefined {
    const { messageBytesMax, lineBytesMax } = dialects[dialect];
    return this.#transport.link.kind === "stdio" ? lineBytesMax : messageBytesMax;
  }

  get #isPrivate(): boolean {
    return this.#transport.link.isPrivate || (this.#options.tellsCredentialsAnywhere ?? false);
  }

  #handleVendor(envelope: Envelope): void {
    const session = this.#session;
    if (!session) return;
    const { sessionId, principal, features } = session;
    const { type, payload } = envelope;
    const known: SessionContext = {
      sessionId,
      principal,
      negotiatedFeatures: [...features],
      hasFeature: (name) => features.has(name),
      canReturn: this.#transport.link.kind !== "stdio",
      send: (sent, words) => session.telling.answer(() => this.#say(sent, words)),
    };
    const family = this.#options.vendorFamilies?.find(({ prefix }) => type.startsWith(prefix));
    if (family) {
      const attached = this.#families.get(family) ?? family.attach(known);
      this.#families.set(family, attached);
      attached.receive(type, payload);
      return;
    }
    const handler = this.#options.vendorHandlers.get(type);
    if (handler) {
      Promise.try(handler, envelope, known).catch(this.#options.onFault);
      return;
    }
    for (const effect of unhandledVendor(envelope, sessionId)) void this.#carryOut(effect);
  }

  #closed(): void {
    this.#closing.abort();
    const session = this.#session;
    for (const family of this.#families.values()) family.detached();
    if (!session) {
      this.#done.resolve();
      return;
    }
    const { sessionId, telling } = session;
    telling.close();
    this.#following?.[Symbol.dispose]();
    if (this.#parts.connections.get(sessionId) === this) this.#parts.connections.delete(sessionId);
    this.#detach();
    this.#done.resolve(this.#detached);
  }

  /** Runs once: afterwards the session no longer belongs to this connection. */
  #detach(): void {
    const session = this.#session;
    if (!session || this.#detached !== undefined) return;
    const { sessionId, attachment, principal } = session;
    const saidBye = this.#hasPeerLeft;
    this.#detached = this.#options.plane
      .submit(
        { type: "session.detach", sessionId, attachment, saidBye },
        { actor: `principal/${principal}` },
        () => undefined,
      )
      .then(() => undefined, this.#options.onFault);
  }

  /** After a goodbye the session is kept only for a short time, whether the client reads its last answers or not. */
  async #closeInTime(): Promise<void> {
    const { clock } = this.#options;
    const closeAtMs = clock.nowMs() + limits.farewellMs;
    await clock.until(closeAtMs, this.#closing.signal).catch(() => undefined);
    if (!this.#closing.signal.aborted) void this.#transport.close();
  }

  async #awaitHello(): Promise<void> {
    const { clock } = this.#options;
    if (this.#wire.phase !== "awaiting") return;
    await clock.until(this.#wire.deadlineMs, this.#closing.signal).catch(() => undefined);
    if (!this.#closing.signal.aborted) void this.#step({ type: "time", nowMs: clock.nowMs() });
  }

  async #keepAlive(intervalMs: number): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#closing;
    let heartbeat: Heartbeat = startHeartbeat(clock.nowMs(), intervalMs);
    while (!signal.aborted) {
      await clock.until(heartbeat.lookAtMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      if (this.#heardAtMs > heartbeat.heardAtMs) heartbeat = heard(heartbeat, this.#heardAtMs);
      const nowMs = clock.nowMs();
      // The plane's time may be ahead of ours.
      const saidAtMs = Math.min(this.#saidAtMs, nowMs);
      if (saidAtMs > heartbeat.saidAtMs) heartbeat = said(heartbeat, saidAtMs);
      const looked = look(heartbeat, nowMs);
      heartbeat = looked.heartbeat;
      if (looked.verdict === "ping") this.#ping();
      if (looked.verdict !== "lost") continue;
      const error = { code: "HEARTBEAT_LOST", message: "nothing was heard for too long" } as const;
      this.#say("session.error", printSessionError({ error }));
      await this.#transport.close("heartbeat lost", 1001);
    }
  }

  #ping(): void {
    const nonce = printId("nonce", this.#parts.newUlid());
    this.#say("session.ping", printPing({ nonce, sentAtMs: this.#options.clock.nowMs() }));
  }

  #acknowledge(eventSequence: number): void {
    this.#acknowledged = Math.max(this.#acknowledged, eventSequence);
  }

  /** A frame without a number. */
  #say(
    type: string,
    payload: JsonObject,
    about: {
      readonly sessionId?: string;
      readonly jobId?: string;
      readonly traceId?: string | undefined;
    } = {},
  ): void {
    const id = printId("envelope", this.#parts.newUlid());
    const sessionId = this.#session?.sessionId;
    this.#saidAtMs = this.#options.clock.nowMs();
    const text = printFrame({ id, type, sessionId, ...about }, JSON.stringify(payload));
    this.#answeredBytes += text.length;
    this.#sendText(text);
  }

  #sendText(text: string): void {
    if (this.#transport.closed) return;
    // It closes by itself if the peer takes nothing.
    this.#transport.sendText(text).catch(() => undefined);
  }

  /** For the telling of this session. */
  tell(entry: Entry, eventSequence: number): Promise<void> | undefined {
    const text = this.#session?.printer.print(entry, eventSequence);
    if (text instanceof Promise) return text.then((found) => this.#sendNumbered(entry, found));
    this.#sendNumbered(entry, text);
    if (entry.event.type === "job.emitted") this.#minds(entry.event.jobId, eventSequence);
    return undefined;
  }

  #sendNumbered({ atMs }: Entry, text: string | undefined): void {
    if (text === undefined) return;
    // What is told live was decided just now; to look at the clock for each event takes longer than this.
    if (atMs > this.#saidAtMs) this.#saidAtMs = atMs;
    this.#sendText(text);
  }

  /** A job that another asked for is announced, because nobody here has (ARCP-176). */
  announce(job: Job): Send | undefined {
    if (!isDelegated(job)) return undefined;
    const { dialect = "spec", takesCredentials } = this.#session ?? {};
    const credentials = takesCredentials ? this.#options.runtime.credentialsOf(job.id) : [];
    const payload = printAccepted(encodeAccepted(job, { credentials }), dialect);
    return () => this.#say("job.accepted", payload, { jobId: job.id, traceId: traceIdOf(job) });
  }

  /** Tells the job once that its listener lags (ARCP-76). */
  #minds(jobId: JobId, eventSequence: number): void {
    const { backPressureEvents = limits.backPressureEvents, runtime } = this.#options;
    if (!this.#session?.features.has("ack")) return;
    const lag = eventSequence - this.#acknowledged;
    if (this.#isLagTold) {
      if (lag <= backPressureEvents / 2) this.#isLagTold = false;
      return;
    }
    if (lag <= backPressureEvents) return;
    this.#isLagTold = true;
    runtime.remark(jobId, "status", { phase: "back_pressure", message: `ack lag = ${lag}` });
  }
}

/** The pace is asked for with every event: a connection may be slow now, and keep up later. */
function followerOf(telling: Telling, chunk: ChunkSize): Follower {
  return {
    chunk,
    get pace() {
      return telling.pace;
    },
  };
}
