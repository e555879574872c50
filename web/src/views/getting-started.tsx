/** What an empty plane shows: the shortest ways to see something here. */
import type { JSX } from "preact";
import type { Overview } from "../api.ts";

export function GettingStarted({ overview }: { readonly overview: Overview }): JSX.Element {
  const { grpcAddress } = overview;
  return (
    <section class="card start" aria-labelledby="start-title">
      <h2 id="start-title">No agents yet</h2>
      <p>
        Coding agents of this machine appear here by themselves; <code>tipstaff install</code> lets
        Claude Code, Codex, OpenCode and Pi tell what they do and when they wait for you.
      </p>
      <p>
        In another terminal, where Tipstaff is, let an agent hold an invoice, be found and leave:
      </p>
      <Code>{firstSteps(overview)}</Code>
      <p>Or make a program an agent; when its block ends, it leaves and the invoice is free:</p>
      <Code>{program()}</Code>
      {grpcAddress !== undefined && (
        <>
          <p>Or from Python, where two agents want the same invoice:</p>
          <Code>{oneHolder(grpcAddress)}</Code>
          <p>
            Any AgentKeeper SDK does, pointed at <code>{grpcAddress}</code>. Every agent that
            registers appears at once, with what it holds and what it waits for.
          </p>
        </>
      )}
      {!overview.isKept && (
        <p class="soft">
          This daemon keeps nothing: it was started with <code>--memory</code>.
        </p>
      )}
    </section>
  );
}

function Code({ children }: { readonly children: string }): JSX.Element {
  return (
    <pre>
      <code>{children}</code>
    </pre>
  );
}

/** The command that starts the first example. */
export function firstSteps({ dataDirectory }: Pick<Overview, "dataDirectory">): string {
  // Where that is, the client finds the daemon's token for itself.
  const isUsual = dataDirectory === undefined || dataDirectory.endsWith("/tipstaff");
  const settings = [
    ...(isUsualAddress() ? [] : [`TIPSTAFF_URL=${location.origin}`]),
    ...(isUsual ? [] : [`TIPSTAFF_DATA_DIR=${quote(dataDirectory)}`]),
  ];
  return [...settings, "node_modules/.bin/node examples/first-steps/main.ts"].join(" \\\n  ");
}

function oneHolder(grpcAddress: string): string {
  const port = grpcAddress.slice(grpcAddress.lastIndexOf(":") + 1);
  const setting = port === "7070" ? "" : `TIPSTAFF_GRPC_PORT=${port} `;
  return `pip install agentkeeper==0.1.1\n${setting}python3 examples/one-holder/main.py`;
}

function program(): string {
  const options = isUsualAddress() ? "" : `{ url: "${location.origin}" }`;
  return `import { connect } from "tipstaff/client";

await using client = await connect(${options});
await using agent = await client.register({ name: "scraper" });
await using lease = await agent.acquire("invoice-42");`;
}

/** Whether a program that says nothing finds this daemon. */
function isUsualAddress(): boolean {
  return ["http://127.0.0.1:9090", "http://localhost:9090"].includes(location.origin);
}

/** For a shell. */
function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
