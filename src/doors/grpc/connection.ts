/** What the door keeps for each HTTP/2 connection: a process, not a client and not an agent. */
import { FirstCalls } from "./first-calls.ts";
import { KnownTerms } from "./known-terms.ts";

export class Connection {
  readonly firstCalls: FirstCalls = new FirstCalls();
  readonly knownTerms: KnownTerms = new KnownTerms();
}
