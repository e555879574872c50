/**
 * The file of one session. Writing waits for the disk, the writer does not: at most one write is under way,
 * and what comes meanwhile replaces what waits. Whatever the disk says, nobody is disturbed (AS-27); the next
 * heartbeat tries again.
 */
import { join } from "node:path";
import {
  isTemporaryName,
  removeStatusFile,
  writeStatusFileInBackground,
} from "../../doors/status-files/index.ts";
import type { StatusRecord } from "../../wire/status-file/index.ts";
import { namesIn, removeFile } from "./files.ts";

export class SessionFile {
  readonly #directory: string;
  readonly #agentId: string;
  /** What is to be written, or that nothing is to be there. */
  #next: StatusRecord | "nothing" | undefined;
  #isWriting = false;
  #written: Promise<void> = Promise.resolve();

  constructor(directory: string, agentId: string) {
    this.#directory = directory;
    this.#agentId = agentId;
  }

  /** Takes away what a writer left of it that died in the middle of writing. */
  sweep(): void {
    for (const name of namesIn(this.#directory)) {
      const isOurs = name.startsWith(`.${this.#agentId}.json.`) && isTemporaryName(name);
      if (isOurs) removeFile(join(this.#directory, name));
    }
  }

  publish(record: StatusRecord): void {
    this.#want(record);
  }

  /** At once, if nothing is being written; until something is published again. */
  remove(): void {
    this.#want("nothing");
  }

  /** What was published is written, or cannot be. */
  async flush(): Promise<void> {
    await this.#written;
  }

  #want(next: StatusRecord | "nothing"): void {
    this.#next = next;
    if (!this.#isWriting) this.#written = this.#write();
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#next) {
      const next = this.#next;
      this.#next = undefined;
      try {
        if (next === "nothing") removeStatusFile(this.#directory, this.#agentId);
        else await writeStatusFileInBackground(this.#directory, next);
      } catch {
        // Full, read-only or gone. What cannot be removed goes stale.
      }
    }
    this.#isWriting = false;
  }
}
