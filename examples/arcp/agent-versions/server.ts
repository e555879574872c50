/** Two versions of one agent, side by side. */
import { ARCPServer } from "tipstaff/runtime";

const { ARCP_DEMO_PORT: port = "7889", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const server = await ARCPServer.open({ bearer: { [token]: "demo-principal" } });

for (const version of ["1.0.0", "1.2.3"]) {
  server.registerAgentVersion("summarize", version, (input) => ({
    version,
    len: JSON.stringify(input).length,
  }));
}
server.setDefaultAgentVersion("summarize", "1.2.3");

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);
