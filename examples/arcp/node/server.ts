/** Jobs on one path of an HTTP server that has others. */
import { once } from "node:events";
import { createServer } from "node:http";
import { ARCPServer, hostRefusal } from "tipstaff/runtime";

const { ARCP_DEMO_PORT = "7897", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
/** Pages of other sites reach this port, too, under names of theirs. */
const allowedHosts = ["127.0.0.1", "localhost"];

const arcp = await ARCPServer.open({ bearer: { [token]: "demo-principal" } });
arcp.registerAgent("echo", async (input, ctx) => {
  await ctx.log("info", "echo started");
  return { echoed: input };
});

const http = createServer(({ url, headers }, response) => {
  const answer = (status: number, body: unknown): void => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
  const refused = hostRefusal(headers, { allowedHosts });
  if (refused) answer(refused.status, { error: refused.message });
  else if (url === "/health") answer(200, { ok: true, host: "node" });
  else answer(404, { error: "there is nothing here" });
});
arcp.attach(http, { allowedHosts });

await once(http.listen(Number(ARCP_DEMO_PORT), "127.0.0.1"), "listening");
const address = http.address();
const port = typeof address === "object" ? address?.port : undefined;
console.log(`listening on ws://127.0.0.1:${port}/arcp`);
