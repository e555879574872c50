/** A client for one command: where the runtime is, and with which token, by flags or by the environment. */
import { ARCPClient, isARCPError, TransportError } from "../../client/arcp/index.ts";
import { printable } from "../../terminal/index.ts";
import { mistake } from "../failure.ts";
import type { Values } from "../table.ts";
import { textIn } from "../values.ts";
import { version } from "../version.ts";

/** `--token`, or `ARCP_TOKEN`. */
export function tokenFrom(values: Values): string {
  const token = textIn(values, "token") || process.env["ARCP_TOKEN"];
  if (!token) throw mistake("a token is needed: --token, or ARCP_TOKEN");
  return token;
}

/** A flag that there is no doing without. */
export function requiredIn(values: Values, name: string): string {
  const text = textIn(values, name);
  if (!text) throw mistake(`--${name} is needed`);
  return text;
}

/** `--url`, or `ARCP_URL`. */
export function connectFrom(values: Values): Promise<ARCPClient> {
  const url = textIn(values, "url") || process.env["ARCP_URL"];
  if (!url)
    throw mistake("an address is needed: --url, or ARCP_URL, such as ws://127.0.0.1:7777/arcp");
  return connect(url, tokenFrom(values));
}

/** Rejects with a `TransportError` if nobody answers there as a runtime does. */
export async function connect(url: string, token: string): Promise<ARCPClient> {
  const { protocol } = URL.parse(url) ?? {};
  if (protocol !== "ws:" && protocol !== "wss:") {
    throw mistake(`${printable(url)} is no address of a runtime; write ws://host:port/arcp`);
  }
  try {
    const client = { name: "arcp-cli", version };
    return await ARCPClient.connect(url, { token, client });
  } catch (error) {
    throw atConnecting(error, url);
  }
}

/** Before the welcome, whatever went wrong is of the connection. */
function atConnecting(error: unknown, url: string): unknown {
  if (isARCPError(error)) {
    if (error.code === "UNAUTHENTICATED") return error;
    return new TransportError("cannot_connect", `${url}: ${error.code} ${error.message}`);
  }
  if (error instanceof TransportError) {
    const { message } = error;
    const told = message.includes(url) ? message : `${url}: ${message}`;
    return new TransportError("cannot_connect", told, { cause: error });
  }
  return error;
}
