/**
 * The agents that `tipstaff up` and `arcp serve` have: those of a module that was named, and `echo`, which says back
 * what it is told.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { AgentOptions, ARCPServer, Handler } from "../arcp-server.ts";
import { printable } from "../terminal/index.ts";
import { no } from "./failure.ts";

/**
 * A module has `export default (server) => …`, which registers what it likes, or `export const agents = { name:
 * handler }`, where a handler may also be `{ handler, ...options }` with the options of `registerAgent`. Rejects with a
 * `Failure`.
 */
export async function offerAgents(server: ARCPServer, path: string | undefined): Promise<void> {
  if (path !== undefined) await registerModule(server, path);
  if (!server.agents.some(({ name }) => name === "echo")) server.registerAgent("echo", echo);
}

const echo: Handler = async (input, context) => {
  await context.log("info", "echo started");
  return { echoed: input };
};

async function registerModule(server: ARCPServer, path: string): Promise<void> {
  const { default: whole, agents } = await importModule(path);
  const before = server.agents.length;
  try {
    if (typeof whole === "function") await whole(server);
    for (const listed of [whole, agents]) {
      if (!isRecord(listed)) continue;
      for (const [name, entry] of Object.entries(listed)) register(server, name, entry);
    }
  } catch (cause) {
    throw no(`the agents in ${printable(path)} cannot be registered: ${reasonOf(cause)}`);
  }
  if (server.agents.length > before) return;
  throw no(
    `${printable(path)} registers no agent`,
    "write export default (server) => { server.registerAgent(…) }, or export const agents = { name: handler }",
  );
}

function register(server: ARCPServer, name: string, entry: unknown): void {
  if (isHandler(entry)) {
    server.registerAgent(name, entry);
    return;
  }
  const { handler, ...options } = isRecord(entry) ? entry : {};
  if (!isHandler(handler)) throw new Error(`${name} is no handler, and has none`);
  server.registerAgent(name, handler, options as AgentOptions);
}

async function importModule(path: string): Promise<Readonly<Record<string, unknown>>> {
  const file = resolve(path);
  if (!existsSync(file)) throw no(`there is no file ${printable(path)} to take agents from`);
  try {
    return await import(pathToFileURL(file).href);
  } catch (cause) {
    throw no(`${printable(path)} cannot be loaded: ${reasonOf(cause)}`);
  }
}

function isHandler(value: unknown): value is Handler {
  return typeof value === "function";
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function reasonOf(cause: unknown): string {
  return printable(cause instanceof Error ? cause.message : String(cause));
}
