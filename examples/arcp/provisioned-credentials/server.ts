/** Each job gets a key of its own, good for what it may do and no longer than it runs. */
import { randomUUID } from "node:crypto";
import { ARCPServer, type Provisioner } from "tipstaff/runtime";
import { z } from "zod";

/** Stands for your gateway. A real one would make the key there, and unmake it there. */
const provisioner: Provisioner = {
  issue: async ({ jobId, lease }) => [
    {
      id: `cred_${jobId}`,
      value: `test-token-${randomUUID()}`,
      endpoint: "https://gateway.example.test/v1",
      profile: "test",
      constraints: { costBudget: lease["cost.budget"] ?? [], modelUse: lease["model.use"] ?? [] },
    },
  ],
  revoke: async ({ credentialId }) => console.log(`revoked ${credentialId}`),
};

const { ARCP_DEMO_PORT: port = "7892", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const server = await ARCPServer.open({ bearer: { [token]: "demo-principal" }, provisioner });

const Input = z.object({ model: z.string() });

server.registerAgent("model-user", async (input, ctx) => {
  const { model } = Input.parse(input);
  await ctx.authorizeModel(model);
  await ctx.status("using_model", model);
  return { model, credential_count: ctx.credentials.length };
});

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);
