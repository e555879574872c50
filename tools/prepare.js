/**
 * npm runs this after an installation in a checkout. It builds, unless the development dependencies are missing: hosts
 * that install a plugin from git run `npm install --omit=dev`, and need only the programs in `plugins/`, which are
 * committed.
 */
import { existsSync } from "node:fs";

if (existsSync("node_modules/esbuild")) await import("./build.ts");
