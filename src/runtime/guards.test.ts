import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import {
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { namesAddress, permit } from "../core/capabilities.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import { resultOf, TestRuntime } from "../testing/test-runtime.ts";
import { toWorkError } from "./errors.ts";
import { fetchWithin, type Guard, readFileWithin, writeFileWithin } from "./guards.ts";
import { limits } from "./limits.ts";

const { signal } = new AbortController();
const traceContext = {
  traceparent: "00-392b193cf3cefb1e7864ff0932afab10-90ebdc8a3358ab63-01",
  tracestate: "vendor=1",
};
const denied = { code: "permission_denied" };

type Allowed = Readonly<Record<string, readonly string[]>>;

/** What happens between the check of a target and its use is the test's to say. */
function guardOf(
  capabilities: Allowed,
  { afterwards = async () => undefined, ...more }: Partial<Guard> & { afterwards?: After } = {},
): Guard & { readonly asked: readonly string[] } {
  const asked: string[] = [];
  const authorize: Guard["authorize"] = async (capability, target) => {
    asked.push(target);
    const answer = permit(capabilities, { capability, target });
    if (answer.refusal) throw toWorkError(answer.refusal);
    await afterwards(asked.length);
    return answer.target;
  };
  const isNamed = (url: string): boolean => namesAddress(capabilities, url);
  return { authorize, namesAddress: isNamed, signal, traceContext, ...more, asked };
}

type After = (times: number) => Promise<unknown>;

/** `own` is the job's, `other` is not; each has a file `a`. */
async function makeFiles(): Promise<
  { readonly own: string; readonly other: string } & AsyncDisposable
> {
  const directory = await temporaryDirectory();
  const path = await realpath(directory.path);
  const [own, other] = [join(path, "own"), join(path, "other")];
  for (const [folder, word] of [
    [own, "mine"],
    [other, "secret"],
  ] as const) {
    await mkdir(folder);
    await writeFile(join(folder, "a"), word);
  }
  return { own, other, [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose]() };
}

for (const hasDescriptorPaths of process.platform === "linux" ? [true, false] : [false]) {
  describe(`files, ${hasDescriptorPaths ? "by descriptor" : "by name alone"}`, () => {
    const guarding = (own: string, afterwards?: After): ReturnType<typeof guardOf> =>
      guardOf(
        { "fs.read": [`${own}/**`], "fs.write": [`${own}/**`] },
        { hasDescriptorPaths, ...(afterwards && { afterwards }) },
      );

    it("are read and written where the job may", async () => {
      await using files = await makeFiles();
      const guard = guarding(files.own);
      assert.equal(String(await readFileWithin(guard, `${files.own}/a`)), "mine");
      await writeFileWithin(guard, `${files.own}/new`, "1234");
      await writeFileWithin(guard, `${files.own}/new`, Buffer.from("56"));
      assert.equal(await readFile(`${files.own}/new`, "utf8"), "56");
      await assert.rejects(readFileWithin(guard, `${files.other}/a`), denied);
      await assert.rejects(readFileWithin(guard, `${files.own}/../other/a`), denied);
      await assert.rejects(writeFileWithin(guard, `${files.other}/new`, ""), denied);
      assert.deepEqual(await readdir(files.other), ["a"]);
    });

    it("[ARCP-149] that a link leads to are checked as what they are", async () => {
      await using files = await makeFiles();
      const { own, other } = files;
      const guard = guarding(own);
      await symlink(`${other}/a`, `${own}/out`);
      await symlink(other, `${own}/outwards`);
      await symlink(`${own}/a`, `${other}/in`);
      await symlink(`${other}/new`, `${own}/dangling`);
      await assert.rejects(readFileWithin(guard, `${own}/out`), denied);
      await assert.rejects(readFileWithin(guard, `${own}/outwards/a`), denied);
      await assert.rejects(writeFileWithin(guard, `${own}/out`, "x"), denied);
      await assert.rejects(writeFileWithin(guard, `${own}/outwards/new`, "x"), denied);
      await assert.rejects(writeFileWithin(guard, `${own}/dangling`, "x"), denied);
      assert.equal(String(await readFileWithin(guard, `${other}/in`)), "mine");
      assert.deepEqual((await readdir(other)).toSorted(), ["a", "in"]);
      assert.equal(await readFile(`${other}/a`, "utf8"), "secret");
    });

    it("that become a link after they were checked are checked again", async () => {
      await using files = await makeFiles();
      const { own, other } = files;
      const swap = async (): Promise<void> => {
        await rm(`${own}/a`);
        await symlink(`${other}/a`, `${own}/a`);
      };
      const guard = guarding(own, async (times) => times === 1 && (await swap()));
      await assert.rejects(readFileWithin(guard, `${own}/a`), denied);
      assert.deepEqual(guard.asked, [`${own}/a`, `${other}/a`]);
      await rm(`${own}/a`);
      await writeFile(`${own}/a`, "mine");
      const writing = guarding(own, async (times) => times === 1 && (await swap()));
      await assert.rejects(writeFileWithin(writing, `${own}/a`, "x"), denied);
      assert.equal(await readFile(`${other}/a`, "utf8"), "secret");
    });

    it("in a directory that became a link after it was checked are checked again", async () => {
      await using files = await makeFiles();
      const { own, other } = files;
      const swap = async (): Promise<void> => {
        await rename(`${own}/deep`, `${own}/aside`);
        await symlink(other, `${own}/deep`);
      };
      await mkdir(`${own}/deep`);
      await writeFile(`${own}/deep/a`, "deep");
      const guard = guarding(own, async (times) => times === 1 && (await swap()));
      await assert.rejects(readFileWithin(guard, `${own}/deep/a`), denied);
      await rm(`${own}/deep`);
      await rename(`${own}/aside`, `${own}/deep`);
      const writing = guarding(own, async (times) => times === 1 && (await swap()));
      await assert.rejects(writeFileWithin(writing, `${own}/deep/new`, "x"), denied);
      assert.deepEqual(await readdir(other), ["a"]);
    });

    it("that are something else at each look are given up", async () => {
      await using files = await makeFiles();
      const { own } = files;
      await writeFile(`${own}/b`, "b");
      // One of two is a file and the other leads there; after each check it is the other way round.
      const flip: After = async (times) => {
        const [is, was] = times % 2 === 1 ? ["b", "a"] : ["a", "b"];
        await rm(`${own}/${was}`);
        await symlink(`${own}/${is}`, `${own}/${was}`);
        await rm(`${own}/${is}`);
        await writeFile(`${own}/${is}`, is);
      };
      const guard = guarding(own, flip);
      await assert.rejects(readFileWithin(guard, `${own}/a`), denied);
      assert.equal(guard.asked.length, limits.opensMax);
    });

    it("that are none, or have no end, are refused at once", async () => {
      await using files = await makeFiles();
      const { own } = files;
      await promisify(execFile)("mkfifo", [`${own}/pipe`]);
      const guard = guarding(own);
      const all = guardOf({ "fs.read": ["/**"] }, { hasDescriptorPaths });
      await assert.rejects(readFileWithin(guard, `${own}/pipe`), denied);
      await assert.rejects(writeFileWithin(guard, `${own}/pipe`, "x"), { code: "ENXIO" });
      await assert.rejects(readFileWithin(all, "/dev/zero"), denied);
      await assert.rejects(readFileWithin(guard, own), denied);
    });

    it("that are not there are told only to who might read them", async () => {
      await using files = await makeFiles();
      const guard = guarding(files.own);
      await assert.rejects(readFileWithin(guard, `${files.own}/none`), { code: "ENOENT" });
      await assert.rejects(readFileWithin(guard, `${files.other}/none`), denied);
      await assert.rejects(readFileWithin(guard, `${files.other}/a/none`), denied);
      await assert.rejects(writeFileWithin(guard, `${files.own}/none/a`, ""), { code: "ENOENT" });
      await assert.rejects(writeFileWithin(guard, `${files.other}/none/a`, ""), denied);
      await assert.rejects(readFileWithin(guard, `${files.own}/a\0b`), denied);
    });
  });
}

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

async function listen(
  answer: Answer,
  { host = "127.0.0.1", port = 0 } = {},
): Promise<{ readonly url: string; readonly port: number } & AsyncDisposable> {
  const server = createServer((request, response) => void answer(request, response));
  server.listen(port, host);
  await once(server, "listening");
  const address = server.address();
  assert(address && typeof address === "object");
  return {
    url: `http://${host}:${address.port}`,
    port: address.port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const redirecting =
  (status: number, location: string): Answer =>
  (_, response) =>
    response.writeHead(status, { location }).end();

describe("requests", () => {
  it("[ARCP-184] go where the job may, and say where in a trace they come from", async () => {
    const seen: unknown[] = [];
    await using server = await listen(({ headers }, response) => {
      seen.push([headers["traceparent"], headers["tracestate"]]);
      response.end("hello");
    });
    const guard = guardOf({ "net.fetch": [`${server.url}/public/**`] });
    const answer = await fetchWithin(guard, `${server.url}/public/x#part`);
    assert.equal(await answer.text(), "hello");
    const own = { traceparent: traceContext.traceparent.replace("392b", "abcd") };
    await fetchWithin(guard, new URL("/public", server.url), { headers: own });
    assert.deepEqual(seen, [
      [traceContext.traceparent, "vendor=1"],
      [own.traceparent, undefined],
    ]);
    for (const path of ["/private", "/public/../private", "/public/%2e%2e/private"]) {
      await assert.rejects(fetchWithin(guard, `${server.url}${path}`), denied);
    }
    await assert.rejects(fetchWithin(guard, "public/x"), denied);
    assert.equal(seen.length, 2);
  });

  it("[ARCP-149] are checked at each redirection, and stop at the first that is not allowed", async () => {
    let secrets = 0;
    await using other = await listen((_, response) => {
      secrets += 1;
      response.end("secret");
    });
    await using server = await listen((request, response) => {
      if (request.url === "/one") redirecting(302, "/two")(request, response);
      else if (request.url === "/two") redirecting(307, `${other.url}/`)(request, response);
      else response.end("home");
    });
    const guard = guardOf({ "net.fetch": [`${server.url}/**`] });
    await assert.rejects(fetchWithin(guard, `${server.url}/one`), denied);
    assert.deepEqual(guard.asked, [`${server.url}/one`, `${server.url}/two`, `${other.url}/`]);
    assert.equal(secrets, 0);
    const both = guardOf({ "net.fetch": [`${server.url}/**`, `${other.url}/**`] });
    assert.equal(await (await fetchWithin(both, `${server.url}/one`)).text(), "secret");
  });

  it("take no secrets of one server to another, and no body where a read is meant", async () => {
    const seen: unknown[] = [];
    const note: Answer = async (request, response) => {
      const { authorization, cookie, "content-type": type, traceparent } = request.headers;
      seen.push([request.method, await text(request), authorization, cookie, type]);
      assert.equal(traceparent, traceContext.traceparent);
      response.end();
    };
    await using other = await listen(note);
    await using server = await listen((request, response) => {
      const status = Number(request.url?.slice(1, 4));
      if (!status) return note(request, response);
      const isFar = request.url?.endsWith("/far");
      return redirecting(status, isFar ? other.url : "/end")(request, response);
    });
    const guard = guardOf({ "net.fetch": [`${server.url}/**`, `${other.url}/**`] });
    const init = {
      method: "post",
      body: "body",
      headers: { authorization: "Bearer x", cookie: "c=1", "content-type": "text/x" },
    };
    for (const path of ["/303", "/301", "/307", "/308/far", "/302/far"]) {
      await fetchWithin(guard, `${server.url}${path}`, init);
    }
    assert.deepEqual(seen, [
      ["GET", "", "Bearer x", "c=1", undefined],
      ["GET", "", "Bearer x", "c=1", undefined],
      ["POST", "body", "Bearer x", "c=1", "text/x"],
      ["POST", "body", undefined, undefined, "text/x"],
      ["GET", "", undefined, undefined, undefined],
    ]);
    const stream = { method: "POST", body: new Blob(["body"]).stream(), duplex: "half" } as const;
    await assert.rejects(fetchWithin(guard, `${server.url}/307`, stream), /sent again/);
  });

  it("end: with a redirection that is not followed, after many, and with the job", async () => {
    await using server = await listen((request, response) =>
      request.url === "/silent" ? undefined : redirecting(302, "/again")(request, response),
    );
    const guard = guardOf({ "net.fetch": [`${server.url}/**`] });
    const by = (redirect: "manual" | "error"): Promise<Response> =>
      fetchWithin(guard, server.url, { redirect });
    assert.equal((await by("manual")).status, 302);
    await assert.rejects(by("error"), TypeError);
    await assert.rejects(fetchWithin(guard, server.url), /20 redirections/);
    const reason = new Error("enough");
    const job = new AbortController();
    const ending = guardOf({ "net.fetch": [`${server.url}/**`] }, { signal: job.signal });
    const asked = fetchWithin(ending, `${server.url}/silent`, { signal });
    job.abort(reason);
    await assert.rejects(asked, reason);
  });
});

describe("addresses", () => {
  const hello: Answer = (_, response) => response.end("hello");

  /** A name server that knows what the test says; an unknown name has no address. */
  function resolving(table: Readonly<Record<string, readonly string[]>>) {
    const asked: string[] = [];
    const resolve = async (hostname: string): Promise<readonly string[]> => {
      asked.push(hostname);
      return table[hostname] ?? [];
    };
    return { resolve, asked };
  }

  it("of this machine are not reached by patterns with a star, however they are written", async () => {
    let requests = 0;
    await using server = await listen((_, response) => {
      requests += 1;
      response.end("secret");
    });
    const { port } = server;
    for (const pattern of [
      "**",
      "http://**",
      "http://*/**",
      `http://*:${port}/**`,
      "http://127.*/**",
    ]) {
      const guard = guardOf({ "net.fetch": [pattern] });
      for (const host of [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0.0.0.0",
        "[::1]",
        "localhost",
      ]) {
        await assert.rejects(fetchWithin(guard, `http://${host}:${port}/`), denied, host);
      }
      for (const host of ["[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[::]"]) {
        await assert.rejects(fetchWithin(guard, `http://${host}:${port}/`), denied, host);
      }
    }
    assert.equal(requests, 0);
  });

  it("of this machine are reached if the grant names them literally, at that port", async () => {
    await using server = await listen(hello);
    await using other = await listen(hello);
    const { url, port } = server;
    const { resolve } = resolving({ localhost: ["127.0.0.1"] });
    for (const [pattern, target] of [
      [`${url}/**`, `${url}/`],
      [`http://127.0.0.1:*/**`, `${url}/`],
      [`http://localhost:${port}/**`, `http://localhost:${port}/`],
      [`http://[::ffff:127.0.0.1]:${port}/**`, `http://[::ffff:7f00:1]:${port}/`],
    ] as const) {
      const guard = guardOf({ "net.fetch": [pattern] }, { resolve });
      assert.equal(await (await fetchWithin(guard, target)).text(), "hello", pattern);
    }
    const guard = guardOf({ "net.fetch": [`${url}/**`, "http://**"] }, { resolve });
    await assert.rejects(fetchWithin(guard, `${other.url}/`), denied);
  });

  it("are checked for every name, also for one that the grant names", async () => {
    await using server = await listen(hello);
    const { port } = server;
    const table = { "api.example.com": ["127.0.0.1"], "meta.example.com": ["169.254.169.254"] };
    const { resolve } = resolving(table);
    const named = `http://api.example.com:${port}/**`;
    const target = `http://api.example.com:${port}/x`;
    for (const patterns of [
      [named],
      ["http://**"],
      [named, "http://127.0.0.1:1/**"],
      [named, `http://127.0.0.1:${port}/y`],
      [named, `http://127.0.0.2:${port}/**`],
    ]) {
      const guard = guardOf({ "net.fetch": patterns }, { resolve });
      await assert.rejects(fetchWithin(guard, target), {
        ...denied,
        message: /api\.example\.com resolves only to non-public addresses/,
      });
    }
    const both = guardOf({ "net.fetch": [named, `${server.url}/**`] }, { resolve });
    assert.equal(await (await fetchWithin(both, target)).text(), "hello");
    const meta = guardOf({ "net.fetch": ["http://*.example.com/**"] }, { resolve });
    await assert.rejects(fetchWithin(meta, "http://meta.example.com/latest"), denied);
    await assert.rejects(fetchWithin(meta, "http://nobody.example.com/"), denied);
  });

  it("that were checked are those that are connected to: a name is looked up once", async () => {
    await using server = await listen(hello);
    const { port } = server;
    await using inner = await listen((_, response) => response.end("secret"), {
      host: "127.0.0.2",
      port,
    });
    let lookups = 0;
    const resolve = async (): Promise<readonly string[]> => {
      lookups += 1;
      return [lookups === 1 ? "127.0.0.1" : "127.0.0.2"];
    };
    const patterns = [`http://rebind.example.com:${port}/**`, `${server.url}/**`];
    const guard = guardOf({ "net.fetch": patterns }, { resolve });
    const target = `http://rebind.example.com:${port}/`;
    assert.equal(await (await fetchWithin(guard, target)).text(), "hello");
    assert.equal(lookups, 1);
    await assert.rejects(fetchWithin(guard, target), denied, `${inner.url} is not named`);
    const all = { "net.fetch": [...patterns, `${inner.url}/**`] };
    assert.equal(await (await fetchWithin(guardOf(all, { resolve }), target)).text(), "secret");
  });

  it("of a name are left out where they may not be reached", async () => {
    await using server = await listen(hello);
    const { port } = server;
    const { resolve } = resolving({ "two.example.com": ["127.0.0.2", "127.0.0.1", "fe80::1%1"] });
    const patterns = [`http://two.example.com:${port}/**`, `${server.url}/**`];
    await using _inner = await listen((_, response) => response.end("secret"), {
      host: "127.0.0.2",
      port,
    });
    const guard = guardOf({ "net.fetch": patterns }, { resolve });
    const answer = await fetchWithin(guard, `http://two.example.com:${port}/`);
    assert.equal(await answer.text(), "hello");
  });

  it("that a redirection leads to are checked like the first", async () => {
    let secrets = 0;
    await using inner = await listen((_, response) => {
      secrets += 1;
      response.end("secret");
    });
    await using server = await listen((request, response) =>
      redirecting(302, `http://${request.url?.slice(1)}:${inner.port}/`)(request, response),
    );
    const { resolve } = resolving({ "inside.example.com": ["127.0.0.1"] });
    const guard = guardOf({ "net.fetch": [`${server.url}/**`, "http://**"] }, { resolve });
    for (const host of ["inside.example.com", "127.0.0.1", "localhost"]) {
      await assert.rejects(fetchWithin(guard, `${server.url}/${host}`), denied, host);
    }
    assert.equal(secrets, 0);
  });

  it("are not waited for longer than the job lasts", async () => {
    const job = new AbortController();
    const resolve = (): Promise<never> => new Promise(() => {});
    const guard = guardOf({ "net.fetch": ["http://**"] }, { resolve, signal: job.signal });
    const asked = fetchWithin(guard, "http://slow.example.com/");
    const reason = new Error("enough");
    job.abort(reason);
    await assert.rejects(asked, reason);
  });

  it("are of no interest where nobody is connected to", async () => {
    const guard = guardOf({ "net.fetch": ["data:**"] });
    assert.equal(await (await fetchWithin(guard, "data:text/plain,hello")).text(), "hello");
  });
});

it("a job with a star in its grant reaches nothing on this machine", async () => {
  await using server = await listen((_, response) => response.end("secret"));
  await using scene = await TestRuntime.open();
  const outcome = await scene.run((_, job) => job.fetch(server.url), {
    capabilities: { "net.fetch": ["http://**"] },
  });
  assert.equal(outcome.status === "error" && outcome.failure.code, "permission_denied");
});

it("[ARCP-146] a job reads, writes and fetches within its grant, from its working directory", async () => {
  await using files = await makeFiles();
  await using server = await listen(({ headers }, response) =>
    response.end(headers["traceparent"]),
  );
  const { own, other } = files;
  await using scene = await TestRuntime.open({ rules: { workingDirectory: own } });
  const capabilities = {
    "fs.read": [`${own}/**`],
    "fs.write": [`${own}/out/*`],
    "net.fetch": [`${server.url}/**`],
  };
  await mkdir(`${own}/out`);
  const outcome = await scene.run(
    async (_, job) => {
      await job.writeFile("out/b", await job.readFile("a"));
      await assert.rejects(job.writeFile("a", "x"), denied);
      await assert.rejects(job.readFile(`${other}/a`), denied);
      await assert.rejects(job.fetch("http://127.0.0.1:1/"), denied);
      const told = await (await job.fetch(server.url)).text();
      return [await job.readFile("out/b", "utf8"), told === job.traceContext.traceparent];
    },
    { capabilities },
  );
  assert.deepEqual(resultOf(outcome), ["mine", true]);
  await using homeless = await TestRuntime.open();
  const refused = await homeless.run((_, job) => job.readFile("a"), { capabilities });
  assert.equal(refused.status === "error" && refused.failure.code, "permission_denied");
});
