/** A directory as it is now, from what its watch tells: for whoever looks when it likes, and not at each change. */

import type { Warning } from "./read.ts";
import type { Change, WatchedFile } from "./watch.ts";

export class WatchedFiles {
  readonly #byPath = new Map<string, WatchedFile>();
  #warnings: readonly Warning[] = [];
  #hasBegun = false;

  /** Whether the directory was looked at: before that, no files means nothing. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** What was there first, newest first; then as they came. */
  get files(): readonly WatchedFile[] {
    return [...this.#byPath.values()];
  }

  /** All that is wrong now. */
  get warnings(): readonly Warning[] {
    return this.#warnings;
  }

  take(change: Change): void {
    switch (change.type) {
      case "snapshot":
        this.#byPath.clear();
        for (const file of change.files) this.#byPath.set(file.path, file);
        this.#warnings = change.warnings;
        this.#hasBegun = true;
        return;
      case "upsert":
      case "state":
        this.#byPath.set(change.file.path, change.file);
        return;
      case "remove":
        this.#byPath.delete(change.path);
        return;
      case "warnings":
        this.#warnings = change.warnings;
        return;
    }
  }
}
