/** Jobs on one path of a Fastify application. */
import { fastify } from "fastify";
import { ARCPServer, hostRefusal } from "tipstaff/runtime";

const { ARCP_DEMO_PORT = "7897", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const allowedHosts = ["127.0.0.1", "localhost"];

const arcp = await ARCPServer.open({ bearer: { [token]: "demo-principal" } });
arcp.registerAgent("echo", async (input, ctx) => {
  await ctx.log("info", "echo started");
  return { echoed: input };
});

const app = fastify();
app.addHook("onRequest", async ({ headers }, reply) => {
  const refused = hostRefusal(headers, { allowedHosts });
  if (refused) await reply.code(refused.status).send({ error: refused.message });
});
app.get("/health", () => ({ ok: true, host: "fastify" }));
arcp.attach(app.server, { allowedHosts });
// Fastify waits for open connections when it closes: say goodbye to them first.
app.addHook("preClose", () => arcp.close());

const address = await app.listen({ port: Number(ARCP_DEMO_PORT), host: "127.0.0.1" });
console.log(`listening on ${address.replace(/^http/, "ws")}/arcp`);
