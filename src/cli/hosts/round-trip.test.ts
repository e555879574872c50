import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { applyChanges, asItWas } from "../file-changes.ts";
import { claudeCode } from "./claude-code.ts";
import { codex } from "./codex.ts";
import type { Host, HostOptions } from "./index.ts";

/** Those whose settings we change. */
const hosts: readonly [Host, Host] = [claudeCode, codex];

type Home = Disposable & HostOptions & { readonly files: ReadonlyMap<Host, string> };

/** A home directory of its own, in which nobody finds an installed host. */
function home(): Home {
  const path = mkdtempSync(join(tmpdir(), "tipstaff test-"));
  const files = new Map(
    hosts.map((host) => [
      host,
      join(path, host.name === "codex" ? ".codex/hooks.json" : ".claude/settings.json"),
    ]),
  );
  return {
    env: { PATH: join(path, "bin") },
    home: path,
    files,
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

function install(host: Host, options: HostOptions): void {
  const ours = new Set(host.planRemoval(options).map(({ path }) => path));
  applyChanges(
    host.plan(options).map((change) => {
      return { ...change, purpose: ours.has(change.path) ? "renew" : "install" };
    }),
  );
  assert.deepEqual(host.plan(options), [], "installed");
}

function uninstall(host: Host, options: HostOptions): void {
  applyChanges(
    host.planRemoval(options).map((change) => ({ ...asItWas(change), purpose: "remove" })),
  );
  assert.deepEqual(host.planRemoval(options), [], "uninstalled");
}

function put(path: string, text: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const others = {
  permissions: { allow: ["Bash(npm test)"], defaultMode: "plan" },
  hooks: {
    Stop: [{ matcher: "", hooks: [{ type: "command", command: "say done" }] }],
    PreToolUse: [
      { matcher: "Bash", hooks: [{ type: "command", command: "./check.sh", timeout: 30 }] },
    ],
    SessionStart: [],
  },
};

const commented = `{
  // what I may do
  "permissions": { "allow": ["Bash(ls)"] }, /* and more */
  "hooks": {
    "Stop": [
      { "hooks": [ { "type": "command", "command": "say done" } ] }, // loud
    ],
    "Notification": [ /* nothing yet */ ]
  } // the end
}
// really
`;

const odd: Readonly<Record<string, string>> = {
  "nothing in it": "",
  "blanks in it": " \n\t\n",
  "an empty object": "{}",
  "an empty object and a line end": "{}\n",
  "an empty object on two lines": "{\n}\n",
  "a blank in an empty object": "{ }",
  "everything on one line": JSON.stringify(others),
  "two blanks": JSON.stringify(others, null, 2),
  "two blanks and a line end": `${JSON.stringify(others, null, 2)}\n`,
  "four blanks": `${JSON.stringify(others, null, 4)}\n`,
  tabs: `${JSON.stringify(others, null, "\t")}\n`,
  "line ends of Windows": `${JSON.stringify(others, null, 2)}\n`.replaceAll("\n", "\r\n"),
  "line ends of Windows and tabs, and none at the end": JSON.stringify(
    others,
    null,
    "\t",
  ).replaceAll("\n", "\r\n"),
  "a byte order mark": `\ufeff${JSON.stringify(others, null, 2)}\n`,
  "comments and commas too many": commented,
  "comments only": "// later\n",
  "empty hooks": '{\n  "hooks": {}\n}\n',
  "hooks on one line among many": '{\n  "a": 1,\n  "hooks": { "Stop": [] },\n  "z": 2\n}\n',
  "a last line that is a comment": '{\n  "a": 1 // note\n}',
  "keys that look like numbers": '{\n  "10": 1,\n  "9": 2,\n  "__proto__": { "z": 1 }\n}\n',
  depth: `{"a":${"[".repeat(200)}${"]".repeat(200)}}`,
  "hooks twice": '{\n  "hooks": { "Stop": [] },\n  "hooks": {\n    "Mine": []\n  }\n}\n',
  "hooks twice, the last of them empty": '{ "hooks": { "Stop": [] }, "hooks": {} }',
  "an event twice": '{ "hooks": { "Stop": [], "Stop": [ ] } }\n',
  "ids in another script": '{ "language": "日本語 😀", "e": "\\u00e9" }\n',
};

for (const host of hosts) {
  for (const [claim, text] of Object.entries(odd)) {
    test(`${host.name}: a file with ${claim} comes back byte for byte`, () => {
      using where = home();
      const path = where.files.get(host) ?? "";
      put(path, text);
      install(host, where);
      const installed = readFileSync(path, "utf8");
      assert.equal(installed.startsWith("\ufeff"), text.startsWith("\ufeff"));
      if (text.includes("\r\n"))
        assert.doesNotMatch(installed, /(?<!\r)\n/, "line ends are of one kind");
      install(host, where);
      assert.equal(readFileSync(path, "utf8"), installed, "once more changes nothing");
      uninstall(host, where);
      assert.equal(readFileSync(path, "utf8"), text);
      assert.deepEqual(
        readdirSync(dirname(path)),
        [path.slice(dirname(path).length + 1)],
        "nothing is left",
      );
    });
  }

  test(`${host.name}: any settings, however they are written, come back byte for byte`, () => {
    const group = fc.record({
      matcher: fc.string(),
      hooks: fc.constant([{ type: "command", command: "x" }]),
    });
    const settings = fc.record(
      {
        hooks: fc.dictionary(
          fc.constantFrom("Stop", "SessionStart", "PreToolUse", "Mine"),
          fc.array(group),
        ),
        model: fc.string({ unit: "grapheme" }),
        more: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    const style = fc.constantFrom(undefined, 1, 2, 4, "\t");
    using where = home();
    const path = where.files.get(host) ?? "";
    fc.assert(
      fc.property(
        settings,
        style,
        fc.boolean(),
        fc.constantFrom("", "\n"),
        (value, indent, isWindows, end) => {
          const plain = JSON.stringify(value, null, indent) + end;
          const text = isWindows ? plain.replaceAll("\n", "\r\n") : plain;
          put(path, text);
          install(host, where);
          const installed: { hooks: Record<string, unknown[]>; [key: string]: unknown } =
            JSON.parse(readFileSync(path, "utf8"));
          const { hooks, ...rest } = value;
          const { hooks: now, ...left } = installed;
          assert.deepEqual(left, JSON.parse(JSON.stringify(rest)), "what is not ours is as it was");
          for (const [event, groups] of Object.entries(hooks ?? {})) {
            assert.deepEqual(
              now[event]?.slice(0, groups.length),
              JSON.parse(JSON.stringify(groups)),
            );
          }
          install(host, where);
          uninstall(host, where);
          assert.equal(readFileSync(path, "utf8"), text);
        },
      ),
      { numRuns: 60 },
    );
  });

  test(`${host.name}: without a file there is none afterwards`, () => {
    using where = home();
    const path = where.files.get(host) ?? "";
    install(host, where);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    uninstall(host, where);
    assert.deepEqual(readdirSync(dirname(path)), []);
  });

  test(`${host.name}: what was changed since is left as it is`, () => {
    using where = home();
    const path = where.files.get(host) ?? "";
    put(path, commented);
    install(host, where);
    const edited = readFileSync(path, "utf8").replace('"Bash(ls)"', '"Bash(ls)", "Bash(pwd)"');
    writeFileSync(path, edited);
    uninstall(host, where);
    const left = readFileSync(path, "utf8");
    for (const kept of [
      "// what I may do",
      '"Bash(pwd)"',
      "/* and more */",
      "// loud",
      "/* nothing yet */",
      "// really",
    ]) {
      assert.ok(left.includes(kept), kept);
    }
    assert.ok(!left.includes("tipstaff"));
    const copies = readdirSync(dirname(path)).filter((name) => name.includes(".tipstaff-backup-"));
    assert.equal(copies.length, 1);
    assert.equal(
      readFileSync(join(dirname(path), copies[0] ?? ""), "utf8"),
      commented,
      "the copy stays",
    );
  });

  test(`${host.name}: of hooks that are there twice the last get ours, as the host reads them`, () => {
    using where = home();
    const path = where.files.get(host) ?? "";
    const mine = { Stop: [{ hooks: [{ type: "command", command: "say done" }] }] };
    put(path, `{ "hooks": ${JSON.stringify(mine)}, "hooks": {} }`);
    install(host, where);
    const { hooks }: { hooks: object } = JSON.parse(readFileSync(path, "utf8"));
    assert.ok("SessionStart" in hooks);
    // Changed since, so that the copy is of no use; the first must not come to life.
    writeFileSync(path, `${readFileSync(path, "utf8")}\n\n`);
    uninstall(host, where);
    assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), { hooks: {} });
    assert.ok(readFileSync(path, "utf8").includes("say done"));
  });

  test(`${host.name}: hooks that were added, moved and written anew since stay, and only ours go`, () => {
    using where = home();
    const path = where.files.get(host) ?? "";
    put(path, JSON.stringify(others, null, 2));
    install(host, where);
    type Group = { matcher?: string; hooks: object[] };
    const settings: { hooks: Record<string, Group[]> } = JSON.parse(readFileSync(path, "utf8"));
    const mine = { type: "command", command: "./mine.sh # not tipstaff's" };
    const { Stop = [], SessionStart = [], PreToolUse = [], ...rest } = settings.hooks;
    // In front of ours in its own group, between two of them, and groups the other way round; a new event;
    // another order.
    SessionStart[0]?.hooks.unshift(mine);
    Stop.at(-1)?.hooks.push(mine, ...(Stop.at(-1)?.hooks ?? []));
    const edited = {
      added: true,
      hooks: {
        ...rest,
        Mine: [{ hooks: [mine] }],
        PreToolUse: PreToolUse.reverse(),
        Stop,
        SessionStart,
      },
      permissions: others.permissions,
    };
    writeFileSync(path, JSON.stringify(edited, null, "\t").replaceAll("\n", "\r\n"));
    uninstall(host, where);
    const text = readFileSync(path, "utf8");
    assert.deepEqual(JSON.parse(text), {
      added: true,
      hooks: {
        Mine: [{ hooks: [mine] }],
        PreToolUse: others.hooks.PreToolUse,
        Stop: [...others.hooks.Stop, { hooks: [mine] }],
        SessionStart: [{ hooks: [mine] }],
      },
      permissions: others.permissions,
    });
    assert.deepEqual(Object.keys(JSON.parse(text)), ["added", "hooks", "permissions"]);
    assert.doesNotMatch(text, /(?<!\r)\n/, "line ends are of one kind");
    const again = JSON.stringify(JSON.parse(text), null, "\t").replaceAll("\n", "\r\n");
    assert.equal(text, again, "as if written without ours");
  });

  test(`${host.name}: hooks of an older place give way, and still the first bytes come back`, () => {
    using where = home();
    const path = where.files.get(host) ?? "";
    const text = `${JSON.stringify(others, null, 2)}\n`;
    put(path, text);
    install(host, where);
    const newest = readFileSync(path, "utf8");
    rmSync(dirname(path), { recursive: true });
    // As a version would have left it that was elsewhere and had fewer hooks.
    const older = newest
      .replaceAll("/hook'", "/old/hook'")
      .replaceAll('"timeout": 3', '"timeout": 9');
    const sum = createHash("sha256").update(older).digest("hex").slice(0, 12);
    put(path, older);
    put(`${path}.tipstaff-backup-${sum}`, text);
    assert.notDeepEqual(host.plan(where), []);
    install(host, where);
    assert.equal(
      readFileSync(path, "utf8").split("# tipstaff").length,
      newest.split("# tipstaff").length,
    );
    assert.ok(!readFileSync(path, "utf8").includes("/old/hook"));
    uninstall(host, where);
    assert.equal(readFileSync(path, "utf8"), text);
    assert.equal(readdirSync(dirname(path)).length, 1, "nothing is left");
  });

  const refused: Readonly<Record<string, readonly [text: string | Uint8Array, says: RegExp]>> = {
    "is no JSON": ['{\n  "a": 1,\n  oops\n}', /not valid JSON: line 3 column 3$/],
    "is cut off": ['{"a": [', /not valid JSON: line 1 column/],
    "is a list": ["[]", /something other than an object at the top$/],
    "is a number": ["7", /something other than an object at the top$/],
    "has hooks that are a list": ['{"hooks": []}', /something other than an object at hooks$/],
    "has hooks of an event that are none": [
      '{"hooks": {"Stop": {}}}',
      /something other than a list at hooks\.Stop$/,
    ],
    "is nested without end": [
      `{"a":${"[".repeat(50_000)}${"]".repeat(50_000)}}`,
      /nested deeper than 1000 levels: line 1 column 1005$/,
    ],
    "is never closed": ["[".repeat(50_000), /nested deeper than 1000 levels: line 1 column 1001$/],
    "would be too large": [`{"a":"${"x".repeat(999_992)}"}`, /is larger than 1\.0 MB/],
    "is not UTF-8": [Uint8Array.of(0x7b, 0xff, 0x7d), /is not UTF-8$/],
  };
  for (const [claim, [text, says]] of Object.entries(refused)) {
    test(`${host.name}: a file that ${claim} is refused and not touched`, () => {
      using where = home();
      const path = where.files.get(host) ?? "";
      put(path, text);
      assert.throws(() => host.plan(where), { name: "Failure", code: "no", message: says });
      assert.deepEqual(readFileSync(path), Buffer.from(text));
      assert.equal(readdirSync(dirname(path)).length, 1);
    });
  }

  test(`${host.name}: a file that is too large is not read, whatever is to be done with it`, () => {
    using where = home();
    const path = where.files.get(host) ?? "";
    put(path, " ".repeat(1_000_001));
    for (const plan of [host.plan, host.planRemoval])
      assert.throws(() => plan(where), { code: "no", message: /is larger than 1\.0 MB/ });
  });

  test(`${host.name}: a link stays a link, and its file keeps its rights`, () => {
    using where = home();
    const path = where.files.get(host) ?? "";
    const real = join(where.home, "dotfiles", "settings.json");
    put(real, "{}\n");
    chmodSync(real, 0o640);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(real, path);
    install(host, where);
    assert.ok(lstatSync(path).isSymbolicLink());
    assert.match(readFileSync(real, "utf8"), /# tipstaff/);
    assert.equal(statSync(real).mode & 0o777, 0o640);
    uninstall(host, where);
    assert.ok(lstatSync(path).isSymbolicLink());
    assert.equal(readFileSync(real, "utf8"), "{}\n");
  });

  test(`${host.name}: a link to nowhere gets its file, and is one to nowhere again`, () => {
    using where = home();
    const path = where.files.get(host) ?? "";
    mkdirSync(dirname(path), { recursive: true });
    mkdirSync(join(where.home, "dotfiles"));
    symlinkSync("../dotfiles/settings.json", path);
    install(host, where);
    assert.match(readFileSync(join(where.home, "dotfiles", "settings.json"), "utf8"), /# tipstaff/);
    uninstall(host, where);
    assert.ok(lstatSync(path).isSymbolicLink());
    assert.deepEqual(readdirSync(join(where.home, "dotfiles")), []);
  });

  test(`${host.name}: a file that is read-only stays as it is`, () => {
    using where = home();
    const path = where.files.get(host) ?? "";
    put(path, "{}\n");
    chmodSync(path, 0o444);
    const [change] = host.plan(where);
    assert.ok(change);
    assert.throws(() => applyChanges([{ ...change, purpose: "install" }]), {
      code: "no",
      message: /it is read-only$/,
    });
    assert.equal(readFileSync(path, "utf8"), "{}\n");
  });

  test(`${host.name}: a file that somebody changes meanwhile is not overwritten`, () => {
    using where = home();
    const path = where.files.get(host) ?? "";
    put(path, "{}\n");
    const [change] = host.plan(where);
    assert.ok(change);
    writeFileSync(path, '{"a":1}\n');
    assert.throws(() => applyChanges([{ ...change, purpose: "install" }]), {
      message: /changed by somebody else/,
    });
    assert.equal(readFileSync(path, "utf8"), '{"a":1}\n');
  });
}

function eventsFor(version: string | undefined): readonly string[] {
  using where = home();
  const [host] = hosts;
  assert.equal(host?.name, "claude-code");
  if (version !== undefined) {
    put(join(where.home, "bin", "claude"), `#!/bin/sh\necho '${version} (Claude Code)'\n`);
    chmodSync(join(where.home, "bin", "claude"), 0o755);
  }
  const path = [
    where.env["PATH"],
    process.env["PATH"]
      ?.split(delimiter)
      .filter((each) => /^(\/usr)?\/bin$/.test(each))
      .join(delimiter),
  ].join(delimiter);
  const [change] = host.plan({ ...where, env: { PATH: path } });
  const { hooks }: { hooks: object } = JSON.parse(change?.after ?? "{}");
  return Object.keys(hooks);
}

test("Claude Code is given hooks for the events that its version knows, and for no others", () => {
  const all = eventsFor("2.1.325");
  assert.ok(
    all.includes("StopFailure") && all.includes("PermissionDenied") && all.includes("Elicitation"),
  );
  const old = eventsFor("2.0.42");
  for (const event of ["PermissionRequest", "SubagentStart", "PostToolUseFailure", "StopFailure"]) {
    assert.ok(!old.includes(event), event);
  }
  assert.ok(old.includes("SessionEnd"));
  const middle = eventsFor("2.1.78");
  assert.ok(middle.includes("StopFailure") && !middle.includes("PermissionDenied"));
});

test("A Claude Code that nobody finds gets the hooks that no version chokes on, is told so, and keeps what it has", () => {
  using where = home();
  const path = where.files.get(claudeCode) ?? "";
  const unknown = eventsFor(undefined);
  assert.ok(unknown.includes("PermissionRequest") && !unknown.includes("StopFailure"));
  const told = claudeCode.plan(where)[0]?.details.join(" ") ?? "";
  assert.match(
    told,
    /hooks not installed: .*StopFailure; claude is not on PATH, .* install again\.$/,
  );

  const claude = join(where.home, ".bun", "bin", "claude");
  put(claude, "#!/bin/sh\necho '2.1.325 (Claude Code)'\n");
  chmodSync(claude, 0o755);
  install(claudeCode, { ...where, env: { PATH: "/usr/bin:/bin" } });
  assert.match(readFileSync(path, "utf8"), /"StopFailure"/);
  rmSync(claude);
  assert.deepEqual(claudeCode.plan(where), [], "installed as it was");
});

test("where the settings are is what the host's own variables say", () => {
  using where = home();
  const env = {
    ...where.env,
    CLAUDE_CONFIG_DIR: join(where.home, "c"),
    CODEX_HOME: join(where.home, "x"),
  };
  const paths = hosts.map((host) => host.plan({ home: where.home, env })[0]?.path);
  assert.deepEqual(paths, [
    join(where.home, "c", "settings.json"),
    join(where.home, "x", "hooks.json"),
  ]);
});
