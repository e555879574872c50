/**
 * Downloads and unpacks the programs that tests run, in the order in which they need them. `npm test` starts it in the
 * background, because the first tests need none of them. A test that comes sooner prepares its program itself, and a
 * test whose program cannot be prepared says why.
 */
import { packaged as prepareBrowser } from "./e2e/browser.ts";
import { installHost } from "./hosts/installation.ts";
import { preparePeer as prepareAgentStatus } from "./interop/agent-status-peer.ts";
import { preparePythonSdk } from "./interop/arcp/python-sdk.ts";
import { prepareJsonSchema, prepareSchemathesis } from "./interop/environment.ts";
import { preparePeer as prepareAgentKeeper } from "./interop/peer.ts";

const preparations: readonly (() => Promise<unknown>)[] = [
  prepareJsonSchema,
  preparePythonSdk,
  prepareBrowser,
  () => installHost("claude-code"),
  () => installHost("codex"),
  () => installHost("opencode"),
  () => installHost("pi"),
  prepareAgentStatus,
  prepareAgentKeeper,
  prepareSchemathesis,
];

for (const prepare of preparations) await prepare().catch(() => undefined);
