import assert from "node:assert/strict";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../testing/temporary.ts";
import { applyChanges, asItWas } from "../file-changes.ts";
import { isOlder } from "./guest.ts";
import type { FileChange, Host } from "./host.ts";
import { opencode } from "./opencode.ts";
import { pi } from "./pi.ts";

type Case = {
  readonly host: Host;
  /** Below the home directory. */
  readonly usual: string;
  readonly variable: string;
  /** Below what the variable says. */
  readonly elsewhere: string;
};

const cases: readonly Case[] = [
  {
    host: opencode,
    usual: ".config/opencode/plugins/tipstaff.js",
    variable: "XDG_CONFIG_HOME",
    elsewhere: "opencode/plugins/tipstaff.js",
  },
  {
    host: pi,
    usual: ".pi/agent/extensions/tipstaff.js",
    variable: "PI_CODING_AGENT_DIR",
    elsewhere: "extensions/tipstaff.js",
  },
];

for (const { host, usual, variable, elsewhere } of cases) {
  const { name, title } = host;

  test(`${title} is one file more, and removing it one less`, async () => {
    await using home = await temporaryDirectory();
    const options = { env: {}, home: home.path };
    const path = join(home.path, usual);
    assert.deepEqual(host.planRemoval(options), []);
    const [change, ...others] = host.plan(options);
    assert(change);
    assert.deepEqual(others, []);
    assert.equal(change.path, path);
    assert.equal(change.before, undefined);
    assert.equal(change.after, readFileSync(`dist/emitters/${name}.js`, "utf8"));
    put(change);
    assert.deepEqual(host.plan(options), [], "installed already");
    const [removal] = host.planRemoval(options);
    assert.deepEqual(
      [removal?.path, removal?.before, removal?.after],
      [path, change.after, undefined],
    );
  });

  test(`${title}'s own variables say where its files are`, async () => {
    await using home = await temporaryDirectory();
    const planned = (value: string): string | undefined =>
      host.plan({ env: { [variable]: value }, home: home.path })[0]?.path;
    assert.equal(planned("/own/place"), join("/own/place", elsewhere));
    assert.equal(planned(""), join(home.path, usual));
  });

  test(`an older module of ours for ${title} is renewed`, async () => {
    await using home = await temporaryDirectory();
    const options = { env: {}, home: home.path };
    const path = join(home.path, usual);
    const before = "// tipstaff: an older one\nexport default () => {};\n";
    put({ path, after: before });
    const [change] = host.plan(options);
    assert.equal(change?.before, before);
    assert.notEqual(change?.after, before);
    assert.equal(host.planRemoval(options)[0]?.after, undefined);
  });

  test(`after installing ${title}, renewing and removing it nothing is left, and nobody else's is touched`, async () => {
    await using home = await temporaryDirectory();
    const options = { env: {}, home: home.path };
    const path = join(home.path, usual);
    const other = join(dirname(path), "other.js");
    put({ path: other, after: "export default () => {};\n" });
    put({ path, after: "// tipstaff: an older one\n" });
    applyChanges(host.plan(options).map((change) => ({ ...change, purpose: "renew" })));
    assert.deepEqual(host.plan(options), []);
    applyChanges(
      host.planRemoval(options).map((change) => ({ ...asItWas(change), purpose: "remove" })),
    );
    assert.deepEqual(readdirSync(dirname(path)), ["other.js"]);
    applyChanges(host.plan(options).map((change) => ({ ...change, purpose: "install" })));
    applyChanges(
      host.planRemoval(options).map((change) => ({ ...asItWas(change), purpose: "remove" })),
    );
    assert.deepEqual(readdirSync(dirname(path)), ["other.js"]);
    assert.equal(readFileSync(other, "utf8"), "export default () => {};\n");
  });

  test(`what somebody else put in our place at ${title} is neither replaced nor removed`, async () => {
    await using home = await temporaryDirectory();
    const options = { env: {}, home: home.path };
    const path = join(home.path, usual);
    put({ path, after: "export default () => {};\n" });
    assert.throws(() => host.plan(options), {
      name: "Failure",
      message: /tipstaff\.js is not ours$/,
    });
    assert.deepEqual(host.planRemoval(options), []);
    assert.deepEqual(readdirSync(dirname(path)), ["tipstaff.js"]);
  });
}

function put({ path, after = "" }: Pick<FileChange, "path" | "after">): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, after);
}

test("a module that was built before its sources changed is not installed; a package has no sources", async () => {
  await using scratch = await temporaryDirectory();
  const built = join(scratch.path, "pi.js");
  const folder = join(scratch.path, "src/emitters");
  writeFileSync(built, "");
  assert(!isOlder(built, [folder]));
  mkdirSync(join(folder, "pi"), { recursive: true });
  const source = join(folder, "pi", "state.ts");
  writeFileSync(source, "");
  for (const [builtAtS, isIt] of [
    [1_000, true],
    [2_000, false],
  ] as const) {
    utimesSync(built, builtAtS, builtAtS);
    utimesSync(source, 1_500, 1_500);
    assert.equal(isOlder(built, [folder]), isIt);
  }
  utimesSync(built, 1_000, 1_000);
  renameSync(source, join(folder, "pi", "state.test.ts"));
  assert(!isOlder(built, [folder]));
});
