/** Every example checks itself; here they are run as a user would, against a daemon of their own. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { startDaemon } from "../../src/embedded.ts";
import { temporaryDirectory } from "../../src/testing/temporary.ts";

const run = promisify(execFile);

const examples: Readonly<Record<string, RegExp>> = {
  "first-steps": /scraper holds invoice-42 with token \d+\nbest agent for a web page: scraper/,
  "worker-queue": /9 pictures resized by three workers, 1 cancelled, 1 retried/,
  demo: /^12 demo agents running; ctrl-c stops them\n$/,
  embedded:
    /^scraper registered with a daemon at http:\/\/127\.0\.0\.1:\d+, gone when this ends\n$/,
  "status-writer":
    /^migrator asks: delete the old tables\?\nit is idle, then gone, and so is its file\n$/,
  "remote-worker":
    /^count@1\.0\.0 counted to 20 in another process, over a restart of the runtime\n$/,
  jobs: /^status [\s\S]*tool_result .*PERMISSION_DENIED[\s\S]*\nresult \{"pages":3,"sent":false\}\n$/,
  leader: /term 2: planner-2 leads\neach planner planned once, in its own term/,
};

for (const [name, told] of Object.entries(examples)) {
  test(`the example ${name} shows what it says`, async () => {
    await using daemon = await startDaemon();
    await using files = await temporaryDirectory();
    const { NODE_TEST_CONTEXT: _, ...outer } = process.env;
    const env = {
      ...outer,
      TIPSTAFF_URL: daemon.url,
      TIPSTAFF_TOKEN: daemon.token,
      AGENT_STATUS_DIR: files.path,
    };
    const words = ["--conditions=@tipstaff/source", `examples/${name}/main.ts`, "2"];
    const { stdout, stderr } = await run(process.execPath, words, { env, timeout: 30_000 });
    assert.match(stdout, told);
    assert.equal(stderr, "");
  });
}
