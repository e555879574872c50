import assert from "node:assert/strict";
import { test } from "node:test";
import { parseKeep } from "./keep.ts";
import { commands } from "./table.ts";

test("history is kept for as many days and bytes as was typed, else for 30 and 4 GB", () => {
  for (const [days, bytes, ms, size] of [
    [undefined, undefined, 2_592_000_000, 4_000_000_000],
    ["1", "16M", 86_400_000, 16_000_000],
    ["36500", "1T", 3_153_600_000_000, 1_000_000_000_000],
    ["7", "123456789", 604_800_000, 123_456_789],
    ["7", "500000k", 604_800_000, 500_000_000],
  ] as const) {
    assert.deepEqual(parseKeep({ days, bytes }), { keep: { ms, bytes: size } });
  }
});

test("what is no such number is refused, and the refusal names the flag", () => {
  for (const days of ["", "0", "-1", "1.5", "36501", "thirty", "30d", "1e3"]) {
    assert.match(parseKeep({ days, bytes: undefined }).refusal ?? "", /^--keep-days/, days);
  }
  for (const bytes of ["", "0", "15M", "-4G", "4GB", "4g", "1.5G", "G", "999999999999999T"]) {
    assert.match(parseKeep({ days: undefined, bytes }).refusal ?? "", /^--keep-bytes/, bytes);
  }
});

test("the defaults that the help tells are those that are used", () => {
  for (const name of ["up", "agentkeeper"]) {
    const flags = commands.find((command) => command.name === name)?.flags ?? [];
    const standard = (flag: string): string | undefined =>
      flags.find((each) => each.name === flag)?.default;
    const typed = { days: standard("keep-days"), bytes: standard("keep-bytes") };
    assert(typed.days && typed.bytes);
    assert.deepEqual(parseKeep(typed), parseKeep({ days: undefined, bytes: undefined }));
  }
});
