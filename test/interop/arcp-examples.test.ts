/** Each of our examples of jobs checks itself; here its two halves are run, as a reader would run them. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { runOurClient, startOurServer } from "./arcp/our-example.ts";

const names = readdirSync("examples/arcp", { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** The one that takes longest comes first, so that the others are done beside it. */
const longest = ["heartbeat", "subscribe", "resume"];
const order = [...longest, ...names.filter((name) => !longest.includes(name))];

describe("our client against our server", { concurrency: 4 }, () => {
  for (const name of order) {
    test(`[ARCP-234] the example ${name} shows what it says`, async () => {
      if (name === "stdio") return await showsStdio();
      await using server = await startOurServer(name);
      const ended = await runOurClient(name, { url: server.url, withinMs: 60_000 });
      assert.equal(ended.code, 0, ended.stderr);
      assert.notEqual(ended.stdout, "");
      assert.equal(ended.stderr, "");
      assert.equal(server.errors(), "");
    });
  }
});

/** Its client starts its server. */
async function showsStdio(): Promise<void> {
  const { code, stdout, stderr } = await runOurClient("stdio", { withinMs: 60_000 });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /the child said goodbye and left with 0\n$/);
  assert.equal(stderr, "listening on standard input\n");
}

test("[ARCP-234] every example of jobs is on the list, and says what one sees", () => {
  const list = readFileSync("examples/arcp/README.md", "utf8");
  for (const name of names) {
    assert(list.includes(`[${name}](${name})`), `${name} is not on the list`);
    assert.match(readFileSync(`examples/arcp/${name}/README.md`, "utf8"), /^# .+\n\n\S/);
  }
});
