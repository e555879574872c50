import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ARCPServer } from "../arcp-server.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import { offerAgents } from "./offered-agents.ts";

async function offered(module: string): Promise<readonly string[]> {
  await using scratch = await temporaryDirectory();
  const path = join(scratch.path, "agents.mjs");
  writeFileSync(path, module);
  await using server = await ARCPServer.open({ bearer: { t: "me" } });
  await offerAgents(server, path);
  return server.agents.map(({ name, versions }) => [name, ...versions].join("@"));
}

test("a module has its agents by name, or registers them itself; echo is there in any case", async () => {
  const listed =
    "export const agents = { one: () => 1, two: { handler: () => 2, version: '2.0' } };";
  assert.deepEqual(await offered(listed), ["one", "two@2.0", "echo"]);
  const own = "export default (server) => { server.registerAgent('three', () => 3); };";
  assert.deepEqual(await offered(own), ["three", "echo"]);
  assert.deepEqual(await offered("export const agents = { echo: () => 'mine' };"), ["echo"]);
});

test("a module that is not there, or brings no agent, is told what to write", async () => {
  await using server = await ARCPServer.open({ bearer: { t: "me" } });
  await assert.rejects(offerAgents(server, "./nowhere.ts"), {
    message: "there is no file ./nowhere.ts to take agents from",
  });
  await assert.rejects(offered("export const answer = 42;"), /registers no agent/);
  await assert.rejects(offered("export const agents = { one: 1 };"), /one is no handler/);
  await assert.rejects(offered("throw new Error('broken');"), /cannot be loaded: broken/);
});
