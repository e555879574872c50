/** All agents, once: agent-status, section 8.2. */
import { print } from "../terminal/index.ts";
import { listingOf, printDocument } from "./json.ts";
import { listDirectory } from "./listing.ts";
import type { Given } from "./parse.ts";
import { printListing } from "./rows.ts";
import { directoryOf, nowMs, staleAfterMsOf, styleOf } from "./surroundings.ts";
import { sayWarnings } from "./warnings.ts";

export function list(given: Given): number {
  const moment = { nowMs: nowMs(), staleAfterMs: staleAfterMsOf(given) };
  const listing = listDirectory(directoryOf(given), moment, given);
  sayWarnings(listing.warnings);
  if (given.toggle("json")) {
    printDocument(listingOf(listing));
    return 0;
  }
  for (const piece of printListing(listing, styleOf(given))) if (!print(piece)) break;
  return 0;
}
