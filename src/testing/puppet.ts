/** An agent on strings, and a door in front of it: what its jobs say and when they end is up to the test. */
import assert from "node:assert/strict";
import type { Handler, JobContext } from "../arcp-context.ts";
import { DoorScene } from "./arcp-door.ts";
import { turns } from "./test-plane.ts";

/** An agent whose jobs do what the test says, when it says so. */
export class Puppet {
  readonly contexts: JobContext[] = [];
  readonly #ends: ((result: unknown) => void)[] = [];

  readonly handler: Handler = (_, context) => {
    this.contexts.push(context);
    return new Promise((resolve, reject) => {
      this.#ends.push(resolve);
      context.signal.addEventListener("abort", () => reject(context.signal.reason));
    });
  };

  job(at = 0): JobContext {
    const context = this.contexts[at];
    assert(context, "the job has not begun");
    return context;
  }

  async say(...words: readonly string[]): Promise<void> {
    for (const word of words) await this.job().log("info", word);
    await turns(6);
  }

  async end(at = 0, result: unknown = "done"): Promise<void> {
    this.#ends[at]?.(result);
    await turns(6);
  }
}

export async function withPuppet(
  options: Parameters<typeof DoorScene.open>[0] = {},
): Promise<{ readonly scene: DoorScene; readonly puppet: Puppet }> {
  const scene = await DoorScene.open(options);
  const puppet = new Puppet();
  scene.agent("puppet", puppet.handler);
  return { scene, puppet };
}

export async function waitUntil(isSo: () => boolean): Promise<void> {
  for (let turn = 0; turn < 2_000 && !isSo(); turn += 1) await turns(1);
}
