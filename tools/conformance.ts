/** Writes `docs/conformance/arcp.md` from the list of requirements. A test of that list checks that it is so. */
import { writeFileSync } from "node:fs";
import { printPage } from "../test/conformance/arcp-page.ts";

writeFileSync("docs/conformance/arcp.md", printPage());
