/** Where this package is: what hosts are told to run is in it. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const toRoot = import.meta.url.endsWith(".ts") ? "../.." : "..";

export function inPackage(...names: readonly string[]): string {
  return join(fileURLToPath(new URL(toRoot, import.meta.url)), ...names);
}
