/** A result that is sent while it is written, piece by piece. */
import { ARCPServer } from "tipstaff/runtime";
import { z } from "zod";

const { ARCP_DEMO_PORT: port = "7893", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const server = await ARCPServer.open({ bearer: { [token]: "demo-principal" } });

const Input = z.object({ chunks: z.int().positive() });

server.registerAgent("report-builder", async (input, ctx) => {
  const { chunks } = Input.parse(input);
  const report = ctx.streamResult();
  for (let section = 1; section <= chunks; section += 1) {
    await report.write(`Section ${section}: lorem ipsum dolor sit amet.\n`);
  }
  await report.finalize({ summary: `report with ${chunks} chunks` });
});

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);
