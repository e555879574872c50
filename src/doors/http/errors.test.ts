import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { httpStatus } from "./index.ts";

test("every code is documented once, with its status", async () => {
  const page = await readFile(new URL("../../../docs/errors.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)];
  const documented = rows.map(([, code, status]) => [code, Number(status)]);
  assert.deepEqual(documented.toSorted(), Object.entries(httpStatus).toSorted());
});
