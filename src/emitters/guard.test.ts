import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../testing/temporary.ts";

const source = new URL("./guard.ts", import.meta.url).href;

/** A host that has a guard, says so, and then does as it is told. */
async function startHost(path: string, then: string): Promise<ChildProcess> {
  const script = `
    const { guard } = await import(${JSON.stringify(source)});
    const dismiss = guard(${JSON.stringify(path)});
    console.log("guarded");
    ${then}`;
  const words = ["--input-type=module", "--eval", script];
  const host = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  assert(host.stdout);
  await once(host.stdout, "data");
  return host;
}

async function isGone(path: string): Promise<boolean> {
  for (let tries = 0; tries < 200 && existsSync(path); tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return !existsSync(path);
}

test("the file of a host that is killed goes with it", async () => {
  await using scratch = await temporaryDirectory();
  const path = join(scratch.path, 'it\'s a "host".json');
  writeFileSync(path, "{}");
  const host = await startHost(path, "setInterval(() => {}, 1000);");
  assert(existsSync(path));
  host.kill("SIGKILL");
  assert(await isGone(path));
});

test("a guard keeps no host running", async () => {
  await using scratch = await temporaryDirectory();
  const path = join(scratch.path, "a.json");
  writeFileSync(path, "{}");
  const host = await startHost(path, "");
  if (host.exitCode === null) await once(host, "exit");
  assert.equal(host.exitCode, 0);
  assert(await isGone(path));
});

test("who was sent away takes nothing", async () => {
  await using scratch = await temporaryDirectory();
  const [path, other] = [join(scratch.path, "a.json"), join(scratch.path, "b.json")];
  writeFileSync(path, "{}");
  writeFileSync(other, "{}");
  const { guard } = await import("./guard.ts");
  const dismiss = guard(path);
  // Whoever comes second would be done by now if the first were.
  const host = await startHost(other, "setInterval(() => {}, 1000);");
  dismiss();
  host.kill("SIGKILL");
  assert(await isGone(other));
  assert(existsSync(path));
});
