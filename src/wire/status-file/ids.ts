/** Ids of agents are names of files: `<agent_id>.json`. */
import { limits } from "./limits.ts";

const separators = /[/\\]/;
const controls = /[\u0000-\u001f\u007f]/;

/** What a writer may name a file: `.` and `..` too, because `.json` always follows. */
export function isSafeAgentId(id: string): boolean {
  return isLookupId(id) && !controls.test(id) && bytesOf(id) <= limits.agentIdBytesMax;
}

/** What a reader may look for. Whoever else wrote the file was perhaps less careful than we are. */
export function isLookupId(id: string): boolean {
  return id !== "" && !separators.test(id);
}

/** Only letters, digits, dot, underscore and dash; the prefix if nothing is left of it. */
export function sanitizeAgentId(text: string, prefix: string): string {
  const id = text
    .slice(0, limits.agentIdBytesMax)
    .replaceAll(/[^A-Za-z0-9._-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return id === "" ? prefix : id;
}

const encoder = new TextEncoder();

function bytesOf(text: string): number {
  return encoder.encode(text).length;
}
