/** Which requests are for us at all: by name, by origin, by how often they come (ARCP 1.1 §14). */

/** Host of a `Host` header in lower case, without its port; brackets of an IPv6 address stay. */
export function parseHostHeader(header: string | undefined): string | undefined {
  const [, host] =
    /^(\[[0-9a-f:.%]+\]|[^:[\]\s]+)(?::\d*)?$/.exec(header?.toLowerCase() ?? "") ?? [];
  return host;
}

export type Refusal = { readonly status: number; readonly message: string };

export type Guard = {
  /** Names by which this server may be called. If absent, every name is right. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Origins of pages that may connect. Requests without an origin come from no page, and pass. */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** The same by the name of the host that a page is from, whatever its port. */
  readonly allowedOriginHosts?: readonly string[] | undefined;
};

/** For upgrades and for ordinary requests alike. */
export function refusalOf(
  headers: { readonly host?: string | undefined; readonly origin?: string | undefined },
  { allowedHosts, allowedOrigins, allowedOriginHosts }: Guard,
): Refusal | undefined {
  if (allowedHosts) {
    const host = parseHostHeader(headers.host);
    if (host === undefined) return { status: 400, message: "the Host header is missing or wrong" };
    if (!isIn(allowedHosts, host)) return { status: 403, message: "this host is not allowed" };
  }
  const { origin } = headers;
  if (origin === undefined) return undefined;
  const refused = { status: 403, message: "this origin is not allowed" };
  if (allowedOrigins && !isIn(allowedOrigins, origin)) return refused;
  const host = URL.parse(origin)?.hostname ?? "";
  return allowedOriginHosts && !isIn(allowedOriginHosts, host) ? refused : undefined;
}

function isIn(allowed: readonly string[], name: string): boolean {
  const wanted = name.toLowerCase();
  return allowed.some((one) => one.toLowerCase() === wanted);
}
