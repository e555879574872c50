/** A plane in this process with clients of its own, each with the clock that it is given. */
import type { TestContext } from "node:test";
import { type Client, type ConnectOptions, connect } from "../../src/client/index.ts";
import { type Daemon, serve } from "../../src/serve.ts";

export interface PlaneUnderTest extends AsyncDisposable {
  readonly daemon: Daemon;
  /** How many requests whose paths end so have no answer yet: who waits in line is among them. */
  unanswered(ending: string): number;
  /** How many have. */
  answered(ending: string): number;
  connect(options?: ConnectOptions): Promise<Client>;
}

const token = "t".repeat(43);

export async function openPlane(context: TestContext): Promise<PlaneUnderTest> {
  const daemon = await serve({
    version: "test",
    token,
    grpc: [],
    http: [],
    isHttpOptional: true,
    isAnyHostAllowed: false,
    warn: (message) => context.diagnostic(message),
    onFault: (fault) => {
      throw fault;
    },
  });
  const asked: string[] = [];
  const told: string[] = [];
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const { pathname } = new URL(url);
    asked.push(pathname);
    try {
      return await daemon.fetch(new Request(url, init));
    } finally {
      told.push(pathname);
    }
  };
  const count = (paths: readonly string[], ending: string): number =>
    paths.filter((path) => path.endsWith(ending)).length;
  return {
    daemon,
    unanswered: (ending) => count(asked, ending) - count(told, ending),
    answered: (ending) => count(told, ending),
    connect: (options) => connect({ url: "http://localhost", token, fetch, ...options }),
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  };
}

/** Two clocks that run, and can be moved ahead: the wall's alone, as after a suspend, or both. */
export class MovableClock {
  #monotonicMs = 0;
  #wallMs = 0;

  monotonicMs(): number {
    return performance.now() + this.#monotonicMs;
  }

  wallMs(): number {
    return Date.now() + this.#wallMs;
  }

  sleep(ms: number): void {
    this.#wallMs += ms;
  }

  pass(ms: number): void {
    this.#wallMs += ms;
    this.#monotonicMs += ms;
  }
}

/** Lets what was asked for reach its place, which takes no time but some turns. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
}
