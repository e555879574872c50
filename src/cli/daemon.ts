/** Asks the daemon, over HTTP: through the socket in its data directory, or at an address. */
import { type RequestOptions, request } from "node:http";
import { socketIn } from "../transport/index.ts";
import { parseAddress } from "./address.ts";
import { dataDirectoryFrom } from "./paths.ts";
import { defaults, type Values } from "./table.ts";

const patienceMs = 5_000;
/** Ours has a few hundred rows of each kind. */
const answerBytesMax = 50_000_000;

/**
 * What is at `path`, as JSON. An address or a directory that was given is the only one asked; else the
 * usual ones, in turn. Rejects if none answers.
 */
export async function askDaemon(path: string, values: Values): Promise<unknown> {
  const { http, "data-dir": directory } = values;
  const socket = { socketPath: socketIn(dataDirectoryFrom(values)), path };
  if (typeof http === "string") return await ask({ ...targetOf(http), path });
  if (directory !== undefined) return await ask(socket);
  try {
    return await ask(socket);
  } catch {
    return await ask({ ...targetOf(defaults.http), path });
  }
}

function targetOf(text: string): RequestOptions {
  const address = parseAddress(text);
  if (!address) throw new Error(`${text} is no address; write host:port or unix:/path`);
  if ("path" in address) return { socketPath: address.path };
  return { host: address.host || "localhost", port: address.port };
}

function ask(options: RequestOptions): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(patienceMs);
    const asking = request({ ...options, signal }, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > answerBytesMax) response.destroy(new Error("its answer is too long"));
        chunks.push(chunk);
      });
      response.on("error", reject);
      response.on("end", () => {
        const body = Buffer.concat(chunks).toString();
        if (response.statusCode !== 200)
          return reject(new Error(`it answered ${response.statusCode}`));
        try {
          resolve(JSON.parse(body));
        } catch {
          reject(new Error("it answered something that is not JSON: is another program there?"));
        }
      });
    });
    asking.on("error", reject);
    asking.end();
  });
}
