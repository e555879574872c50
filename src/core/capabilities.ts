/**
 * What a job may do: for each capability, patterns of the targets it may do it to (ARCP 1.1 contract, 9.1 and
 * 9.2). Patterns are held against one way of writing a target, its canonical form: `/w/../etc` is `/etc`.
 */
import { isLoopback, isPublicAddress } from "./addresses.ts";
import { type Refused, refuse } from "./decision.ts";
import { compileGlob, findUncovered, type Glob, matches } from "./glob.ts";
import { limits } from "./limits.ts";

/** As they were asked for. An empty list allows nothing. */
export type Capabilities = Readonly<Record<string, readonly string[]>>;

const names: ReadonlySet<string> = new Set([
  "fs.read",
  "fs.write",
  "net.fetch",
  "tool.call",
  "agent.delegate",
  "cost.budget",
  "model.use",
]);

export function isCapabilityName(name: string): boolean {
  if (name.length > limits.capabilityNameLengthMax) return false;
  return names.has(name) || /^x-vendor(?:\.[a-z0-9_-]+){2,}$/.test(name);
}

/** Refuses with `invalid_argument`. What is in `cost.budget` is not looked at here. */
export function readCapabilities(
  asked: unknown,
): { readonly capabilities: Capabilities; readonly refusal?: never } | Refused {
  if (typeof asked !== "object" || asked === null || Array.isArray(asked)) {
    return malformed("", "capabilities are an object with a list of patterns for each");
  }
  const entries: readonly (readonly [string, unknown])[] = Object.entries(asked);
  if (entries.length > limits.capabilitiesMax) {
    return malformed("", `at most ${limits.capabilitiesMax} capabilities can be asked for`);
  }
  const capabilities: Record<string, readonly string[]> = {};
  const total = { patterns: 0, characters: 0 };
  for (const [name, list] of entries) {
    if (!isCapabilityName(name)) {
      return malformed(
        name,
        `"${shorten(name)}" is no capability; those of yours are x-vendor.<vendor>.<name>`,
      );
    }
    if (!Array.isArray(list)) return malformed(name, `${name} is not a list of patterns`);
    const patterns: string[] = [];
    for (const [at, pattern] of list.entries()) {
      const path = `${name}[${at}]`;
      const problem = findProblem(name, pattern);
      if (problem !== undefined) return malformed(path, `${path} ${problem}`);
      patterns.push(pattern);
      total.characters += pattern.length;
      if (++total.patterns > limits.patternsMax) {
        return malformed(path, `at most ${limits.patternsMax} patterns can be asked for`);
      }
      if (total.characters > limits.patternCharactersMax) {
        return malformed(
          path,
          `all patterns together have at most ${limits.patternCharactersMax} characters`,
        );
      }
    }
    capabilities[name] = patterns;
  }
  return { capabilities };
}

export function malformed(path: string, message: string): Refused {
  return refuse("invalid_argument", message, { path });
}

function findProblem(name: string, pattern: unknown): string | undefined {
  if (typeof pattern !== "string") return "is not a text";
  if (pattern === "") return "is empty";
  if (pattern.length > limits.patternLengthMax) {
    return `is longer than ${limits.patternLengthMax} characters`;
  }
  // It would match nothing here, but whoever else reads the grant might follow it.
  if (isPath(name) && pattern.includes("\0")) return "has a NUL";
  if (normalise(name, pattern) === undefined)
    return "has a '..', which no target has that is compared";
  return undefined;
}

/** What to do, and to what. */
export type Operation = {
  readonly capability: string;
  readonly target: string;
};

export type Surroundings = {
  /** An absolute path: relative targets are in it. Without one they are compared as they are. */
  readonly workingDirectory?: string;
};

/** The target as it was compared: use this one, not what was asked for. Refuses with `permission_denied`. */
export function permit(
  capabilities: Capabilities,
  { capability, target }: Operation,
  surroundings: Surroundings = {},
): { readonly target: string; readonly refusal?: never } | Refused {
  const globs = globsOf(capabilities, capability);
  if (globs.length > 0) {
    const canonical = canonicalTarget(capability, target, surroundings);
    if (canonical.problem !== undefined) {
      return refuse(
        "permission_denied",
        `${capability}: "${shorten(target)}" ${canonical.problem}`,
      );
    }
    for (const glob of globs) {
      if (canonical.names.some((name) => matches(glob, name))) return { target: canonical.target };
    }
  }
  const message = `this job may not do that: ${capability} of "${shorten(target)}"`;
  return refuse("permission_denied", message);
}

/**
 * Whether a pattern of `net.fetch` names an address literally that this URL has as its host, and allows the URL; for an
 * address of this machine, `localhost` will do. Patterns match host names, and a name may lead anywhere: to an address that
 * is not public a job may connect only if its grant says so in these words.
 */
export function namesAddress(capabilities: Capabilities, target: string): boolean {
  const url = URL.parse(target);
  if (!url) return false;
  return addressesNamed(url).some((named) => {
    const { hostname, href } = named;
    return globsOf(capabilities, "net.fetch").some(
      (glob) => hostIn(glob.text) === hostname && matches(glob, href),
    );
  });
}

function addressesNamed(url: URL): readonly URL[] {
  if (!isLoopback(url.hostname)) return [url];
  const local = new URL(url);
  local.hostname = "localhost";
  return [url, local];
}

/** The host that a pattern is about, if that is one and not several: its port may have a star. */
function hostIn(pattern: string): string | undefined {
  const [, host = ""] = /^[^/]+:\/\/([^/?#\\@]*)(?:[/?#\\]|$)/.exec(pattern) ?? [];
  const name = host.replace(/:[0-9*]*$/, "");
  return name === "" || name.includes("*") ? undefined : name;
}

/** What others wrote may be long. */
export function shorten(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

export type Canonical =
  | {
      readonly target: string;
      /** It is allowed by a pattern that matches any of these. */
      readonly names: readonly string[];
      readonly problem?: never;
    }
  /** Why no pattern can allow it. */
  | { readonly problem: string };

export function canonicalTarget(
  capability: string,
  target: string,
  { workingDirectory }: Surroundings = {},
): Canonical {
  if (target.length > limits.targetLengthMax) {
    return { problem: `is longer than ${limits.targetLengthMax} characters` };
  }
  if (isPath(capability)) return canonicalPath(target, workingDirectory);
  if (capability === "net.fetch") return canonicalUrl(target);
  if (capability === "agent.delegate") {
    const at = target.indexOf("@");
    return { target, names: at < 0 ? [target] : [target, target.slice(0, at)] };
  }
  return { target, names: [target] };
}

function isPath(capability: string): boolean {
  return capability === "fs.read" || capability === "fs.write";
}

function canonicalPath(path: string, workingDirectory: string | undefined): Canonical {
  if (path === "") return { problem: "is empty" };
  if (path.includes("\0")) return { problem: "has a NUL" };
  const isOwn = path.startsWith("/") || workingDirectory === undefined;
  const whole = isOwn ? path : `${workingDirectory}/${path}`;
  const isAbsolute = whole.startsWith("/");
  const parts: string[] = [];
  for (const part of whole.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined && !isAbsolute)
      return { problem: "leads out of where it starts" };
  }
  const target = isAbsolute ? `/${parts.join("/")}` : parts.join("/") || ".";
  return { target, names: [target] };
}

/**
 * What is left of `..` after the URL was read: behind a slash that was encoded, in front of a parameter, or in a
 * URL whose path is opaque. Some servers follow it all the same.
 */
const climbing = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){2}(?:[/\\;]|%2f|%5c|%3b|$)/i;

function canonicalUrl(target: string): Canonical {
  const url = URL.parse(target);
  if (!url) return { problem: "is not an absolute URL" };
  if (url.username !== "" || url.password !== "") return { problem: "has user info" };
  if (climbing.test(url.pathname)) return { problem: "has a '..' that is not resolved" };
  // Schemes that the standard does not know get no slash here, and the query would read as part of the host.
  if (url.host !== "" && url.pathname === "" && url.search !== "") {
    return { problem: "has a query and no path" };
  }
  url.hash = "";
  return { target: url.href, names: [url.href] };
}

/** A pattern in the way of canonical targets. Nothing if it has a `..`: what that means stars cannot tell. */
function normalise(capability: string, pattern: string): string | undefined {
  if (isPath(capability)) return normalisePath(pattern);
  if (capability === "net.fetch") return normaliseUrl(pattern);
  return pattern;
}

function normalisePath(pattern: string): string | undefined {
  const parts = pattern.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) return undefined;
  if (parts.length === 0) return pattern.startsWith("/") ? "/" : ".";
  // No canonical path ends with a slash. Behind a star it stays, and nothing matches: to drop it would allow
  // files to who asked for directories.
  const end = pattern.endsWith("*/") ? "/" : "";
  return (pattern.startsWith("/") ? "/" : "") + parts.join("/") + end;
}

/**
 * Scheme and host as in a canonical URL, without the default port; a host with a star stays as it is, also its
 * port: `https://*` allows more ports than `https://*:443`. With user info it matches nothing, and it must not
 * lose that here.
 */
function normaliseUrl(pattern: string): string | undefined {
  const [, scheme, host = "", rest = ""] =
    /^([a-z][a-z0-9+.-]*):\/\/([^/?#\\]*)(.*)$/is.exec(pattern) ?? [];
  if (climbing.test((rest || pattern).split("?", 1)[0] ?? "")) return undefined;
  if (scheme === undefined) return pattern;
  const lower = `${scheme.toLowerCase()}://`;
  const url = /[*@]/.test(host) ? null : URL.parse(`${lower}${host}`);
  if (!url) return lower + host + rest;
  // Those that have a path in any case begin it with a slash.
  const missing = rest.startsWith("/") ? "" : url.pathname;
  return lower + url.host + missing + rest;
}

type Globs = ReadonlyMap<string, readonly Glob[]>;

/** Patterns are compiled when they are first needed, and stay so as long as the grant is there. */
const compiled = new WeakMap<Capabilities, Globs>();

function globsOf(capabilities: Capabilities, capability: string): readonly Glob[] {
  const known = compiled.get(capabilities);
  if (known) return known.get(capability) ?? [];
  compiled.set(capabilities, compileAll(capabilities));
  return globsOf(capabilities, capability);
}

function compileAll(capabilities: Capabilities): Globs {
  const globs = new Map<string, readonly Glob[]>();
  for (const [name, patterns] of Object.entries(capabilities)) {
    if (name === "cost.budget") continue;
    const normal = patterns.map((pattern) => normalise(name, pattern));
    globs.set(name, normal.filter((pattern) => pattern !== undefined).map(compileGlob));
  }
  return globs;
}

export type Wider = {
  /** Which pattern of the child. */
  readonly path: string;
  /** What it would allow and the parent's do not, where that could be found. */
  readonly example?: string;
};

/** Nothing if all that the child allows is allowed by the parent. Budgets are not looked at here. */
export function findWider(parent: Capabilities, child: Capabilities): Wider | undefined {
  const effort = { stepsLeft: limits.coverStepsMax };
  for (const [name, patterns] of Object.entries(child)) {
    if (name === "cost.budget") continue;
    const parents = name === "agent.delegate" ? withVersions(parent) : globsOf(parent, name);
    for (const [at, pattern] of patterns.entries()) {
      const normal = normalise(name, pattern);
      const covers = name === "net.fetch" ? coversOf(parents, normal) : parents;
      const uncovered =
        normal === undefined ? {} : findUncovered(covers, compileGlob(normal), effort);
      if (uncovered) return { path: `${name}[${at}]`, ...uncovered };
    }
  }
  return undefined;
}

/**
 * A parent whose patterns have stars where the child names an address may not connect there itself, unless the address is
 * public (`namesAddress`): only patterns with the same host count.
 */
function coversOf(parents: readonly Glob[], pattern: string | undefined): readonly Glob[] {
  const host = pattern === undefined ? undefined : hostIn(pattern);
  if (host === undefined || (host !== "localhost" && isPublicAddress(host) !== false))
    return parents;
  return parents.filter(({ text }) => hostIn(text) === host);
}

/** Whoever may delegate to an agent may delegate to each version of it. */
function withVersions(capabilities: Capabilities): readonly Glob[] {
  const globs = globsOf(capabilities, "agent.delegate");
  return [...globs, ...globs.map(({ text }) => compileGlob(`${text}@**`))];
}
