import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  add,
  compare,
  type Decimal,
  decimalOf,
  parseDecimal,
  printDecimal,
  subtract,
  toNumber,
} from "./decimal.ts";

test("[ARCP-155] one dollar less 42 cents is 58 cents, and 70 cents less is 12 cents of debt", () => {
  const left = subtract(read("1.00"), read("0.42"));
  assert.equal(printDecimal(left), "0.58");
  assert.equal(toNumber(left), 0.58);
  const owed = subtract(left, read("0.70"));
  assert.equal(printDecimal(owed), "-0.12");
  assert.equal(toNumber(owed), -0.12);
});

test("[ARCP-155] a tenth and two tenths are three tenths, written as text or as numbers", () => {
  assert.equal(compare(add(read("0.1"), read("0.2")), read("0.3")), 0);
  assert.equal(compare(add(of(0.1), of(0.2)), of(0.3)), 0);
  assert.equal(toNumber(add(of(0.1), of(0.2))), 0.3);
});

test("a sum has the digits of the longer one", () => {
  assert.equal(printDecimal(add(read("1.50"), read("0.50"))), "2.00");
  assert.equal(printDecimal(add(read("10"), read("0.5"))), "10.5");
  assert.equal(printDecimal(add(read("10"), read("5"))), "15");
});

test("a decimal is digits, and perhaps a point with digits behind it", () => {
  for (const text of ["0", "5", "5.25", "007", "0.000", "123456789012345678901234567890.1"]) {
    assert(parseDecimal(text), text);
  }
  for (const text of [
    "",
    ".",
    "5.",
    ".5",
    "-1",
    "+1",
    "1e3",
    "1,5",
    " 1",
    "1 ",
    "1\n",
    "٣",
    "NaN",
  ]) {
    assert.equal(parseDecimal(text), undefined, text);
  }
});

test("[ARCP-155] a number is the shortest decimal that prints it, however small or large", () => {
  for (const [number, text] of [
    [0, "0"],
    [-0, "0"],
    [0.1, "0.1"],
    [-0.25, "-0.25"],
    [1e-7, "0.0000001"],
    [1.5e-7, "0.00000015"],
    [1e21, "1000000000000000000000"],
    [1.5e21, "1500000000000000000000"],
    [2 ** 53, "9007199254740992"],
  ] as const) {
    assert.equal(printDecimal(of(number)), text);
  }
  for (const number of [Number.NaN, Infinity, -Infinity]) {
    assert.equal(decimalOf(number), undefined);
  }
});

test("every finite number comes back from its decimal", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      assert.equal(toNumber(of(number)), number === 0 ? 0 : number);
    }),
    { numRuns: 5_000 },
  );
});

test("[ARCP-155] a decimal becomes the number that its text is", () => {
  fc.assert(
    fc.property(decimalText, (text) => {
      assert.equal(toNumber(read(text)), Number(text));
    }),
    { numRuns: 5_000 },
  );
});

test("text comes back as it was, but for leading zeros", () => {
  fc.assert(
    fc.property(decimalText, (text) => {
      assert.equal(printDecimal(read(text)), text.replace(/^0+(?=[0-9])/, ""));
    }),
  );
});

test("sums, differences and order are those of fractions", () => {
  fc.assert(
    fc.property(decimalText, decimalText, (one, other) => {
      const [left, right] = [read(one), read(other)];
      const place = 10n ** 40n;
      assert.equal(scaled(add(left, right), place), scaled(left, place) + scaled(right, place));
      assert.equal(
        scaled(subtract(left, right), place),
        scaled(left, place) - scaled(right, place),
      );
      const difference = scaled(left, place) - scaled(right, place);
      assert.equal(
        Math.sign(compare(left, right)),
        Number(difference > 0n) - Number(difference < 0n),
      );
    }),
  );
});

test("the nearest number of a decimal is always finite", () => {
  const large = read(`1${"0".repeat(400)}`);
  assert.equal(toNumber(large), Number.MAX_VALUE);
  assert.equal(toNumber(subtract(read("0"), large)), -Number.MAX_VALUE);
});

const digits = fc.string({
  unit: fc.constantFrom(..."0123456789"),
  minLength: 1,
  maxLength: 30,
});
const decimalText = fc
  .tuple(digits, fc.option(digits))
  .map(([whole, fraction]) => (fraction === null ? whole : `${whole}.${fraction}`));

function scaled({ units, scale }: Decimal, place: bigint): bigint {
  return (units * place) / 10n ** BigInt(scale);
}

function read(text: string): Decimal {
  const decimal = parseDecimal(text);
  assert(decimal, text);
  return decimal;
}

function of(number: number): Decimal {
  const decimal = decimalOf(number);
  assert(decimal, String(number));
  return decimal;
}
