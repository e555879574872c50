/** Jobs on one path of a Hono application, on Node's HTTP server. */
import { once } from "node:events";
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { ARCPServer, hostRefusal } from "tipstaff/runtime";

const { ARCP_DEMO_PORT = "7897", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const allowedHosts = ["127.0.0.1", "localhost"];

const arcp = await ARCPServer.open({ bearer: { [token]: "demo-principal" } });
arcp.registerAgent("echo", async (input, ctx) => {
  await ctx.log("info", "echo started");
  return { echoed: input };
});

const app = new Hono();
app.use(async (c, next) => {
  const refused = hostRefusal({ host: c.req.header("host") }, { allowedHosts });
  if (!refused) return await next();
  const headers = { "content-type": "application/json" };
  return new Response(JSON.stringify({ error: refused.message }), {
    status: refused.status,
    headers,
  });
});
app.get("/health", (c) => c.json({ ok: true, host: "hono" }));

const http = createServer(getRequestListener(app.fetch));
arcp.attach(http, { allowedHosts });

await once(http.listen(Number(ARCP_DEMO_PORT), "127.0.0.1"), "listening");
const address = http.address();
const port = typeof address === "object" ? address?.port : undefined;
console.log(`listening on ws://127.0.0.1:${port}/arcp`);
