/** Words of one's own: events, things a lease allows, and messages that no protocol knows. */
import { ARCPServer, PROTOCOL_VERSION, type SessionContext } from "tipstaff/runtime";

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

/** A handler knows whose session the message came in, and what both sides can do. */
function greet({ payload }: { readonly payload: object }, session: SessionContext): void {
  const knows = session.hasFeature("progress") ? "progress" : "no progress";
  console.log(`greeted by ${session.principal}, who knows ${knows}`);
  session.send("x-vendor.acme.greeted", { ...payload, back: true });
}

server.onVendorMessage("x-vendor.acme.greeting", greet);

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);
console.log(`ARCP ${PROTOCOL_VERSION}`);
