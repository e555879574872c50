import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { table } from "./table.ts";
import { eachPiece } from "./word-pieces.ts";

const pieces = [
  "un",
  "##aff",
  "##able",
  "cafe",
  "kubernetes",
  "parse",
  "http",
  "headers",
  "!",
  "世",
];
const rows = new Map(pieces.map((piece, row) => [piece, row]));

function cut(text: string): readonly string[] {
  const found: string[] = [];
  eachPiece(text, rows, (row) => found.push(pieces[row] ?? ""));
  return found;
}

describe("word pieces", () => {
  it("are the longest that fit, from the left; a word with an unknown part is left out", () => {
    assert.deepEqual(cut("unaffable"), ["un", "##aff", "##able"]);
    assert.deepEqual(cut("unaffably unable"), ["un", "##able"]);
    assert.deepEqual(cut("able"), []);
  });

  it("are in lower case and without accents, and marks and Chinese letters stand alone", () => {
    assert.deepEqual(cut("Café! CAFE\u0301"), ["cafe", "!", "cafe"]);
    assert.deepEqual(cut("世unaffable世"), ["世", "un", "##aff", "##able", "世"]);
  });

  it("of names with humps are those of their parts, unless the whole is a word", () => {
    assert.deepEqual(cut("parseHTTPHeaders parse_http"), [
      "parse",
      "http",
      "headers",
      "parse",
      "http",
    ]);
    assert.deepEqual(cut("KuberNetes"), ["kubernetes"]);
  });
});

describe("the table", () => {
  it("has what means the same near, and what does not far", () => {
    const like = (one: string, other: string): number => {
      const [left, right] = [one, other].map((text) => {
        const sum = new Float32Array(table().width);
        table().addTo(sum, text, 1);
        return sum;
      });
      return left?.reduce((sum, value, index) => sum + value * (right?.[index] ?? 0), 0) ?? 0;
    };
    assert(like("car", "automobile") > like("car", "poem") + 0.2);
    assert(
      like("send an invoice", "bill the customer") > like("send an invoice", "grow tomatoes") + 0.2,
    );
    assert(Math.abs(like("the same", "The Same") - 1) < 1e-5);
  });

  it("knows which words only wrap a wish, and takes what it does not know for a name", () => {
    for (const word of ["the", "i", "need", "someone", "who", "can", "help"]) {
      assert(table().weightOf(word) < 0.25, `${word} weighs ${table().weightOf(word)}`);
    }
    for (const word of ["invoice", "kubernetes", "translate", "ДОГОВОРЫ"]) {
      assert(table().weightOf(word) > 0.75, `${word} weighs ${table().weightOf(word)}`);
    }
  });
});
