/** What whoever opens the door decides. */
import type { Capabilities, Job } from "../../core/index.ts";
import type { Clock, Plane } from "../../plane/index.ts";
import type { Runtime } from "../../runtime/index.ts";
import type {
  DialectOption,
  Envelope,
  JsonObject,
  PeerName,
  RejectionOptions,
} from "../../wire/arcp/index.ts";

/** Who is behind a token; nothing if nobody is. May throw, which says the same. */
export type Verify = (
  token: string,
) =>
  | Promise<{ readonly principal: string } | undefined>
  | { readonly principal: string }
  | undefined;

/** How somebody wants to see a job that another principal asked for. */
export type Observation = "list" | "subscribe";

/** The session in which a vendor message was received, for its handler. */
export type SessionContext = {
  readonly sessionId: string;
  readonly principal: string;
  /** The features that both sides know, in the client's order. */
  readonly negotiatedFeatures: readonly string[];
  hasFeature(name: string): boolean;
  /** False if who is at the other end is gone when the connection is: a child on its pipes. */
  readonly canReturn: boolean;
  send(type: string, payload: JsonObject): void;
};

export type VendorHandler = (envelope: Envelope, session: SessionContext) => unknown;

/** Frames of one family of vendor types, all of one session: those between a runtime and its workers. */
export interface VendorFamily {
  readonly prefix: string;
  attach(session: SessionContext): {
    receive(type: string, payload: JsonObject): void;
    detached(): void;
  };
}

export type ArcpDoorOptions = RejectionOptions & {
  readonly plane: Plane;
  readonly runtime: Runtime;
  readonly clock: Clock;
  /** What the welcome says of us. */
  readonly name: PeerName;
  readonly verify: Verify;
  readonly features: readonly string[];
  /** What else the welcome advertises (ARCP-53). */
  readonly capabilities?: JsonObject | undefined;
  readonly heartbeatMs?: number | undefined;
  readonly resumeWindowMs?: number | undefined;
  readonly cancelGraceMs?: number | undefined;
  readonly backPressureEvents?: number | undefined;
  readonly dialect?: DialectOption | undefined;
  /** How many sessions a principal may have; as many as usual, if absent. */
  readonly sessionsOfPrincipalMax?: number | undefined;
  /** Unfinished jobs of one session; 100 by default (ARCP-88). */
  readonly jobsOfSessionMax?: number | undefined;
  /** Whether credentials are told over links that others may read (ARCP-38). Not, unless this is true. */
  readonly tellsCredentialsAnywhere?: boolean | undefined;
  /** What is left of a lease that was asked for: less, or all of it (ARCP-84). */
  readonly narrowLease?: ((lease: Capabilities, principal: string) => Capabilities) | undefined;
  /** Whether jobs of others are as good as none to who may not see them. */
  readonly hidesForeignJobs?: boolean | undefined;
  /** Whether a principal may cancel from one session what it asked for in another (ARCP-111: it may not). */
  readonly cancelsAcrossSessions?: boolean | undefined;
  /** By default, nobody sees what others asked for. */
  readonly mayObserve?:
    | ((principal: string, job: Job, observation: Observation) => boolean)
    | undefined;
  /** Told who wanted to see whose job, and whether they did (ARCP-143). */
  readonly audit?:
    | ((decision: {
        readonly principal: string;
        readonly jobId: string;
        readonly owner: string;
        readonly isAllowed: boolean;
      }) => void)
    | undefined;
  readonly vendorHandlers: ReadonlyMap<string, VendorHandler>;
  readonly vendorFamilies?: readonly VendorFamily[] | undefined;
  readonly onFault: (fault: unknown) => void;
};
