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
  #next: StatusRecord | undefined;
  #writing: Promise<void> | undefined;
  #isGone = false;

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
    if (this.#isGone) return;
    this.#next = record;
    this.#writing ??= this.#write();
  }

  /** Nothing is published after this. */
  async remove(): Promise<void> {
    this.#isGone = true;
    this.#next = undefined;
    await this.#writing;
    try {
      removeStatusFile(this.#directory, this.#agentId);
    } catch {
      // A directory that became read-only keeps it; it goes stale.
    }
  }

  /** What was published is written, or cannot be. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    while (this.#next) {
      const record = this.#next;
      this.#next = undefined;
      try {
        await writeStatusFileInBackground(this.#directory, record);
      } catch {
        // Full, read-only or gone.
      }
    }
    this.#writing = undefined;
  }
}
