/** An agent that asks before it pays, and does what the answer says. It waits for you. */
import { connect } from "tipstaff/client";

await using client = await connect();
await using agent = await client.register({ name: "payer" });

const when = await agent.ask("Pay 5 EUR to the printer?", { choices: ["pay now", "wait"] });
console.log(`the answer is: ${when}`);

if (when === "pay now") {
  const schema = {
    type: "object",
    properties: {
      parts: { type: "integer", minimum: 1, maximum: 12 },
      reference: { type: "string" },
    },
    required: ["parts"],
  };
  // The daemon refuses an answer that the schema does not allow, and the question stays open.
  const plan = await agent.ask("In how many parts?", { schema, timeoutMs: 600_000 });
  console.log(`paid as asked: ${JSON.stringify(plan)}`);
}
