import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  canonicalTarget,
  findWider,
  isCapabilityName,
  namesAddress,
  permit,
  readCapabilities,
  type Surroundings,
} from "./capabilities.ts";
import { limits } from "./limits.ts";

test("[ARCP-144] seven capabilities have a name, and vendors name their own", () => {
  for (const name of [
    ..."fs.read fs.write net.fetch tool.call agent.delegate cost.budget model.use".split(" "),
    "x-vendor.acme.print",
    "x-vendor.acme-1.print_all.now",
  ]) {
    assert(isCapabilityName(name), name);
  }
  for (const name of [
    ..."fs.delete FS.READ fs x-vendor x-vendor.acme x-vendor..a x-vendor.acme. x-vendor.Acme.b".split(
      " ",
    ),
    ..."constructor __proto__ toString".split(" "),
    "",
    "fs.read\n",
    `x-vendor.a.${"b".repeat(300)}`,
  ]) {
    assert(!isCapabilityName(name), name);
  }
});

test("a grant is given back as it was asked for, also its empty lists", () => {
  const asked = { "fs.read": ["/w/**", "/W"], "tool.call": [], "x-vendor.acme.print": ["*"] };
  assert.deepEqual(readCapabilities(asked), { capabilities: asked });
  assert.deepEqual(readCapabilities({}), { capabilities: {} });
});

const malformed: readonly (readonly [asked: unknown, path: string])[] = [
  [null, ""],
  [[], ""],
  ["fs.read", ""],
  [{ "fs.delete": ["/a"] }, "fs.delete"],
  [{ "": ["/a"] }, ""],
  [JSON.parse('{"__proto__": ["/a"]}'), "__proto__"],
  [{ "fs.read": "/a" }, "fs.read"],
  [{ "fs.read": null }, "fs.read"],
  [{ "tool.call": ["a", ""] }, "tool.call[1]"],
  [{ "tool.call": ["a", 1] }, "tool.call[1]"],
  [{ "tool.call": ["a".repeat(limits.patternLengthMax + 1)] }, "tool.call[0]"],
  [{ "tool.call": Array(limits.patternsMax + 1).fill("a") }, "tool.call[1000]"],
  [{ "tool.call": Array(limits.patternsMax).fill("a"), "model.use": ["b"] }, "model.use[0]"],
  [{ "tool.call": Array(65).fill("a".repeat(limits.patternLengthMax)) }, "tool.call[64]"],
  [{ "fs.read": ["/a\0"] }, "fs.read[0]"],
  // To whoever resolves it, this is all of /etc.
  [{ "fs.read": ["/w/../etc/**"] }, "fs.read[0]"],
  [{ "fs.write": [".."] }, "fs.write[0]"],
  [{ "net.fetch": ["https://ex.com/v1/../**"] }, "net.fetch[0]"],
  [{ "net.fetch": ["https://ex.com/v1/%2E./**"] }, "net.fetch[0]"],
  [
    Object.fromEntries(
      Array.from({ length: limits.capabilitiesMax + 1 }, (_, at) => [`x-vendor.a.b${at}`, []]),
    ),
    "",
  ],
];

for (const [asked, path] of malformed) {
  const shown = JSON.stringify(asked).slice(0, 60);
  test(`[ARCP-144] ${shown} is no grant, because of "${path}"`, () => {
    const { refusal } = readCapabilities(asked);
    assert.equal(refusal?.code, "invalid_argument");
    assert.equal(refusal.path, path);
    assert(
      refusal.message.includes(path.split("[")[0] ?? "") || path.includes("["),
      refusal.message,
    );
    assert(refusal.message.length < 400);
  });
}

const allowed: readonly (readonly [
  capability: string,
  pattern: string,
  target: string,
  expected: string | false,
  surroundings?: Surroundings,
])[] = [
  ["fs.read", "/w/**", "/w", "/w"],
  ["fs.read", "/w/**", "/w/a//b/./c/", "/w/a/b/c"],
  ["fs.read", "/w/**", "/wx", false],
  ["fs.read", "/w/**", "/w/../etc/passwd", false],
  ["fs.read", "/w/**", "/w/a/../../etc/passwd", false],
  ["fs.read", "/w/**", "/../w/a", "/w/a"],
  ["fs.read", "/etc/*", "/w/../etc/passwd", "/etc/passwd"],
  ["fs.read", "/", "/..//../", "/"],
  ["fs.read", "secret", "../../secret", false],
  ["fs.read", "**", "../secret", false],
  ["fs.read", "**", "a/../../secret", false],
  ["fs.read", "**", "a/../secret", "secret"],
  ["fs.read", "**", "/w/a\0b", false],
  ["fs.read", "**", "", false],
  ["fs.read", "**", "./", "."],
  ["fs.read", "/w/**", "a/b", false],
  ["fs.read", "/w/**", "a/b", "/w/a/b", { workingDirectory: "/w/" }],
  ["fs.read", "/w/**", "../w/a", "/w/a", { workingDirectory: "/w" }],
  ["fs.read", "/w/**", "../etc/passwd", false, { workingDirectory: "/w" }],
  ["fs.write", "/w/*", "/w/a", "/w/a"],
  ["fs.write", "/w/*", "/w/a/b", false],
  ["fs.read", "**", "a".repeat(limits.targetLengthMax + 1), false],
  // Patterns are written as paths are, and a slash behind a star allows nothing.
  ["fs.read", "/w//a/./b/", "/w/a/b", "/w/a/b"],
  ["fs.read", "./a/*", "a/b", "a/b"],
  ["fs.read", "/w/**/", "/w/a", false],
  ["fs.read", "/w/*/", "/w/a", false],

  ["net.fetch", "https://ex.com/**", "https://EX.com:443/a", "https://ex.com/a"],
  ["net.fetch", "https://ex.com/**", "https://ex.com/", "https://ex.com/"],
  ["net.fetch", "https://ex.com/**", "https://ex.com", "https://ex.com/"],
  ["net.fetch", "https://ex.com/**", "https://u@ex.com/a", false],
  ["net.fetch", "**", "https://u@ex.com/a", false],
  ["net.fetch", "**", "https://:p@ex.com/a", false],
  ["net.fetch", "https://ex.com/**", "https://ex.com.evil.org/", false],
  ["net.fetch", "https://ex.com/**", "https://ex.com:8443/", false],
  ["net.fetch", "https://ex.com/**", "http://ex.com/", false],
  ["net.fetch", "https://ex.com/**", "/a", false],
  ["net.fetch", "**", "ex.com", false],
  ["net.fetch", "**", "", false],
  ["net.fetch", "https://ex.com/v1/**", "https://ex.com/v1/../admin", false],
  ["net.fetch", "https://ex.com/v1/**", "https://ex.com/v1/%2e%2E/admin", false],
  ["net.fetch", "https://ex.com/v1/**", "https://ex.com/v1/.%2e/admin", false],
  ["net.fetch", "https://ex.com/v1/**", "https://ex.com\\v1\\..\\admin", false],
  ["net.fetch", "https://ex.com/v1/**", "https://ex.com/v1/..%2fadmin", false],
  ["net.fetch", "https://ex.com/v1/**", "https://ex.com/v1/a%5C..%5Cadmin", false],
  ["net.fetch", "https://ex.com/v1/**", "https://ex.com/v1/..;/admin", false],
  ["net.fetch", "https://ex.com/v1/**", "https://ex.com/v1/a..b", "https://ex.com/v1/a..b"],
  ["net.fetch", "https://ex.com/a?x=1", "https://ex.com/a?x=1#y", "https://ex.com/a?x=1"],
  ["net.fetch", "https://ex.com/a", "https://ex.com/a?x=1", false],
  ["net.fetch", "https://ex.com/*?x=**", "https://ex.com/a?x=../..", "https://ex.com/a?x=../.."],
  ["net.fetch", "https://ex.com/?x=/../**", "https://ex.com/?x=/../y", "https://ex.com/?x=/../y"],
  ["net.fetch", "https://*.ex.com/**", "https://a.b.ex.com/x", "https://a.b.ex.com/x"],
  ["net.fetch", "https://*.ex.com/**", "https://evil.org/.ex.com/x", false],
  ["net.fetch", "https://*.ex.com/**", "https://evil.org?.ex.com/x", false],
  ["net.fetch", "https://*.ex.com/**", "https://evil.org#.ex.com/x", false],
  ["net.fetch", "https://*.ex.com/**", "https://evil.org\\.ex.com/x", false],
  ["net.fetch", "git://*.ex.com/**", "git://evil.org?.ex.com/x", false],
  ["net.fetch", "s3://b/**.csv", "s3://b/x/y.csv", "s3://b/x/y.csv"],
  ["net.fetch", "s3://B/**", "S3://B/x/../y", "s3://B/y"],
  ["net.fetch", "data:a/**", "data:a/../b", false],
  ["net.fetch", "HTTPS://Ex.com:443/A", "https://ex.com/A", "https://ex.com/A"],
  ["net.fetch", "https://ex.com", "https://ex.com/", "https://ex.com/"],
  ["net.fetch", "ws://ex.com:80/*", "ws://ex.com/a", "ws://ex.com/a"],
  ["net.fetch", "https://ex.com:80/*", "https://ex.com:80/a", "https://ex.com:80/a"],
  ["net.fetch", "https://bücher.de/**", "https://xn--bcher-kva.de/", "https://xn--bcher-kva.de/"],
  ["net.fetch", "https://xn--bcher-kva.de/**", "https://BÜCHER.de/", "https://xn--bcher-kva.de/"],
  ["net.fetch", "http://127.0.0.1/**", "http://127.1/", "http://127.0.0.1/"],
  ["net.fetch", "http://[::1]:8080/**", "http://[0:0::1]:8080/a", "http://[::1]:8080/a"],
  // No target has user info, and a pattern does not lose its own.
  ["net.fetch", "https://u@ex.com/**", "https://ex.com/a", false],
  // Without its port, a host with a star would allow every other port.
  ["net.fetch", "https://*:443/**", "https://ex.com:8443/", false],
  ["net.fetch", "https://*:8443/**", "https://ex.com:8443/", "https://ex.com:8443/"],

  ["agent.delegate", "pdf@*", "pdf@1.0", "pdf@1.0"],
  ["agent.delegate", "pdf", "pdf@1.0", "pdf@1.0"],
  ["agent.delegate", "pdf@1.0", "pdf@2.0", false],
  ["agent.delegate", "pdf@1.0", "pdf", false],
  ["agent.delegate", "pdf", "pdf", "pdf"],
  ["agent.delegate", "1.0", "pdf@1.0", false],
  ["tool.call", "search.*", "search.web.deep", "search.web.deep"],
  ["tool.call", "a/../b", "a/../b", "a/../b"],
  ["tool.call", "b", "a/../b", false],
  ["model.use", "tier-fast/*", "tier-fast/a/b", false],
  ["model.use", "tier-fast/*", "tier-fast/a", "tier-fast/a"],
  ["x-vendor.acme.print", "A//b", "A//b", "A//b"],
  // Amounts are not patterns.
  ["cost.budget", "USD:1", "USD:1", false],
];

for (const [capability, pattern, target, expected, surroundings] of allowed) {
  const verb = expected === false ? "does not allow" : "allows";
  test(`[ARCP-149] ${capability} of ${pattern} ${verb} ${JSON.stringify(target.slice(0, 60))}`, () => {
    const read = readCapabilities({ [capability]: [pattern] });
    assert(!read.refusal);
    const answer = permit(read.capabilities, { capability, target }, surroundings);
    if (expected !== false) {
      assert.deepEqual(answer, { target: expected });
      return;
    }
    assert.equal(answer.refusal?.code, "permission_denied");
    assert(!answer.refusal.message.includes("**"), "patterns are not told");
    assert(answer.refusal.message.length < 400);
  });
}

test("[ARCP-145] what is not in the grant is not allowed, whatever it is called", () => {
  const capabilities = { "fs.read": ["**"], "tool.call": [] };
  for (const capability of ["fs.write", "tool.call", "constructor", "__proto__", "", "fs.*"]) {
    assert.equal(
      permit(capabilities, { capability, target: "a" }).refusal?.code,
      "permission_denied",
    );
  }
});

test("a grant that was kept with a pattern that climbs allows nothing by it", () => {
  const kept = { "fs.read": ["/w/../etc/**"] };
  for (const target of ["/etc/passwd", "/w/../etc/passwd"]) {
    assert(permit(kept, { capability: "fs.read", target }).refusal);
  }
  assert.deepEqual(findWider({ "fs.read": ["**"] }, kept), { path: "fs.read[0]" });
});

test("[ARCP-149] a canonical path is its own canonical path, and has nothing left to resolve", () => {
  const part = fc.constantFrom("a", "..", ".", "", "...", "b*");
  const path = fc.array(part, { maxLength: 8 }).map((parts) => parts.join("/"));
  fc.assert(
    fc.property(path, fc.option(fc.constant("/w/x"), { nil: undefined }), (path, directory) => {
      const surroundings = directory === undefined ? {} : { workingDirectory: directory };
      const first = canonicalTarget("fs.read", path, surroundings);
      if (first.problem !== undefined) return;
      assert.deepEqual(canonicalTarget("fs.read", first.target, surroundings).problem, undefined);
      assert.deepEqual(canonicalTarget("fs.read", first.target), first);
      if (first.target === "." || first.target === "/") return;
      for (const part of first.target.replace(/^\//, "").split("/")) {
        assert(part !== "" && part !== "." && part !== "..", first.target);
      }
    }),
    { numRuns: 3_000 },
  );
});

test("[ARCP-149] a canonical URL is its own canonical URL", () => {
  fc.assert(
    fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (url) => {
      const first = canonicalTarget("net.fetch", url);
      assert(first.problem === undefined);
      assert.deepEqual(canonicalTarget("net.fetch", first.target), first);
      assert(!first.target.includes("#"));
    }),
  );
});

const narrower: readonly (readonly [
  capability: string,
  parents: readonly string[] | undefined,
  children: readonly string[],
  expected: string | undefined,
])[] = [
  ["fs.read", ["/a/**"], ["/a/*", "/a", "/a/b/**"], undefined],
  ["fs.read", ["/a/*"], ["/a/**"], "/a"],
  ["fs.read", ["/a//"], ["/a"], undefined],
  ["fs.read", undefined, ["/a"], "/a"],
  ["fs.read", undefined, [], undefined],
  ["fs.read", [], ["*"], ""],
  ["net.fetch", ["https://EX.com:443/**"], ["https://ex.com/v1/**"], undefined],
  ["net.fetch", ["https://ex.com/**"], ["HTTPS://EX.COM:443/v1/**"], undefined],
  ["net.fetch", ["https://ex.com/**"], ["https://ex.com*/**"], "https://ex.com*/"],
  ["agent.delegate", ["pdf"], ["pdf@1.0", "pdf@*"], undefined],
  ["agent.delegate", ["pdf@1.0"], ["pdf"], "pdf"],
  ["agent.delegate", ["pdf*"], ["pdf-a@1"], undefined],
  ["tool.call", ["search.*"], ["search.web"], undefined],
  ["model.use", ["gpt-4*"], ["gpt-4o-mini", "gpt-5"], "gpt-5"],
  // Amounts are compared elsewhere.
  ["cost.budget", undefined, ["USD:1"], undefined],
];

for (const [capability, parents, children, example] of narrower) {
  const verb = example === undefined ? "may give on" : "may not give on";
  test(`[ARCP-162] [ARCP-167] ${capability} of [${parents?.join(" ")}] ${verb} [${children.join(" ")}]`, () => {
    const parent = parents ? { [capability]: parents } : {};
    const wider = findWider(parent, { [capability]: children });
    if (example === undefined) {
      assert.equal(wider, undefined);
      return;
    }
    assert.equal(wider?.path, `${capability}[${children.length - 1}]`);
    assert(wider.example !== undefined);
    if (!example.includes("*")) assert.equal(wider.example, example);
  });
}

test("[ARCP-148] to compare the largest grants there may be takes no more than a moment", () => {
  const many = Array.from({ length: limits.patternsMax }, (_, at) => `/w/project-${at}/**`);
  const fewer = many.map((pattern) => pattern.replace("**", "src/**/*.ts"));
  const started = process.cpuUsage();
  assert.equal(findWider({ "fs.read": many }, { "fs.read": fewer }), undefined);
  const spiteful = Array.from({ length: 60 }, (_, at) => `**${"a*".repeat(2_000)}${at}**b`);
  const child = Array.from({ length: 60 }, (_, at) => `**${"a*".repeat(1_999)}${at}*b**`);
  assert(findWider({ "fs.read": spiteful }, { "fs.read": child }));
  assert(process.cpuUsage(started).user < 10_000_000);
});

for (const [patterns, target, isNamed] of [
  [["http://127.0.0.1:80/**"], "http://127.0.0.1/", true],
  [["http://127.0.0.1/**"], "http://127.0.0.1:81/", false],
  [["http://127.0.0.1:*/**"], "http://127.0.0.1:81/", true],
  [["http://127.0.0.1/a"], "http://127.0.0.1/b", false],
  [["https://127.0.0.1/**"], "http://127.0.0.1/", false],
  [["*://127.0.0.1/**"], "http://127.0.0.1/", true],
  [["http://[::1]/**"], "http://[::1]/", true],
  [["http://[0:0::1]/**"], "http://[::1]/", true],
  [["http://0x7f.1/**"], "http://127.0.0.1/", true],
  [["http://localhost/**"], "http://127.0.0.1/", true],
  [["http://localhost/**"], "http://[::1]/", true],
  [["http://localhost/**"], "http://10.0.0.1/", false],
  [["http://10.0.0.1/**"], "http://10.0.0.1/", true],
  [["**"], "http://127.0.0.1/", false],
  [["http://**"], "http://127.0.0.1/", false],
  [["http://*/**"], "http://127.0.0.1/", false],
  [["http://127.0.0.*/**"], "http://127.0.0.1/", false],
  [["http://127.0.0.1*/**"], "http://127.0.0.1/", false],
  [["http://*.0.0.1/**"], "http://127.0.0.1/", false],
  [["http://local*/**"], "http://127.0.0.1/", false],
  [["http://u@127.0.0.1/**"], "http://127.0.0.1/", false],
  [[], "http://127.0.0.1/", false],
] as const) {
  test(`${patterns.join(" ") || "nothing"} ${isNamed ? "names" : "does not name"} ${target}`, () => {
    assert.equal(namesAddress({ "net.fetch": patterns }, target), isNamed);
  });
}

test("who may not connect to an address cannot let another do so by naming it", () => {
  const wide = { "net.fetch": ["http://**"] };
  const child = (pattern: string) => ({ "net.fetch": [pattern] });
  for (const pattern of [
    "http://127.0.0.1:8080/**",
    "http://localhost/**",
    "http://[::1]/**",
    "http://169.254.169.254/**",
    "http://10.0.0.1:*/**",
  ]) {
    assert.equal(findWider(wide, child(pattern))?.path, "net.fetch[0]", pattern);
    assert.equal(findWider(child(pattern), child(pattern)), undefined, pattern);
  }
  for (const pattern of ["http://1.1.1.1/**", "http://example.com/**", "http://*.local/**"]) {
    assert.equal(findWider(wide, child(pattern)), undefined, pattern);
  }
  const own = { "net.fetch": ["http://127.0.0.1:8080/**", "http://**"] };
  assert.equal(findWider(own, child("http://127.0.0.1:8080/a")), undefined);
  assert.equal(findWider(own, child("http://127.0.0.1:9090/a"))?.path, "net.fetch[0]");
});
