import assert from "node:assert/strict";
import { test } from "node:test";
import { readableAmount } from "./amounts.ts";

test("money has two digits after the decimal point, four if it is small, and is never rounded up", () => {
  const cases = [
    ["5", "USD", "5.00"],
    ["1234.5", "USD", "1234.50"],
    ["0.999999", "EUR", "0.99"],
    ["0.0042195", "USD", "0.0042"],
    ["-0.25", "EUR", "-0.25"],
    ["12.50", "credits", "12.5"],
    ["3.00", "credits", "3"],
  ] as const;
  for (const [amount, currency, read] of cases) {
    assert.equal(readableAmount(amount, currency), read, `${amount} ${currency}`);
  }
});
