import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { importsOf } from "./rules.ts";

const folder = join(import.meta.dirname, "../../web/src");
const packages = ["preact", "preact/hooks", "@preact/signals", "tipstaff/client"];

test("the dashboard imports the published client and nothing else of ours", () => {
  const strays = readPage().flatMap(({ path, text }) =>
    importsOf({ path, text })
      .filter((imported) => !isInside(path, imported) && !packages.includes(imported))
      .map((imported) => `${path} imports ${imported}`),
  );
  assert.deepEqual(strays, []);
});

test("the dashboard makes no markup out of text", () => {
  const ways =
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|\beval\b|new Function/i;
  const makers = readPage().filter(({ text }) => ways.test(text));
  assert.deepEqual(makers, []);
});

function readPage(): { readonly path: string; readonly text: string }[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const sources = names.filter((name) => /\.tsx?$/.test(name));
  assert.ok(sources.length > 20, "the sources are there");
  return sources.map((path) => ({ path, text: readFileSync(join(folder, path), "utf8") }));
}

function isInside(path: string, imported: string): boolean {
  return (
    imported.startsWith(".") &&
    !join("/", path, "..", imported).startsWith("/..") &&
    !imported.startsWith("../../")
  );
}
