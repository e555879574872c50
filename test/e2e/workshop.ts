/** A daemon in this process whose agents are functions of the test. */
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { sessionId } from "../../src/core/index.ts";
import type { Handler } from "../../src/runtime/in-process.ts";
import { Runtime } from "../../src/runtime/runtime.ts";
import { type Daemon, serve } from "../../src/serve.ts";
import { openSession } from "../../src/testing/commands.ts";

export class Workshop implements AsyncDisposable {
  readonly url: string;
  /** Lets one browser see and act. */
  readonly link: string;
  readonly #daemon: Daemon;
  readonly #runtime: Runtime;

  static async open(): Promise<Workshop> {
    const onFault = (fault: unknown): never => {
      throw fault;
    };
    const daemon = await serve({
      version: "0.0.0",
      grpc: [{ host: "127.0.0.1", port: 0 }],
      http: [{ host: "127.0.0.1", port: 0 }],
      isHttpOptional: false,
      isAnyHostAllowed: false,
      token: randomBytes(16).toString("hex"),
      warn: (message) => assert.fail(message),
      onFault,
    });
    const newId = (kind: string): string => `${kind}_${randomUUID().replaceAll("-", "")}`;
    const runtime = await Runtime.open({ plane: daemon.plane, newId, onFault });
    await daemon.plane.submit(openSession("ann"), { actor: "test" }, () => undefined);
    return new Workshop(daemon, runtime);
  }

  private constructor(daemon: Daemon, runtime: Runtime) {
    const [place] = daemon.http;
    assert(place && "port" in place);
    this.url = `http://127.0.0.1:${place.port}`;
    this.link = this.url + daemon.makeLink();
    this.#daemon = daemon;
    this.#runtime = runtime;
  }

  agent(name: string, handler: Handler): void {
    this.#runtime.registerAgent(name, handler);
  }

  /** The id of the job. */
  async ask(
    agent: string,
    {
      input = null,
      capabilities = {},
    }: { readonly input?: unknown; readonly capabilities?: object } = {},
  ): Promise<string> {
    const { value, refusal } = await this.#runtime.submit({
      agent,
      input: JSON.stringify(input),
      capabilities,
      sessionId: sessionId("sess_ann"),
      principal: "ann",
      requestId: randomUUID(),
      traceId: randomBytes(16).toString("hex"),
    });
    if (refusal) assert.fail(refusal.message);
    return value.job.id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#runtime[Symbol.asyncDispose]();
    await this.#daemon[Symbol.asyncDispose]();
  }
}
