/**
 * A status file that is written without stopping whoever writes it: at most one write is under way, and what
 * comes meanwhile replaces what waits. Whatever the disk says, nobody is disturbed (AS-27); the next
 * heartbeat tries again.
 */
import { unlinkSync } from "node:fs";
import { removeStatusFile, writeStatusFileInBackground } from "../status-files/index.ts";
import type { StatusRecord } from "../wire/status-file/index.ts";

export class BackgroundFile {
  readonly #directory: string;
  readonly #agentId: string;
  /** What is to be written, or that nothing is to be there. */
  #next: StatusRecord | "nothing" | undefined;
  #isWriting = false;
  #written: Promise<void> = Promise.resolve();
  /** Of a write that waits for the disk: taken away, the write comes to nothing. */
  #temporary: string | undefined;

  constructor(directory: string, agentId: string) {
    this.#directory = directory;
    this.#agentId = agentId;
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

  /** Nothing that was published before comes after this. */
  drop(): void {
    this.#next = undefined;
    const path = this.#temporary;
    this.#temporary = undefined;
    try {
      if (path !== undefined) unlinkSync(path);
    } catch {
      // It is in its place, or gone.
    }
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
        else await this.#put(next);
      } catch {
        // Full, read-only, gone; or dropped meanwhile. What cannot be removed goes stale.
      }
    }
    this.#isWriting = false;
  }

  async #put(record: StatusRecord): Promise<void> {
    await writeStatusFileInBackground(this.#directory, record, (path) => {
      this.#temporary = path;
    });
  }
}
