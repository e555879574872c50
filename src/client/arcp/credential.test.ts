import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { JobCredential } from "./credential.ts";

test("[ARCP-174] a credential shows its value to who asks for it, and to no print of it", () => {
  const credential = new JobCredential({
    id: "cred_1",
    scheme: "bearer",
    value: "hush",
    endpoint: "https://gateway.example.test/v1",
    constraints: { modelUse: ["tier-fast/*"] },
  });
  assert.equal(credential.value, "hush");
  const prints = [String(credential), JSON.stringify({ credential }), inspect({ credential })];
  for (const print of prints) assert(print.includes("cred_1") && !print.includes("hush"), print);
});
