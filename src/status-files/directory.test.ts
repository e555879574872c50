import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Child } from "../testing/child.ts";
import { agentIdOf, statusDirectory, statusPath } from "./index.ts";

const home = "/home/ada";

test("[AS-1] the flag counts first, then the variable of its own, then the state directory, then home", () => {
  const env = { AGENT_STATUS_DIR: "/own", XDG_STATE_HOME: "/state" };
  assert.equal(statusDirectory({ flag: "/flag", env, home }), "/flag");
  assert.equal(statusDirectory({ env, home }), "/own");
  assert.equal(statusDirectory({ env: { XDG_STATE_HOME: "/state" }, home }), "/state/agent-status");
  assert.equal(statusDirectory({ env: {}, home }), "/home/ada/.local/state/agent-status");
});

test("[AS-1] a variable that is empty is not set", () => {
  const env = { AGENT_STATUS_DIR: "", XDG_STATE_HOME: "" };
  assert.equal(statusDirectory({ env, home }), "/home/ada/.local/state/agent-status");
});

test("[AS-1] an empty flag is the working directory", () => {
  assert.equal(statusDirectory({ flag: "", env: { AGENT_STATUS_DIR: "/own" }, home }), ".");
});

test("without a home in the environment the user database has one", async () => {
  const program = `
    import { userInfo } from "node:os";
    import { statusDirectory } from ${JSON.stringify(new URL("./directory.ts", import.meta.url).href)};
    console.log(userInfo().homedir);
    console.log(statusDirectory({ env: {} }));`;
  // The user database need not know the user who runs the tests, but it knows root.
  const asRoot = process.platform === "linux" ? ["unshare", "--user", "--map-root-user"] : [];
  await using child = new Child(program, { command: "env", args: ["-u", "HOME", ...asRoot] });
  const homedir = await child.line();
  assert.equal(await child.line(), `${homedir}/.local/state/agent-status`);
  assert.equal(statusDirectory({ env: { HOME: "/h" } }), "/h/.local/state/agent-status");
});

test("[AS-2] a tilde is the home directory, and nothing else is expanded", () => {
  assert.equal(statusDirectory({ flag: "~", env: {}, home }), home);
  assert.equal(statusDirectory({ flag: "~/x", env: {}, home }), "/home/ada/x");
  assert.equal(statusDirectory({ env: { AGENT_STATUS_DIR: "~/x" }, home }), "/home/ada/x");
  const state = statusDirectory({ env: { XDG_STATE_HOME: "~/y" }, home });
  assert.equal(state, "/home/ada/y/agent-status");
  assert.equal(statusDirectory({ flag: "$HOME/a/~/b", env: {}, home }), "$HOME/a/~/b");
});

test("[AS-2] a tilde with a name is that user's home directory", () => {
  const [, homedir] =
    /^root:(?:[^:]*:){4}([^:]*):/m.exec(readFileSync("/etc/passwd", "utf8")) ?? [];
  assert.equal(statusDirectory({ flag: "~root/x", env: {}, home }), `${homedir}/x`);
});

test("[AS-2] a user whom nobody knows is an error in one line, and only where that value counts", () => {
  const env = { AGENT_STATUS_DIR: "~nobody-of-this-name/x", XDG_STATE_HOME: "~nor-this-one" };
  assert.throws(() => statusDirectory({ env, home }), {
    message: "cannot find the home directory of ~nobody-of-this-name; write the path in full",
  });
  assert.throws(
    () => statusDirectory({ flag: "~-x;id", env: {}, home }),
    /home directory of ~-x;id/,
  );
  assert.equal(statusDirectory({ flag: "/flag", env, home }), "/flag");
  const { XDG_STATE_HOME } = env;
  const own = { AGENT_STATUS_DIR: "/own", XDG_STATE_HOME };
  assert.equal(statusDirectory({ env: own, home }), "/own");
});

test("[AS-3] a relative directory stays relative", () => {
  assert.equal(statusDirectory({ flag: "x/y", env: {}, home }), "x/y");
  assert.equal(statusDirectory({ env: { XDG_STATE_HOME: "s" }, home }), "s/agent-status");
});

const printed: Readonly<Record<string, string>> = {
  "./x/./y/": "x/y/a.json",
  ".": "a.json",
  "": "a.json",
  "//a///b//": "/a/b/a.json",
  "/": "/a.json",
  "x/../y": "x/../y/a.json",
  "..": "../a.json",
};

for (const [flag, path] of Object.entries(printed)) {
  test(`[AS-4] in '${flag}' the file of agent a is ${path}`, () => {
    const directory = statusDirectory({ flag, env: {}, home });
    assert.equal(statusPath(directory, "a"), path);
    assert.equal(statusPath(flag, "a"), path);
  });
}

test("a file belongs to the agent that it is named after", () => {
  assert.equal(agentIdOf("/s/a.b.json"), "a.b");
  assert.equal(agentIdOf("...json"), "..");
});
