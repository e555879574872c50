/** One record as it is: agent-status, section 8.3. */
import { readStatusFile, statusPath } from "../status-files/index.ts";
import { print } from "../terminal/index.ts";
import { isLookupId, printRecord } from "../wire/status-file/index.ts";
import { Failure } from "./failure.ts";
import type { Given } from "./parse.ts";
import { directoryOf, readOptions } from "./surroundings.ts";

export function get(given: Given): number {
  const [agentId = ""] = given.words;
  if (!isLookupId(agentId)) throw new Failure("agent_id must be non-empty and filename-safe");
  const path = statusPath(directoryOf(given), agentId);
  const { record, problem } = readStatusFile(path, readOptions());
  if (record) {
    print(printRecord(record));
    return 0;
  }
  const isMissing = problem.errors.some((error) => missing.includes(error));
  throw new Failure(`${isMissing ? "not found" : "invalid status file"}: ${path}`);
}

const missing: readonly string[] = ["ENOENT", "dangling symlink"];
