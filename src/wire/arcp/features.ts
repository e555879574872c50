/** What two sides agree to use. */

export const features = [
  "heartbeat",
  "ack",
  "list_jobs",
  "subscribe",
  "lease_expires_at",
  "cost.budget",
  "progress",
  "result_chunk",
  "agent_versions",
  "model.use",
  "provisioned_credentials",
] as const;

export type Feature = (typeof features)[number];

/**
 * What both know, in the client's order, once each (ARCP-49). Names that we do not know take part like any
 * other (ARCP-50).
 */
export function intersectFeatures(
  offered: readonly string[],
  supported: readonly string[],
): readonly string[] {
  const known = new Set(supported);
  return [...new Set(offered)].filter((name) => known.has(name));
}

const kindFeatures: ReadonlyMap<string, Feature> = new Map<string, Feature>([
  ["progress", "progress"],
  ["result_chunk", "result_chunk"],
]);

/** Whether events of this kind are not for a session with these features (ARCP-54). */
export function skipsKind(effective: { has(name: string): boolean }, kind: string): boolean {
  const feature = kindFeatures.get(kind);
  return feature !== undefined && !effective.has(feature);
}

export function skippedKinds(effective: { has(name: string): boolean }): readonly string[] {
  return [...kindFeatures.keys()].filter((kind) => skipsKind(effective, kind));
}
