/** The ARCP client in a real browser, against a runtime that is mounted on the page's own server. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { ARCPServer } from "../../src/arcp-server.ts";
import { launchBrowser, skipWithoutBrowser } from "../e2e/browser.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const skip = skipWithoutBrowser();

test("[ARCP-206] a page submits, follows, streams and resumes as any program does", {
  skip,
}, async () => {
  await using server = await ARCPServer.open({ bearer: { "page-token": "page" } });
  server.registerAgent("echo", async (input, ctx) => {
    await ctx.thought("thinking");
    return { echoed: input };
  });
  server.registerAgent("stream", async (_input, ctx) => {
    const stream = ctx.streamResult();
    for (const part of ["eins ", "zwei ", "drei"]) await stream.write(part);
  });
  const host = createServer((_request, response) => {
    response.setHeader("content-type", "text/html").end("<title>page</title>");
  });
  server.attach(host);
  host.listen(0, "127.0.0.1");
  await once(host, "listening");
  const address = host.address();
  assert(address instanceof Object);
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${address.port}/`);
    await page.evaluate(await bundle());
    const told = await page.evaluate(`(${inPage})("ws://127.0.0.1:${address.port}/arcp")`);
    assert.deepEqual(told, {
      kinds: ["status", "thought"],
      result: { echoed: { n: 1 } },
      text: "eins zwei drei",
      refused: "AGENT_NOT_AVAILABLE",
      unknown: "UNAUTHENTICATED",
      isResumed: true,
      crossed: { hello: "there" },
    });
  } finally {
    await browser.close();
    host.closeAllConnections();
    host.close();
  }
});

/** Runs in the page. */
const inPage = `async (url) => {
  const { ARCPClient, connectWebSocket, pairMemoryTransports } = window.arcp;
  let transport;
  const dial = async () => (transport = await connectWebSocket(url));
  const client = await ARCPClient.connect(dial, { token: "page-token" });
  const { sessionId } = client;
  const job = await client.submit({ agent: "echo", input: { n: 1 } });
  const kinds = [];
  for await (const { kind } of job.events()) kinds.push(kind);
  const { result } = await job.done;
  const text = await (await client.submit({ agent: "stream" })).collectChunks();
  const refused = await client.submit({ agent: "nobody" }).catch(({ code }) => code);
  const unknown = await ARCPClient.connect(url, { token: "x" }).catch(({ code }) => code);
  await transport.close();
  await (await client.submit({ agent: "echo" })).done;
  const isResumed = client.sessionId === sessionId;
  await client.close();
  const [one, other] = pairMemoryTransports();
  const crossed = await new Promise((resolve) => {
    other.onFrame(resolve);
    one.send({ hello: "there" });
  });
  return { kinds, result, text, refused, unknown, isResumed, crossed };
}`;

async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(root, "src/client/arcp/index.ts")],
    bundle: true,
    platform: "browser",
    format: "iife",
    globalName: "arcp",
    target: "es2022",
    write: false,
    logLevel: "silent",
  });
  // What is declared by a script that is evaluated does not outlive it.
  return `${outputFiles[0]?.text}; window.arcp = arcp;`;
}
