import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import { loadPage } from "./page.ts";

test("every view is the same document, and may load nothing but files of ours", async (t) => {
  const page = await loadPage(await built(t));
  const [first, ...others] = ["/", "/agents", "/agents/a1", "/coordination/elections", "/log/7"];
  const document = page.find(first ?? "");
  assert.equal(document?.status, 200);
  assert.equal(new TextDecoder().decode(document.body), "<p>the page</p>");
  for (const path of others) assert.equal(page.find(path), document, path);
  const policy = document.headers["Content-Security-Policy"] ?? "";
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
  assert.match(policy, /require-trusted-types-for 'script'/);
  assert.doesNotMatch(policy, /unsafe|\*|https?:|data:/);
  assert.equal(document.headers["Cache-Control"], undefined, "it is asked for again each time");
});

test("scripts and styles say what they are, and are kept for ever", async (t) => {
  const page = await loadPage(await built(t));
  const typeOf = (path: string): string | undefined => page.find(path)?.headers["Content-Type"];
  assert.equal(typeOf("/assets/index-abc.js"), "text/javascript; charset=utf-8");
  assert.equal(typeOf("/assets/index-abc.css"), "text/css; charset=utf-8");
  assert.equal(typeOf("/assets/icon-abc.svg"), "image/svg+xml");
  const { headers } = page.find("/assets/index-abc.js") ?? {};
  assert.match(headers?.["Cache-Control"] ?? "", /immutable/);
});

test("only files that were built are served, whatever is asked for", async (t) => {
  const page = await loadPage(await built(t));
  for (const path of [
    "/assets/",
    "/assets/nothing.js",
    "/assets/../index.html",
    "/assets/..%2findex.html",
    "/assets/secret.txt",
    "/assets/folder",
    "/assets/constructor",
  ]) {
    assert.equal(page.find(path), undefined, path);
  }
});

test("where the page was not built, that is what it says", async (t) => {
  const page = await loadPage(new URL("nothing/", await built(t)));
  const { status, headers, body } = page.find("/") ?? {};
  assert.equal(status, 503);
  assert.equal(headers?.["Content-Type"], "text/plain; charset=utf-8");
  assert.equal(new TextDecoder().decode(body), "dashboard not built; run npm run build\n");
  assert.equal(page.find("/assets/index-abc.js"), undefined);
});

async function built(t: TestContext): Promise<URL> {
  const folder = await mkdtemp(join(tmpdir(), "tipstaff-page-"));
  t.after(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, "assets/folder"), { recursive: true });
  await writeFile(join(folder, "index.html"), "<p>the page</p>");
  for (const name of ["index-abc.js", "index-abc.css", "icon-abc.svg", "secret.txt"]) {
    await writeFile(join(folder, "assets", name), name);
  }
  return pathToFileURL(`${folder}/`);
}
