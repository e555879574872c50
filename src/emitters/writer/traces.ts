/** Evidence that is on the disk: what a host says of itself, and what it wrote down. */
import { statSync } from "node:fs";
import {
  type Evidence,
  readSelfReport,
  readTranscript,
  type Session,
  selfReportPath,
} from "../../wire/host-events/index.ts";
import { readPart, readWhole } from "./files.ts";
import { limits } from "./limits.ts";

/** Reads only what is new. What is old is told from what is new by its time, so reading twice does no harm. */
export class Traces {
  #seen: string | undefined;
  #report: Evidence | undefined;
  #offset = 0;

  /** Undefined if there is no such file; then the transcript is all there is. */
  readReport(session: Session, transcriptPath: string): Evidence | undefined {
    const { host, pid, sessionId } = session;
    if (host !== "claude-code" || pid === undefined) return undefined;
    const path = selfReportPath(transcriptPath, pid);
    const stats = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false });
    if (path === undefined || !stats) return undefined;
    const seen = `${sessionId} ${stats.mtimeMs} ${stats.size}`;
    if (seen !== this.#seen) {
      const text = readWhole(path, limits.reportBytesMax)?.toString() ?? "";
      this.#report = readSelfReport(text, sessionId);
      // Half of it was old: it will be looked at again.
      this.#seen = this.#report ? seen : undefined;
    }
    return this.#report;
  }

  readTranscript({ host }: Session, path: string): Evidence | undefined {
    const { size } = statSync(path, { throwIfNoEntry: false }) ?? { size: 0 };
    // Shorter than it was: it was written anew.
    if (size < this.#offset) this.#offset = 0;
    const from = Math.max(this.#offset, size - limits.transcriptBytesMax);
    if (size === from) return undefined;
    const { bytes } = readPart(path, from, limits.transcriptBytesMax) ?? {};
    const end = bytes?.lastIndexOf("\n") ?? -1;
    if (!bytes || end < 0) return undefined;
    this.#offset = from + end + 1;
    return readTranscript(host, bytes.toString("utf8", 0, end).split("\n"));
  }
}
