/**
 * Which addresses are on the public internet, by IANA's special-purpose registries. All others belong to this machine
 * or its network, or to nobody. Somebody may have made a host name resolve to such an address on purpose.
 */

/** Of a host as it is in a canonical URL, IPv6 in brackets or not. Undefined if the host is a name. */
export function isPublicAddress(host: string): boolean | undefined {
  const bytes = readIPv4(host);
  if (bytes) return isPublicIPv4(bytes);
  const groups = readIPv6(host.replace(/^\[(.*)\]$/, "$1"));
  return groups && isPublicIPv6(groups);
}

export function isLoopback(host: string): boolean {
  return /^127\./.test(host) || /^\[?::1\]?$/.test(host);
}

type Bytes = readonly [number, number, number, number];

function readIPv4(text: string): Bytes | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number);
  const [a = 256, b = 256, c = 256, d = 256] = parts ?? [];
  return Math.max(a, b, c, d) < 256 ? [a, b, c, d] : undefined;
}

function isPublicIPv4([a, b, c]: Bytes): boolean {
  // This network, private and loopback; multicast, and everything above it, which is reserved.
  if (a === 0 || a === 10 || a === 127 || a >= 224) return false;
  if (a === 100 && b >= 64 && b < 128) return false; // shared by the customers of a provider
  if (a === 169 && b === 254) return false; // link-local, where clouds keep their metadata
  if (a === 172 && b >= 16 && b < 32) return false; // private
  if (a === 192 && b === 168) return false; // private
  if (a === 192 && b === 0 && (c === 0 || c === 2)) return false; // protocols, documentation
  if (a === 192 && b === 88 && c === 99) return false; // relays to IPv6
  if (a === 198 && (b === 18 || b === 19)) return false; // benchmarks
  if (a === 198 && b === 51 && c === 100) return false; // documentation
  return !(a === 203 && b === 0 && c === 113); // documentation
}

/** Eight numbers of 16 bits. Nothing for a zone (`fe80::1%eth0`): no URL can name it. */
function readIPv6(text: string): readonly number[] | undefined {
  const url = /^[0-9a-f:.]+$/i.test(text) ? URL.parse(`http://[${text}]/`) : null;
  if (!url) return undefined;
  const [before = "", after = ""] = url.hostname.slice(1, -1).split("::");
  const left = groupsOf(before);
  const right = groupsOf(after);
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right];
}

function groupsOf(text: string): readonly number[] {
  return text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
}

function isPublicIPv6(groups: readonly number[]): boolean {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  // NAT64: in a network without IPv4, this prefix precedes the real address.
  if (a === 0x64 && b === 0xff9b && c + d + e + f === 0) {
    return isPublicIPv4([g >> 8, g & 255, h >> 8, h & 255]);
  }
  // All that is in use is in 2000::/3; loopback, mapped IPv4, private and link-local addresses and multicast are not.
  if (a >> 13 !== 1) return false;
  if (a === 0x2001 && b < 0x200) return false; // protocols: Teredo, ORCHID, benchmarks
  if (a === 0x2001 && b === 0xdb8) return false; // documentation
  if (a === 0x2002) return false; // 6to4, which may hold any address of IPv4
  return !(a === 0x3fff && b < 0x1000); // documentation
}
