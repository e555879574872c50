/** What an empty plane shows: the shortest ways to see something here. */
import type { JSX } from "preact";
import type { Overview } from "../api.ts";

const program = `import { connect } from "tipstaff/client";

await using client = await connect();
await using agent = await client.register({ name: "scraper" });
await using lease = await agent.acquire("invoice-42");`;

export function GettingStarted({ overview }: { readonly overview: Overview }): JSX.Element {
  return (
    <section class="card start" aria-labelledby="start-title">
      <h2 id="start-title">No agents yet</h2>
      <p>
        In another terminal, let two agents want the same invoice, and watch it change hands here:
      </p>
      <pre>
        <code>python3 examples/one-holder/main.py</code>
      </pre>
      <p>Or make a program an agent; when its block ends, it leaves and the invoice is free:</p>
      <pre>
        <code>{program}</code>
      </pre>
      <p>
        Or point any AgentKeeper SDK at{" "}
        <code>{overview.grpcAddress ?? "the gRPC address that tipstaff up printed"}</code>. Every
        agent that registers appears at once, with what it holds and what it waits for.
      </p>
      {!overview.isKept && (
        <p class="soft">
          This daemon keeps nothing: it was started with <code>--memory</code>.
        </p>
      )}
    </section>
  );
}
