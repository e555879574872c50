/** The folders that hosts install by their own means. Each is copied away, and must have all that it needs. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { hookedEvents, hostNames } from "../../src/wire/host-events/index.ts";

function read(path: string): Readonly<Record<string, unknown>> {
  return JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), "utf8"));
}

const { version } = read("package.json");
const roots = { "claude-code": "CLAUDE_PLUGIN_ROOT", codex: "PLUGIN_ROOT" } as const;

for (const host of hostNames) {
  test(`the hooks of the plugin for ${host} are those of the table, and run outside any repository`, () => {
    const root = `"\${${roots[host]}}/hook"`;
    const expected = Object.fromEntries(
      hookedEvents[host].map(({ name, timeout }) => {
        const command = `test -x ${root} && exec ${root} plugin ${name} || true`;
        return [name, [{ hooks: [{ type: "command", command, timeout }] }]];
      }),
    );
    assert.deepEqual(read(`plugins/${host}/hooks/hooks.json`)["hooks"], expected);
  });
}

test("AS-91: the plugins bring neither tools nor commands nor servers, and are of this version", () => {
  const manifests = [
    "plugins/claude-code/.claude-plugin/plugin.json",
    "plugins/codex/.codex-plugin/plugin.json",
  ];
  for (const path of manifests) {
    const manifest = read(path);
    assert.equal(manifest["name"], "tipstaff");
    assert.equal(manifest["version"], version);
    for (const key of ["mcpServers", "commands", "agents", "skills"])
      assert.equal(key in manifest, false);
  }
});

test("the marketplaces name the plugin: one in its own folder, one for who adds the repository", () => {
  const { description } = read("plugins/claude-code/.claude-plugin/plugin.json");
  const policy = { installation: "AVAILABLE", authentication: "ON_INSTALL" };
  for (const { root, claudeCode, codex } of [
    { root: "", claudeCode: "./plugins/claude-code", codex: "./plugins/codex" },
    { root: "plugins/claude-code/", claudeCode: "./" },
    { root: "plugins/codex/", codex: "./" },
  ]) {
    if (claudeCode !== undefined) {
      assert.deepEqual(read(`${root}.claude-plugin/marketplace.json`)["plugins"], [
        { name: "tipstaff", source: claudeCode, description, version },
      ]);
    }
    if (codex !== undefined) {
      const source = { source: "local", path: codex };
      assert.deepEqual(read(`${root}.agents/plugins/marketplace.json`)["plugins"], [
        { name: "tipstaff", source, policy, category: "Productivity" },
      ]);
    }
  }
});
