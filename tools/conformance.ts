/**
 * Writes `docs/conformance/arcp.md` from the list of requirements; with `--check`, says whether that would change it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { printPage } from "../test/conformance/arcp-page.ts";

const path = "docs/conformance/arcp.md";
const page = printPage();

if (!process.argv.includes("--check")) {
  writeFileSync(path, page);
} else if (readFileSync(path, "utf8") !== page) {
  console.error(`${path} is not what its list says; run node tools/conformance.ts`);
  process.exitCode = 1;
}
