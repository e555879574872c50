/** `arcp serve`: a runtime of its own, on a WebSocket or on this process's input and output. */
import { Console } from "node:console";
import { resolve } from "node:path";
import { ARCPServer, fromProcess } from "../../arcp-server.ts";
import { print, say } from "../../terminal/index.ts";
import { printPlace } from "../../transport/index.ts";
import { exits } from "../exits.ts";
import { mistake } from "../failure.ts";
import { offerAgents } from "../offered-agents.ts";
import type { Values } from "../table.ts";
import { choiceIn, numberIn, textIn, textsIn } from "../values.ts";
import { version } from "../version.ts";
import { tokenFrom } from "./connecting.ts";
import { ending } from "./ending.ts";

export function serve(values: Values): Promise<number> {
  return ending("serve", async () => {
    const transport = choiceIn(values, "transport", ["ws", "stdio"]) ?? "ws";
    // Frames and nothing else go to standard output: also what agents print must not.
    if (transport === "stdio") globalThis.console = new Console(process.stderr);
    const stopping = stopSignal();
    await using server = await openServer(values);
    await offerAgents(server, textIn(values, "agents"));
    if (transport === "stdio") {
      const { done } = server.accept(fromProcess(process));
      say("arcp serve listening on stdio\n");
      await Promise.race([done, stopping]);
      return exits.ok;
    }
    const { host, port, path } = placeIn(values);
    const allowedHosts = textsIn(values, "allowed-host");
    const places = [{ host, port }];
    const listening = await server.listen({ places, path, ...(allowedHosts && { allowedHosts }) });
    const [place = { host, port }] = listening.places;
    const url = `ws://${printPlace(place)}${path}`;
    print(`arcp serve: listening on ${url}\n`);
    // Scripts that start the Python one wait for this.
    say(`arcp serve listening on ${url}\n`);
    await stopping;
    return exits.ok;
  });
}

function openServer(values: Values): Promise<ARCPServer> {
  const directory = textIn(values, "db");
  return ARCPServer.open({
    runtime: { name: "arcp-cli", version },
    bearer: { [tokenFrom(values)]: textIn(values, "principal") || "cli-user" },
    cancelAcrossSessions: true,
    ...(directory !== undefined && { dataDirectory: resolve(directory) }),
    ...secondsIn(values, "heartbeat", "heartbeatSec"),
    ...secondsIn(values, "resume-window", "resumeWindowSec"),
    onFault: (fault) => say(`arcp serve: ${fault instanceof Error ? fault.message : fault}\n`),
  });
}

function secondsIn<const Name extends string>(
  values: Values,
  flag: string,
  name: Name,
): { readonly [Key in Name]?: number } {
  const seconds = numberIn(values, flag);
  if (seconds === undefined) return {};
  if (seconds < 1) throw mistake(`--${flag} is a number of seconds, 1 or more`);
  return { [name]: seconds } as { [Key in Name]: number };
}

function placeIn(values: Values): {
  readonly host: string;
  readonly port: number;
  readonly path: string;
} {
  const port = numberIn(values, "port") ?? 7_777;
  if (port < 0 || port > 65_535) throw mistake("--port is a number up to 65535; 0 takes any");
  const path = textIn(values, "path") ?? "/arcp";
  if (!/^\/[\x21-\x7e]*$/.test(path)) throw mistake("--path begins with a slash, such as /arcp");
  return { host: textIn(values, "host") || "127.0.0.1", port, path };
}

/** The second one does not wait for jobs to unwind. */
function stopSignal(): Promise<void> {
  return new Promise((stop) => {
    let isFirst = true;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => {
        if (!isFirst) process.exit(exits.no);
        isFirst = false;
        stop();
      });
    }
  });
}
