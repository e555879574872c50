/**
 * The declarations of what the package exports: the compiler's, of those files alone that an exported one
 * names, with the endings that published files have.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** `entries` are files below `src/`; the declarations lie in `directory` as their sources do in `src/`. */
export async function writeDeclarations(
  entries: readonly string[],
  directory: string,
): Promise<void> {
  await mkdir("node_modules/.cache", { recursive: true });
  const whole = mkdtempSync("node_modules/.cache/declarations-");
  try {
    execFileSync("node_modules/.bin/tsc", ["-p", "tools/declarations.json", "--outDir", whole], {
      stdio: "inherit",
    });
    for (const path of reachable(entries, whole)) {
      const target = join(directory, path);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(
        target,
        declarationOf(path, whole).replaceAll(/(["'])(\.[^"']*)\.ts\1/g, '"$2.js"'),
      );
    }
  } finally {
    rmSync(whole, { recursive: true });
  }
}

function reachable(entries: readonly string[], whole: string): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (path: string): void => {
    if (found.has(path)) return;
    found.add(path);
    for (const [, named = ""] of declarationOf(path, whole).matchAll(/["'](\.[^"']*\.ts)["']/g)) {
      visit(declared(join(dirname(path), named)));
    }
  };
  for (const entry of entries) visit(declared(entry));
  return found;
}

function declared(source: string): string {
  return source.replace(/\.ts$/, ".d.ts");
}

function declarationOf(path: string, whole: string): string {
  return readFileSync(join(whole, path), "utf8");
}
