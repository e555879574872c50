/**
 * Pieces of an emitter by the names that the reference's packages export them under (agent-status, section
 * 9.5), so that whoever leans on those can lean on ours.
 */
import { basename, dirname, join, resolve } from "node:path";
import { type Env, replaceFile, statusDirectory, temporaryName } from "../status-files/index.ts";
import {
  type Json,
  printJson,
  type StatusRecord,
  sanitizeAgentId,
} from "../wire/status-file/index.ts";

export function getStatusDir(env: Env, home?: string): string {
  return resolve(statusDirectory({ env, home }));
}

/** `<id, made safe>.json`; the prefix if nothing of the id is. */
export function statusPathFor(prefix: string): (id: string, env: Env, home?: string) => string {
  return (id, env, home) => join(getStatusDir(env, home), `${sanitizeAgentId(id, prefix)}.json`);
}

export function buildTempPath(path: string): string {
  return join(dirname(path), temporaryName(basename(path, ".json")));
}

/** Whatever the value is. An emitter judges its record before. */
export function writeStatusFile(path: string, value: Json | StatusRecord): void {
  const bytes = new TextEncoder().encode(printJson(value));
  replaceFile(dirname(path), basename(path, ".json"), bytes);
}
