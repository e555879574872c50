/** Jobs on one path of an Express application. */
import { once } from "node:events";
import { createServer } from "node:http";
import express from "express";
import { ARCPServer, hostRefusal } from "tipstaff/runtime";

const { ARCP_DEMO_PORT = "7897", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const allowedHosts = ["127.0.0.1", "localhost"];

const arcp = await ARCPServer.open({ bearer: { [token]: "demo-principal" } });
arcp.registerAgent("echo", async (input, ctx) => {
  await ctx.log("info", "echo started");
  return { echoed: input };
});

const app = express();
app.disable("x-powered-by");
app.use(({ headers }, response, next) => {
  const refused = hostRefusal(headers, { allowedHosts });
  if (refused) response.status(refused.status).json({ error: refused.message });
  else next();
});
app.get("/health", (_, response) => {
  response.json({ ok: true, host: "express" });
});

// What `app.listen` would make, made here, so that there is something to attach to before it listens.
const http = createServer(app);
arcp.attach(http, { allowedHosts });

await once(http.listen(Number(ARCP_DEMO_PORT), "127.0.0.1"), "listening");
const address = http.address();
const port = typeof address === "object" ? address?.port : undefined;
console.log(`listening on ws://127.0.0.1:${port}/arcp`);
