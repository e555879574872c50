/** Addresses as people type them, and where to listen for them. */
import { isIPv4 } from "node:net";
import type { Place } from "../transport/index.ts";

export type Address = { readonly host: string; readonly port: number } | { readonly path: string };

/** `host:port`, `:port`, `[v6]:port` or `unix:/path`. Undefined if it is none of these. */
export function parseAddress(text: string): Address | undefined {
  if (text.startsWith("unix:")) {
    const path = text.slice("unix:".length);
    return path.startsWith("/") ? { path } : undefined;
  }
  const [, bracketed, plain = "", digits = ""] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === "" || port > 65_535) return undefined;
  return { host: bracketed ?? plain, port };
}

export type Places =
  | {
      readonly places: readonly Place[];
      /** Asked for more than this machine, and not given it. */
      readonly isNarrowed: boolean;
      readonly refusal?: never;
    }
  | { readonly refusal: string };

const wildcards = new Set(["", "0.0.0.0", "::"]);

/**
 * Where to listen. Nobody is authenticated yet, so a wildcard means this machine, and an address of
 * another network is refused, unless exposing it was asked for.
 */
export function placesFor(
  address: Address,
  { isInsecure }: { readonly isInsecure: boolean },
): Places {
  if ("path" in address) return { places: [address], isNarrowed: false };
  const { host, port } = address;
  if (wildcards.has(host)) {
    if (!isInsecure) return { places: loopback(port), isNarrowed: true };
    const everywhere = { host: "::", port, ifAbsent: "0.0.0.0" };
    return { places: [host === "" ? everywhere : { host, port }], isNarrowed: false };
  }
  if (host === "localhost") return { places: loopback(port), isNarrowed: false };
  if (isInsecure || isLoopback(host)) return { places: [{ host, port }], isNarrowed: false };
  return {
    refusal: `${host} can be reached from other machines, and there are no credentials: add --insecure if that is meant`,
  };
}

function loopback(port: number): readonly Place[] {
  return [
    { host: "127.0.0.1", port },
    { host: "::1", port, isOptional: true },
  ];
}

function isLoopback(host: string): boolean {
  return host === "::1" || (isIPv4(host) && host.startsWith("127."));
}
