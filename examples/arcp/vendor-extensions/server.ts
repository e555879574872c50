/** Words of one's own: events, things a lease allows, and messages that no protocol knows. */
import { ARCPServer } from "tipstaff/runtime";

const { ARCP_DEMO_PORT: port = "7884", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const server = await ARCPServer.open({ bearer: { [token]: "demo-principal" } });

server.registerAgent("vendor", async (_input, ctx) => {
  await ctx.status("starting");
  for (let i = 1; i <= 3; i += 1) {
    await ctx.emitEvent("x-vendor.acme.progress", { i, total: 3 });
  }
  await ctx.status("complete");
  return { vendor: true };
});

server.onVendorMessage("x-vendor.acme.greeting", ({ payload }, session) => {
  session.send("x-vendor.acme.greeted", { ...payload, back: true });
});

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);
