/** A test that goes through many steps with one host, each a claim of its own. */
import type { TestContext } from "node:test";

/** Tells the next step; if it goes wrong, the story ends there. */
export type Tell = (claim: string, play: () => Promise<void>) => Promise<void>;

export function storyOf(t: TestContext): Tell {
  return async (claim, play) => {
    let isTold = false;
    await t.test(claim, async () => {
      await play();
      isTold = true;
    });
    if (!isTold) throw new Error(`what follows is not told, because it failed that ${claim}`);
  };
}
