/**
 * Which agents there are to run, in which versions, and which one a name means. Several workers may offer the
 * same; it is there as long as one of them does.
 */
import { type Refused, refuse } from "../core/index.ts";

export type Offer = {
  readonly name: string;
  /** Absent: the agent has none. */
  readonly version?: string;
  /** Whether a job may be run again when its worker was lost in the middle of it. */
  readonly isRepeatable: boolean;
  /** Whether its jobs may ask people for more access than they have; false if absent. */
  readonly mayRequestScope?: boolean;
};

/** What a reference means: the agent by its full name. */
export type Resolved =
  | { readonly agent: string; readonly isRepeatable: boolean; readonly refusal?: never }
  | Refused;

export type Listed = {
  readonly name: string;
  readonly versions: readonly string[];
  readonly default?: string;
};

type Versions = {
  /** By version; the empty one is that of an agent without. In the order in which they came. One for each worker. */
  readonly offers: Map<string, Set<Offer>>;
  default?: string;
};

export class Catalogue {
  readonly #agents = new Map<string, Versions>();
  #size = 0;

  /** Agents that are there, each version counted. */
  get size(): number {
    return this.#size;
  }

  /** Until what it answers is disposed. Throws if no reference could mean it: see `problemOf`. */
  add(offer: Offer): Disposable {
    const problem = problemOf(offer);
    if (problem !== undefined) throw new Error(problem);
    const { name, version = "" } = offer;
    const versions = this.#agents.get(name) ?? { offers: new Map() };
    this.#agents.set(name, versions);
    const own = { ...offer };
    const offers = versions.offers.get(version) ?? new Set();
    if (offers.size === 0) this.#size += 1;
    versions.offers.set(version, offers.add(own));
    return { [Symbol.dispose]: () => this.#remove(own) };
  }

  /** What a name without a version means from now on, be it there yet or not. */
  setDefault(name: string, version: string): void {
    const versions = this.#agents.get(name) ?? { offers: new Map() };
    this.#agents.set(name, { ...versions, default: version });
  }

  resolve(reference: string): Resolved {
    const at = reference.indexOf("@");
    const name = at < 0 ? reference : reference.slice(0, at);
    const wanted = at < 0 ? undefined : reference.slice(at + 1);
    if (!namePattern.test(name) || (wanted !== undefined && !versionPattern.test(wanted))) {
      const message = "an agent is asked for as name or name@version";
      return refuse("invalid_argument", message, { path: "agent" });
    }
    const versions = this.#agents.get(name);
    if (!versions || versions.offers.size === 0) {
      return refuse("skill_not_found", `nobody offers the agent ${name}`);
    }
    const version = wanted ?? versions.default ?? usual(versions);
    const offers = [...(versions.offers.get(version) ?? [])];
    const [found] = offers;
    if (!found) {
      return refuse("skill_version_not_found", `nobody offers ${name} in version ${version}`);
    }
    // Whoever gets the job may be lost: it is run again only if all of them can bear that.
    const isRepeatable = offers.every((offer) => offer.isRepeatable);
    return { agent: fullName(found), isRepeatable };
  }

  list(): readonly Listed[] {
    return [...this.#agents].flatMap(([name, versions]) => {
      const named = [...versions.offers.keys()].filter((version) => version !== "");
      const { default: usual } = versions;
      if (versions.offers.size === 0) return [];
      return { name, versions: named, ...(usual !== undefined && { default: usual }) };
    });
  }

  #remove(own: Offer): void {
    const { name, version = "" } = own;
    const versions = this.#agents.get(name);
    const offers = versions?.offers.get(version);
    if (!versions || !offers?.delete(own)) return;
    if (offers.size === 0) {
      versions.offers.delete(version);
      this.#size -= 1;
    }
    if (versions.offers.size === 0 && versions.default === undefined) this.#agents.delete(name);
  }
}

const namePattern = /^[a-z0-9][a-z0-9._-]*$/;
const versionPattern = /^[a-zA-Z0-9.+_-]+$/;

/** Why no reference could mean it, if so. */
export function problemOf({ name, version }: Pick<Offer, "name" | "version">): string | undefined {
  if (!namePattern.test(name)) return `${JSON.stringify(name)} is no name of an agent`;
  if (version === undefined || versionPattern.test(version)) return undefined;
  return `${JSON.stringify(version)} is no version of an agent`;
}

export function fullName({ name, version }: Pick<Offer, "name" | "version">): string {
  return version === undefined ? name : `${name}@${version}`;
}

/** The one without a version; failing that the highest, or the last that came where versions are no numbers. */
function usual({ offers }: Versions): string {
  if (offers.has("")) return "";
  const versions = [...offers.keys()];
  const numbered = versions.filter((version) => semantic.test(version));
  return numbered.length > 0 ? numbered.reduce(higher) : (versions.at(-1) ?? "");
}

const semantic = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;

function higher(one: string, other: string): string {
  return compareSemantic(one, other) >= 0 ? one : other;
}

/** As semantic versioning orders them: a pre-release comes before what it is a pre-release of. */
function compareSemantic(one: string, other: string): number {
  const [, ...left] = semantic.exec(one) ?? [];
  const [, ...right] = semantic.exec(other) ?? [];
  for (const part of [0, 1, 2]) {
    const difference = Number(left[part]) - Number(right[part]);
    if (difference !== 0) return difference;
  }
  return comparePreReleases(left[3], right[3]);
}

function comparePreReleases(one: string | undefined, other: string | undefined): number {
  if (one === undefined || other === undefined) {
    return Number(one === undefined) - Number(other === undefined);
  }
  const [left, right] = [one.split("."), other.split(".")];
  for (const [at, part] of left.entries()) {
    const against = right[at];
    if (against === undefined) return 1;
    if (part === against) continue;
    const areNumbers = [/^\d+$/.test(part), /^\d+$/.test(against)];
    if (areNumbers[0] && areNumbers[1]) return Number(part) - Number(against);
    if (areNumbers[0] !== areNumbers[1]) return areNumbers[0] ? -1 : 1;
    return part < against ? -1 : 1;
  }
  return left.length - right.length;
}
