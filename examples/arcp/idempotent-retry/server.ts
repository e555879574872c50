/** Two agents that tell what they were asked. */
import { ARCPServer } from "tipstaff/runtime";

const { ARCP_DEMO_PORT: port = "7881", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const server = await ARCPServer.open({ bearer: { [token]: "demo-principal" } });

for (const agent of ["a", "b"]) {
  server.registerAgent(agent, (input) => ({ agent, input }));
}

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);
