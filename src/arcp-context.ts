/**
 * The context of an agent in ARCP's words, for `tipstaff/runtime` and for workers in other processes: ARCP's names for
 * what the job may do, ARCP's rules for what it emits, and errors with ARCP's codes, in both directions.
 */
import {
  codedError,
  type Delegated,
  type DelegateOptions as NeutralDelegateOptions,
  ResultStream,
  RunContext,
  type RunContextOptions,
  type Handler as RunHandler,
  type ToolError,
  WorkError,
} from "./runtime/index.ts";
import {
  ArcpError,
  checkBody,
  isArcpError,
  isObject,
  withArcpCode,
  withOwnCode,
} from "./wire/arcp/index.ts";

/** Resolves with the result. Throws an `ARCPError` to fail with a code of its own. */
export type Handler = RunHandler<JobContext>;

type Capabilities = RunContext["grant"]["capabilities"];

export type DelegateOptions = Omit<NeutralDelegateOptions, "capabilities" | "expiresAt"> & {
  readonly leaseRequest?: Capabilities;
  readonly leaseConstraints?: { readonly expires_at?: string };
};

export class JobContext extends RunContext {
  constructor(options: RunContextOptions) {
    super(options);
    // Every method, also those that are added later: none may let an error through that ARCP does not know.
    // biome-ignore lint/correctness/noConstructorReturn: callers must get the translating object, not this one.
    return speakingArcp(this);
  }

  get lease(): Capabilities {
    return this.grant.capabilities;
  }

  get leaseConstraints(): { readonly expires_at?: string } {
    const { expiresAt } = this.grant;
    return expiresAt === undefined ? {} : { expires_at: expiresAt };
  }

  /** Stored as it is: the door has nothing to translate. */
  artifactRef(artifact: {
    readonly uri: string;
    readonly content_type: string;
    readonly byte_size?: number;
    readonly sha256?: string;
  }): Promise<void> {
    return this.emitEvent("artifact_ref", artifact);
  }

  /** Only kinds and bodies of the protocol (ARCP-121). */
  override async emitEvent(kind: string, body: unknown): Promise<void> {
    requireBody(kind, body);
    await super.emitEvent(kind, body);
  }

  override async toolResult(
    result:
      | { readonly call_id: string; readonly result: unknown }
      | { readonly call_id: string; readonly error: ToolError },
  ): Promise<void> {
    requireBody("tool_result", result);
    await super.toolResult(result);
  }

  override delegate(options: DelegateOptions | NeutralDelegateOptions): Promise<Delegated> {
    if (!("leaseRequest" in options || "leaseConstraints" in options)) {
      return super.delegate(options);
    }
    const { leaseRequest: capabilities, leaseConstraints, ...rest } = options;
    const expiresAt = leaseConstraints?.expires_at;
    return super.delegate({
      ...rest,
      ...(capabilities && { capabilities }),
      ...(expiresAt !== undefined && { expiresAt }),
    });
  }

  /** An agent fails with a code of its own by throwing an `ARCPError`; one of ours that comes back is still ours. */
  override understand(error: unknown): unknown {
    if (!isArcpError(error)) return super.understand(error);
    const { code, message, retryable, details, cause } = error;
    if (cause instanceof WorkError) return cause;
    const own = withOwnCode({ code, message, retryable, ...(details && { details }) });
    return codedError(own.code, message, { ...own, cause: error });
  }
}

function requireBody(kind: string, body: unknown): void {
  const problem = checkBody(kind, body);
  if (!problem) return;
  const { path, message } = problem;
  throw new ArcpError("INVALID_REQUEST", message, { details: { path } });
}

const faces = new WeakMap<object, object>();

/** The same object, whose methods, and those of the objects they answer with, throw and reject with ARCP's errors. */
function speakingArcp<Target extends object>(target: Target): Target {
  const members = new Map<PropertyKey, unknown>();
  const face = new Proxy(target, {
    get(_, name) {
      const known = members.get(name);
      if (known !== undefined) return known;
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value === "function" && name !== "constructor") {
        const method = (...given: unknown[]): unknown =>
          translated(() => Reflect.apply(value, target, given));
        members.set(name, method);
        return method;
      }
      if (!(value instanceof Promise)) return value;
      const told = value.catch(fail);
      // Nobody need wait for it.
      told.catch(() => undefined);
      members.set(name, told);
      return told;
    },
  });
  faces.set(target, face);
  return face;
}

function translated(call: () => unknown): unknown {
  try {
    const answer = call();
    return answer instanceof Promise ? answer.then(faceOf, fail) : faceOf(answer);
  } catch (error) {
    return fail(error);
  }
}

/**
 * Objects whose methods can fail later: a reservation, a child job, the stream of a result. Answers of people cannot.
 */
function faceOf(answer: unknown): unknown {
  if (!isObject(answer)) return answer;
  const canFail =
    answer instanceof ResultStream ||
    typeof answer["settle"] === "function" ||
    answer["done"] instanceof Promise;
  return canFail ? (faces.get(answer) ?? speakingArcp(answer)) : answer;
}

function fail(error: unknown): never {
  throw toArcpError(error);
}

function toArcpError(error: unknown): unknown {
  if (!(error instanceof WorkError)) return error;
  const { toldCode, message, retryable, details, cause } = error;
  // The agent's own, which we only looked at.
  if (isArcpError(cause)) return cause;
  const told = withArcpCode({ code: toldCode, message, retryable, ...(details && { details }) });
  return new ArcpError(told.code, message, { ...told, cause: error });
}
