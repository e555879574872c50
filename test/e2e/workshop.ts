/** A daemon in this process whose agents are functions of the test. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { ARCPClient } from "../../src/client/arcp/index.ts";
import type { AgentOptions, Handler } from "../../src/runtime/index.ts";
import { type Daemon, serve } from "../../src/serve.ts";
import { pairMemoryTransports } from "../../src/transport/index.ts";

export class Workshop implements AsyncDisposable {
  readonly url: string;
  /** Lets one browser see and act. */
  readonly link: string;
  /** Where ARCP clients connect, and the token that they need. */
  readonly arcp: { readonly url: string; readonly token: string };
  readonly #daemon: Daemon;
  readonly #client: ARCPClient;

  static async open(): Promise<Workshop> {
    const token = randomBytes(16).toString("hex");
    const daemon = await serve({
      version: "0.0.0",
      grpc: [{ host: "127.0.0.1", port: 0 }],
      http: [{ host: "127.0.0.1", port: 0 }],
      arcp: { places: [{ host: "127.0.0.1", port: 0 }], isOptional: false },
      isHttpOptional: false,
      isAnyHostAllowed: false,
      token,
      warn: (message) => assert.fail(message),
      onFault: (fault) => {
        throw fault;
      },
    });
    const [here, there] = pairMemoryTransports();
    daemon.work.accept(there);
    return new Workshop(daemon, token, await ARCPClient.connect(here, { token }));
  }

  private constructor(daemon: Daemon, token: string, client: ARCPClient) {
    const [http, arcp] = [daemon.http[0], daemon.arcp[0]];
    assert(http && "port" in http && arcp && "port" in arcp);
    this.url = `http://127.0.0.1:${http.port}`;
    this.arcp = { url: `ws://127.0.0.1:${arcp.port}/arcp`, token };
    this.link = this.url + daemon.makeLink();
    this.#daemon = daemon;
    this.#client = client;
  }

  /** Until what it answers is disposed. */
  agent(name: string, handler: Handler, options: AgentOptions = {}): Disposable {
    return this.#daemon.work.registerAgent(name, handler, options);
  }

  /** The id of the job. */
  async ask(
    agent: string,
    {
      input = null,
      lease = {},
    }: { readonly input?: unknown; readonly lease?: Readonly<Record<string, string[]>> } = {},
  ): Promise<string> {
    const job = await this.#client.submit({ agent, input, lease });
    return job.jobId;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
    await this.#daemon[Symbol.asyncDispose]();
  }
}
