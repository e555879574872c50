import assert from "node:assert/strict";
import { test } from "node:test";
import { type Asked, openTestDoor, type TestDoor } from "../../testing/http-door.ts";
import { Credentials, limits } from "./index.ts";

type Page = { readonly cookie: string; readonly key: string };

test("a link can be used once", async () => {
  await using to = await openTestDoor();
  const key = await linkKey(to);
  await to.done("openSession", { key }, { token: null });
  assert.equal((await to.refused("openSession", { key }, { token: null })).code, "link_used");
});

test("a link is good for ten minutes, and not a moment longer", async () => {
  await using to = await openTestDoor();
  const [intime, late] = [await linkKey(to), await linkKey(to)];
  await to.clock.pass(limits.linkMs, 4_000);
  await to.done("openSession", { key: intime }, { token: null });
  to.clock.leap(1);
  assert.equal((await to.refused("openSession", { key: late })).code, "link_used");
});

test("there are so many links at a time; the oldest goes first", async () => {
  await using to = await openTestDoor();
  const keys: string[] = [];
  for (let count = 0; count <= limits.linksMax; count++) keys.push(await linkKey(to));
  assert.equal((await to.refused("openSession", { key: keys[0] ?? "" })).code, "link_used");
  await to.done("openSession", { key: keys[1] ?? "" });
});

test("the cookie is for our API only, out of reach of scripts and of other sites", async () => {
  await using to = await openTestDoor();
  const { headers } = await openSession(to);
  const [cookie = "", ...more] = headers["set-cookie"] ?? [];
  assert.deepEqual(more, []);
  const [pair = "", ...flags] = cookie.split("; ");
  assert.match(pair, /^tipstaff=[\w-]{43}$/);
  assert.deepEqual(flags.sort(), [
    "HttpOnly",
    "Max-Age=31536000",
    "Path=/api/v1",
    "SameSite=Strict",
  ]);
  const refused = await to.ask("POST", "/api/v1/session", {
    headers: { "Content-Type": "application/json" },
    body: '{"key":"wrong"}',
  });
  assert.equal(refused.headers["set-cookie"], undefined);
});

test("a page may write with its cookie and its key, and with neither alone", async () => {
  await using to = await openTestDoor();
  const { cookie, key } = await pageOf(to);
  const ways: readonly (readonly [Record<string, string>, boolean])[] = [
    [{ Cookie: cookie, "Tipstaff-Page": key }, true],
    [{ Cookie: `a=b; ${cookie}; c=d`, "Tipstaff-Page": key }, true],
    [{ Cookie: cookie }, false],
    [{ "Tipstaff-Page": key }, false],
    [{ Cookie: cookie, "Tipstaff-Page": "" }, false],
    [{ Cookie: cookie, "Tipstaff-Page": cookie.slice("tipstaff=".length) }, false],
    [{ Cookie: `tipstaff=${key}`, "Tipstaff-Page": key }, false],
    [{ Cookie: cookie, "Tipstaff-Page": key, Origin: "http://localhost:3000" }, false],
    [{ Cookie: cookie, Authorization: "Bearer wrong" }, false],
    [{ Authorization: "Bearer secret" }, true],
    [{ Authorization: "bearer secret" }, false],
    [{ Authorization: "Bearer secret " }, true],
    [{ Authorization: "Bearer secrets" }, false],
  ];
  for (const [headers, mayWrite] of ways) {
    const { status } = await to.ask("DELETE", "/api/v1/policies/p", { headers });
    assert.equal(status === 200, mayWrite, JSON.stringify(headers));
    const { status: told, text } = await to.ask("GET", "/api/v1/session", { headers });
    assert.equal(told === 200 && JSON.parse(text).mayWrite, mayWrite, JSON.stringify(headers));
  }
});

test("a page stays trusted when the daemon starts again, until there is another token", async () => {
  const page = await (async () => {
    await using to = await openTestDoor();
    return await pageOf(to);
  })();
  const mayWrite = async (credentials: Credentials): Promise<boolean> => {
    await using to = await openTestDoor({ credentials });
    const headers = { Cookie: page.cookie, "Tipstaff-Page": page.key };
    return JSON.parse((await to.ask("GET", "/api/v1/session", { headers })).text).mayWrite;
  };
  assert.equal(await mayWrite(new Credentials("secret")), true);
  assert.equal(await mayWrite(new Credentials("other")), false);
});

test("neither cookie nor key tells the token or the other", () => {
  const { cookie, pageKey } = new Credentials("secret");
  assert.notEqual(cookie, pageKey);
  assert.doesNotMatch(cookie + pageKey, /secret/);
});

test("pages from elsewhere can neither look nor write, whatever they know", async () => {
  await using to = await openTestDoor();
  const { cookie, key } = await pageOf(to);
  const trusted = { Cookie: cookie, "Tipstaff-Page": key, Authorization: "Bearer secret" };
  const own = `127.0.0.1:${to.port}`;
  const asked = async (method: string, path: string, headers: Asked["headers"] = {}) => {
    const { status, text } = await to.ask(method, path, { headers: { ...trusted, ...headers } });
    return status === 200 ? "served" : JSON.parse(text).error.code;
  };
  for (const [method, path] of [
    ["DELETE", "/api/v1/policies/p"],
    ["GET", "/api/v1/agents"],
  ] as const) {
    for (const Origin of [
      "null",
      "http://evil.example",
      "http://127.0.0.1:1",
      `http://localhost:${to.port}`,
      `http://${own}.evil.example`,
    ]) {
      assert.equal(await asked(method, path, { Origin }), "forbidden_origin", Origin);
    }
    assert.equal(await asked(method, path, { Origin: `http://${own}` }), "served");
    assert.equal(await asked(method, path, { Host: "evil.example" }), "wrong_host");
    const rebound = { Host: "evil.example", Origin: "http://evil.example" };
    assert.equal(await asked(method, path, rebound), "wrong_host");
    for (const site of ["cross-site", "same-site"]) {
      const headers = { "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors" };
      assert.equal(await asked(method, path, headers), "forbidden_origin", "an image, a script");
    }
    assert.equal(await asked(method, path, { "Sec-Fetch-Site": "same-origin" }), "served");
  }
  const link = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" };
  assert.equal(await asked("GET", "/", link), "served", "a link from elsewhere may lead here");
});

test("what a form can send is not read as JSON", async () => {
  await using to = await openTestDoor();
  const { cookie, key } = await pageOf(to);
  for (const type of [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
  ]) {
    const headers = { Cookie: cookie, "Tipstaff-Page": key, "Content-Type": type };
    const { status } = await to.ask("POST", "/api/v1/tasks", { headers, body: '{"type":"a"}' });
    assert.equal(status, 415, type);
  }
  assert.equal((await to.done("listTasks", {})).total, 0);
});

async function linkKey(to: TestDoor): Promise<string> {
  return (await to.done("createLink", {})).path.slice("/#key=".length);
}

async function openSession(to: TestDoor): ReturnType<TestDoor["ask"]> {
  const body = JSON.stringify({ key: await linkKey(to) });
  const headers = { "Content-Type": "application/json" };
  const answered = await to.ask("POST", "/api/v1/session", { headers, body });
  assert.equal(answered.status, 200);
  return answered;
}

async function pageOf(to: TestDoor): Promise<Page> {
  const { headers, text } = await openSession(to);
  const [cookie = ""] = headers["set-cookie"]?.[0]?.split("; ") ?? [];
  return { cookie, key: JSON.parse(text).pageKey };
}
