import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
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
  return await until(() => !existsSync(path));
}

async function until(isSo: () => boolean): Promise<boolean> {
  for (let tries = 0; tries < 200 && !isSo(); tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return isSo();
}

test("the file of a host that is killed goes with it, and what was to become of it", async () => {
  await using scratch = await temporaryDirectory();
  const path = join(scratch.path, 'it\'s a "host".json');
  const half = join(scratch.path, `.it's a "host".json.a1B2c3D4.tmp`);
  const foreign = join(scratch.path, ".it's another.json.a1B2c3D4.tmp");
  for (const each of [path, half, foreign]) writeFileSync(each, "{}");
  const host = await startHost(path, "setInterval(() => {}, 1000);");
  assert(existsSync(path));
  host.kill("SIGKILL");
  assert(await isGone(path));
  assert(await isGone(half));
  assert(existsSync(foreign));
});

test("a guard that is told to end together with its host has still taken the file away", async () => {
  await using scratch = await temporaryDirectory();
  const path = join(scratch.path, "a.json");
  writeFileSync(path, "{}");
  const host = await startHost(path, "setInterval(() => {}, 1000);");
  const children = readFileSync(`/proc/${host.pid}/task/${host.pid}/children`, "utf8");
  const [shell] = children.trim().split(" ").map(Number);
  assert(shell);
  // The shell may not have come to its first line.
  await until(() =>
    readFileSync(`/proc/${shell}/status`, "utf8").includes("SigIgn:\t0000000000004003"),
  );
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) process.kill(shell, signal);
  host.kill("SIGTERM");
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
