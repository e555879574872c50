/**
 * Listening in several places at once: on both loopback addresses, or on a Unix socket as well. Each
 * place needs a server of its own, so the caller says how one is made.
 */
import { once } from "node:events";
import { lstatSync, rmSync } from "node:fs";
import { connect, type Server } from "node:net";

/** `host:port`, port 0 for any free one; or the path of a Unix socket. */
export type Place =
  | {
      readonly host: string;
      readonly port: number;
      readonly isOptional?: boolean;
      /** Where to listen instead on a machine that does not have this address. */
      readonly ifAbsent?: string;
    }
  | { readonly path: string };

export class ListenError extends Error {
  override readonly name = "ListenError";
  /** `address_in_use` or `cannot_listen`. */
  readonly code: "address_in_use" | "cannot_listen";
  readonly place: Place;

  constructor(
    code: ListenError["code"],
    message: string,
    { place, ...options }: ErrorOptions & { readonly place: Place },
  ) {
    super(message, options);
    this.code = code;
    this.place = place;
  }
}

export type Listening = {
  readonly servers: readonly Server[];
  /** Where it really listens, in the order asked for. */
  readonly places: readonly Place[];
};

/**
 * Listens in all places or in none. Places after the first take the first one's port where theirs is 0.
 * A place that is optional (::1 where there is no IPv6) is left out if the machine does not have it.
 */
export async function listen(
  makeServer: () => Server,
  places: readonly Place[],
): Promise<Listening> {
  const servers: Server[] = [];
  const bound: Place[] = [];
  let freePort = 0;
  try {
    for (const place of places) {
      const server = makeServer();
      let wanted = "path" in place ? place : { ...place, port: place.port || freePort };
      let failure = await bind(server, wanted);
      if (failure && isAbsent(failure) && "host" in wanted && wanted.ifAbsent !== undefined) {
        wanted = { host: wanted.ifAbsent, port: wanted.port };
        failure = await bind(server, wanted);
      }
      const isOptional = "host" in place && place.isOptional === true;
      if (failure && isOptional && isAbsent(failure)) continue;
      if (failure) throw explain(wanted, failure);
      const address = server.address();
      const port = address !== null && typeof address === "object" ? address.port : 0;
      freePort ||= port;
      servers.push(server);
      bound.push("path" in wanted ? wanted : { host: wanted.host, port });
    }
  } catch (error) {
    for (const server of servers) server.close();
    throw error;
  }
  return { servers, places: bound };
}

async function bind(server: Server, place: Place): Promise<NodeJS.ErrnoException | undefined> {
  try {
    const listening = once(server, "listening");
    server.listen("path" in place ? { path: place.path } : { host: place.host, port: place.port });
    await listening;
    // From here on an error of the listener concerns one connection, not the process.
    server.on("error", () => {});
    return undefined;
  } catch (cause) {
    const failure = cause as NodeJS.ErrnoException;
    if (failure.code !== "EADDRINUSE" || !("path" in place)) return failure;
    // A process that was killed leaves its socket behind; one that answers is alive.
    if (!(await isAbandoned(place.path))) return failure;
    rmSync(place.path);
    return bind(server, place);
  }
}

/** Whether the path is a socket that nobody listens on. */
async function isAbandoned(path: string): Promise<boolean> {
  const probe = connect(path);
  try {
    await once(probe, "connect");
    return false;
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "ECONNREFUSED" && lstatSync(path).isSocket();
  } finally {
    probe.destroy();
  }
}

function isAbsent(failure: NodeJS.ErrnoException): boolean {
  return failure.code === "EADDRNOTAVAIL" || failure.code === "EAFNOSUPPORT";
}

function explain(place: Place, cause: NodeJS.ErrnoException): ListenError {
  const name = printPlace(place);
  if (cause.code === "EADDRINUSE") {
    return new ListenError("address_in_use", `${name} is in use`, { cause, place });
  }
  return new ListenError("cannot_listen", `cannot listen on ${name}: ${cause.message}`, {
    cause,
    place,
  });
}

export function printPlace(place: Place): string {
  if ("path" in place) return `unix:${place.path}`;
  const host = place.host.includes(":") ? `[${place.host}]` : place.host;
  return `${host}:${place.port}`;
}
