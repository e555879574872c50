import assert from "node:assert/strict";
import { test } from "node:test";
import manifest from "../../../package.json" with { type: "json" };
import * as runtime from "../../arcp-server.ts";
import * as client from "../../client/arcp/index.ts";
import { implementationVersion } from "./version.ts";

test("programs can ask for the version of the protocol and of this package, at both ends", () => {
  assert.equal(implementationVersion, manifest.version);
  for (const { PROTOCOL_VERSION, IMPL_VERSION } of [client, runtime]) {
    assert.deepEqual([PROTOCOL_VERSION, IMPL_VERSION], ["1.1", manifest.version]);
  }
});
