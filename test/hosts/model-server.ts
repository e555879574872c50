/**
 * A model whose next words are the test's. It listens on loopback and speaks three dialects. A host's
 * request waits, as for a model that thinks, until the test says what the answer is.
 *
 * It is also the hosts' proxy for everything that is not on loopback: it lets nobody through, and
 * remembers who wanted to.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { within } from "../e2e/processes.ts";
import {
  anthropicMessages,
  type Dialect,
  openaiChat,
  openaiResponses,
  type Reply,
} from "./dialects.ts";

const dialects = [anthropicMessages, openaiResponses, openaiChat];
const bodyBytesMax = 2 ** 24;

/** A host may have to start first. */
const turnPatienceMs = 60_000;

/** One request of a host for what the model says next. */
export class Turn {
  /** Monotonic: when the whole request was here. */
  readonly askedAtMs: number = performance.now();
  /** The names of the tools that the host offers. */
  readonly tools: readonly string[];
  readonly text: string;
  /** Resolves when nobody waits for the answer any more. */
  readonly closed: Promise<void>;
  readonly #response: ServerResponse;
  readonly #dialect: Dialect;
  readonly #isStreamed: boolean;

  constructor(request: Asked, dialect: Dialect, response: ServerResponse) {
    this.tools = request.tools;
    this.text = request.text;
    this.#isStreamed = request.isStreamed;
    this.#dialect = dialect;
    this.#response = response;
    this.closed = new Promise((resolve) => {
      response.once("close", resolve);
    });
  }

  /** Whether the host has hung up. */
  get isClosed(): boolean {
    return this.#response.closed;
  }

  answer(reply: Reply): void {
    const response = this.#response;
    if (this.#isStreamed) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(this.#dialect.stream(reply));
    } else {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(this.#dialect.whole(reply)));
    }
  }

  /** As a provider that has had enough of this key. */
  refuse(status: number, body: string): void {
    this.#response.writeHead(status, { "content-type": "application/json" });
    this.#response.end(body);
  }
}

type Asked = {
  readonly tools: readonly string[];
  readonly text: string;
  readonly isStreamed: boolean;
};

export class ModelServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #waiting: Turn[] = [];
  #wanted: ((turn: Turn) => void) | undefined;
  /** What else was asked, as `POST /v1/messages/count_tokens`. */
  readonly aside: string[] = [];
  /** Who wanted out, as `example.com:443`. */
  readonly turnedAway: string[] = [];

  static async start(): Promise<ModelServer> {
    const model = new ModelServer();
    model.#server.listen(0, "127.0.0.1");
    await once(model.#server, "listening");
    return model;
  }

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((cause: unknown) => response.destroy(asError(cause)));
    });
    this.#server.on("connect", (request, socket) => {
      this.turnedAway.push(request.url ?? "");
      // Whoever is turned away may hang up first.
      socket.on("error", () => {});
      socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    });
  }

  get url(): string {
    const address = this.#server.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    return `http://127.0.0.1:${port}`;
  }

  /** The next request for what to say in the conversation. Side talk, such as titles, is not among them. */
  async turn(): Promise<Turn> {
    for (let turn = this.#waiting.shift(); turn; turn = this.#waiting.shift()) {
      // Somebody was interrupted right after asking.
      if (!turn.isClosed) return turn;
    }
    const coming = new Promise<Turn>((resolve) => {
      this.#wanted = resolve;
    });
    return await within(turnPatienceMs, coming, "the host to ask the model");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? "";
    if (!url.startsWith("/")) {
      this.turnedAway.push(url);
      response.writeHead(403).end();
      return;
    }
    const path = url.split("?", 1)[0] ?? "";
    const dialect = dialects.find((candidate) => path === candidate.path);
    const asked = read(await bodyOf(request));
    if (dialect && request.method === "POST" && asked.tools.length > 0) {
      this.#offer(new Turn(asked, dialect, response));
      return;
    }
    this.aside.push(`${request.method} ${url}`);
    if (dialect && request.method === "POST") {
      new Turn(asked, dialect, response).answer({ say: "A scripted title" });
    } else if (path.endsWith("/count_tokens")) {
      json(response, 200, { input_tokens: 10 });
    } else if (path.endsWith("/models")) {
      json(response, 200, { object: "list", data: [{ id: "scripted", object: "model" }] });
    } else if (request.method === "HEAD") {
      response.writeHead(200).end();
    } else {
      json(response, 404, { error: { type: "not_found_error", message: "no such endpoint" } });
    }
  }

  #offer(turn: Turn): void {
    const wanted = this.#wanted;
    this.#wanted = undefined;
    if (wanted) wanted(turn);
    else this.#waiting.push(turn);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) {
    text += chunk;
    if (text.length > bodyBytesMax) throw new Error("a request without end");
  }
  return text;
}

function read(text: string): Asked {
  const body: unknown = text === "" ? {} : JSON.parse(text);
  const { tools, stream } = isObject(body) ? body : {};
  const names = (Array.isArray(tools) ? tools : []).map((tool: unknown) => nameOf(tool));
  return { tools: names, text, isStreamed: stream === true };
}

/** The dialects differ in where a tool has its name. */
function nameOf(tool: unknown): string {
  if (!isObject(tool)) return "";
  const { name, function: called, type } = tool;
  if (typeof name === "string") return name;
  if (isObject(called) && typeof called["name"] === "string") return called["name"];
  return String(type);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function asError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(String(cause));
}
