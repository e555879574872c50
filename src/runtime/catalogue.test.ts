import assert from "node:assert/strict";
import { test } from "node:test";
import { Catalogue, type Offer } from "./catalogue.ts";

function catalogueOf(...references: string[]): Catalogue {
  const catalogue = new Catalogue();
  for (const reference of references) catalogue.add(offerOf(reference));
  return catalogue;
}

function offerOf(reference: string): Offer {
  const [name = "", version] = reference.split("@");
  return { name, ...(version !== undefined && { version }), isRepeatable: false };
}

function meaning(catalogue: Catalogue, reference: string): string {
  const resolved = catalogue.resolve(reference);
  return resolved.refusal ? resolved.refusal.code : resolved.agent;
}

test("[ARCP-100] a reference is a name, or a name and a version after the first @", () => {
  const catalogue = catalogueOf("pdf@1.0", "a.b_c-9");
  assert.equal(meaning(catalogue, "pdf@1.0"), "pdf@1.0");
  assert.equal(meaning(catalogue, "a.b_c-9"), "a.b_c-9");
  for (const wrong of ["", "Pdf", "-pdf", "pdf@", "pdf@1@2", "pdf 1", "@1", "pdf@a b", "pdf\n"]) {
    assert.equal(meaning(catalogue, wrong), "invalid_argument", wrong);
  }
});

test("[ARCP-101] a name that nobody offers and a version that nobody offers are told apart", () => {
  const catalogue = catalogueOf("pdf@1.0");
  assert.equal(meaning(catalogue, "csv"), "skill_not_found");
  assert.equal(meaning(catalogue, "pdf@2.0"), "skill_version_not_found");
  assert.equal(meaning(catalogue, "pdf@1.00"), "skill_version_not_found");
  catalogue.setDefault("pdf", "3.0");
  assert.equal(meaning(catalogue, "pdf"), "skill_version_not_found");
});

test("[ARCP-102] a name alone means the default, else the one without version, else the highest", () => {
  const numbered = ["pdf@1.9.0", "pdf@1.10.0", "pdf@1.10.0-rc.2", "pdf@1.10.0-rc.10"];
  const catalogue = catalogueOf(...numbered);
  assert.equal(meaning(catalogue, "pdf"), "pdf@1.10.0");
  catalogue.add(offerOf("pdf"));
  assert.equal(meaning(catalogue, "pdf"), "pdf");
  catalogue.setDefault("pdf", "1.9.0");
  assert.equal(meaning(catalogue, "pdf"), "pdf@1.9.0");
  assert.equal(meaning(catalogueOf("pdf@old", "pdf@new"), "pdf"), "pdf@new");
  const early = catalogueOf("pdf@2.0.0-alpha.1", "pdf@2.0.0-alpha.beta", "pdf@2.0.0-alpha");
  assert.equal(meaning(early, "pdf"), "pdf@2.0.0-alpha.beta");
});

test("an agent is there as long as one who offers it is, and the default outlives them", () => {
  const catalogue = new Catalogue();
  const one = catalogue.add(offerOf("pdf@1"));
  const other = catalogue.add(offerOf("pdf@1"));
  catalogue.setDefault("pdf", "1");
  one[Symbol.dispose]();
  one[Symbol.dispose]();
  assert.equal(meaning(catalogue, "pdf"), "pdf@1");
  other[Symbol.dispose]();
  assert.equal(meaning(catalogue, "pdf"), "skill_not_found");
  assert.deepEqual(catalogue.list(), []);
  catalogue.add(offerOf("pdf@1"));
  assert.deepEqual(catalogue.list(), [{ name: "pdf", versions: ["1"], default: "1" }]);
});

test("names that no reference could mean are not offered", () => {
  for (const wrong of ["Pdf", "", "a b", "a@1 2"]) {
    assert.throws(() => new Catalogue().add(offerOf(wrong)), /is no (name|version)/);
  }
});

test("a job may be repeated only if all who offer its agent say so, and only while they are there", () => {
  const isRepeatable = (catalogue: Catalogue): boolean => {
    const resolved = catalogue.resolve("sum");
    return !resolved.refusal && resolved.isRepeatable;
  };
  const catalogue = new Catalogue();
  const steady = catalogue.add({ name: "sum", isRepeatable: true });
  assert(isRepeatable(catalogue));
  const delicate = catalogue.add({ name: "sum", isRepeatable: false });
  assert(!isRepeatable(catalogue));
  delicate[Symbol.dispose]();
  assert(isRepeatable(catalogue));
  catalogue.add({ name: "sum", isRepeatable: false });
  steady[Symbol.dispose]();
  assert(!isRepeatable(catalogue));
});
