import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Decimal, printDecimal, toNumber } from "./decimal.ts";
import { refuse } from "./decision.ts";
import {
  type Amount,
  authorise,
  type Budget,
  type Chain,
  free,
  type Granted,
  isAmount,
  narrow,
  parseAmount,
  printAmount,
  readCost,
  readGrant,
  reduce,
  release,
  remaining,
  reserve,
  restToTell,
  settle,
  spend,
  withTold,
} from "./grants.ts";

const nowMs = Date.parse("2030-01-01T00:00:00Z");

test("[ARCP-154] [ARCP-155] amounts of one currency add up, digit by digit, and others stay apart", () => {
  const { budget } = granted({ "cost.budget": ["USD:1.50", "credits:10", "USD:0.50", "usd:1"] });
  assert.deepEqual(
    budget.map(({ currency, cap }) => printAmount({ currency, value: cap })),
    ["USD:2.00", "credits:10", "usd:1"],
  );
  assert.deepEqual(
    budget.map(({ cap }) => toNumber(cap)),
    [2, 10, 1],
  );
});

test("[ARCP-154] an amount is a currency, a colon and a decimal", () => {
  for (const text of ["USD:5", "USD:5.25", "EUR:0", "a_b-1:0.10", "constructor:1"]) {
    const amount = parseAmount(text);
    assert(amount, text);
    assert.equal(printAmount(amount), text);
  }
  const wrong =
    "USD-5 5:USD USD: :5 USD:abc USD:-1 USD:+1 USD:1e3 USD:.5 USD:5. USD:1.2.3 _A:1 USD:1:2";
  for (const text of [...wrong.split(" "), "", "USD:1\n", " USD:1", "USD: 1"]) {
    assert.equal(parseAmount(text), undefined, text);
    const read = readGrant({ capabilities: { "cost.budget": ["EUR:1", text] } }, nowMs);
    assert.equal(read.refusal?.code, "invalid_argument", text);
    assert.equal(read.refusal.path, "cost.budget[1]");
  }
});

test("[ARCP-144] a grant without capabilities allows nothing", () => {
  for (const asked of [{}, { capabilities: undefined }, { capabilities: {} }]) {
    const read = readGrant(asked, nowMs);
    assert(!read.refusal);
    assert.deepEqual(read, { grant: { capabilities: {} }, budget: [] });
    const answer = authorise([read], { capability: "tool.call", target: "a" }, nowMs);
    assert.equal(answer.refusal?.code, "permission_denied");
  }
});

test("[ARCP-150] a grant ends at a time to come, in UTC, on a day that there is", () => {
  for (const expiresAt of [
    "2030-01-01T00:00:01Z",
    "2030-01-01T00:00:00.001Z",
    "2030-02-28T23:59:59.123456789Z",
    "2032-02-29T00:00:00Z",
  ]) {
    const read = readGrant({ expiresAt }, nowMs);
    assert(!read.refusal, expiresAt);
    assert.equal(read.grant.expiresAt, expiresAt);
    assert.equal(read.grant.expiresAtMs, Date.parse(expiresAt));
  }
  for (const expiresAt of [
    "2030-01-01T00:00:00Z",
    "2029-12-31T23:59:59Z",
    "2030-02-30T00:00:00Z",
    "2031-02-29T00:00:00Z",
    "2030-13-01T00:00:00Z",
    "2030-01-02T24:00:00Z",
    "2030-01-02T00:00:60Z",
    "2030-01-02T00:00:00+00:00",
    "2030-01-02T00:00:00z",
    "2030-01-02T00:00Z",
    "2030-01-02T00:00:00.Z",
    "2030-01-02",
    "tomorrow",
    "",
  ]) {
    const read = readGrant({ expiresAt }, nowMs);
    assert.equal(read.refusal?.code, "invalid_argument", expiresAt);
    assert.equal(read.refusal.path, "expiresAt");
  }
});

test("[ARCP-145] time is looked at first, then money, then what is to be done", () => {
  const own = granted({ "tool.call": ["a"], "cost.budget": ["USD:1.00"] }, "2030-01-01T00:00:10Z");
  const poor: Granted = { ...own, budget: spendOn(own, "USD:1.12") };
  const forbidden = { capability: "tool.call", target: "b" };
  const laterMs = nowMs + 10_000;
  assert.equal(authorise([poor], forbidden, laterMs).refusal?.code, "grant_expired");
  assert.deepEqual(
    authorise([poor], forbidden, laterMs - 1),
    refuse("budget_exhausted", "this job has -0.12 USD left; end the work", {
      left: { currency: "USD", amount: { units: -12n, scale: 2 } },
    }),
  );
  assert.equal(authorise([own], forbidden, laterMs - 1).refusal?.code, "permission_denied");
  const allowed = { capability: "tool.call", target: "a" };
  assert.deepEqual(authorise([own], allowed, laterMs - 1), { target: "a" });
});

test("[ARCP-157] [ARCP-159] nothing left is too little, in any currency, here or above", () => {
  const operation = { capability: "tool.call", target: "a" };
  const own = granted({ "tool.call": ["a"], "cost.budget": ["USD:1", "EUR:1"] });
  const bare = granted({ "tool.call": ["a"] });
  const spent: Granted = { ...own, budget: spendOn(own, "EUR:1.00") };
  assert(!authorise([own], operation, nowMs).refusal);
  assert.equal(authorise([spent], operation, nowMs).refusal?.left?.currency, "EUR");
  assert.match(
    authorise([bare, own, spent], operation, nowMs).refusal?.message ?? "",
    /descends from has 0\.00 EUR left/,
  );
  assert(!authorise([bare, own, own], operation, nowMs).refusal);
  const none = granted({ "tool.call": ["a"], "cost.budget": ["USD:0"] });
  assert.equal(authorise([none], operation, nowMs).refusal?.code, "budget_exhausted");
});

test("what was set aside for an operation does not stand in its way", () => {
  const own = granted({ "tool.call": ["a"], "cost.budget": ["USD:1"] });
  const reserved = reserve([own.budget], [amount("USD:1")]);
  assert(!reserved.refusal);
  const [budget = []] = reserved.budgets;
  const chain: Chain = [{ ...own, budget }];
  assert(!authorise(chain, { capability: "tool.call", target: "a" }, nowMs).refusal);
});

test("to spend is allowed in the currencies of the budget, also when nothing is left", () => {
  const own = granted({ "cost.budget": ["USD:1"] });
  const poor: Granted = { ...own, budget: spendOn(own, "USD:2") };
  assert.deepEqual(authorise([poor], { capability: "cost.budget", target: "USD" }, nowMs), {
    target: "USD",
  });
  const other = authorise([own], { capability: "cost.budget", target: "usd" }, nowMs);
  assert.equal(other.refusal?.code, "permission_denied");
});

test("[ARCP-161] models need a grant, unless the runtime says that silence allows them", () => {
  const operation = { capability: "model.use", target: "gpt-4o" };
  const silent = granted({ "cost.budget": ["USD:1"] });
  const rules = { allowsUnnamedModels: true };
  assert(authorise([silent], operation, nowMs).refusal);
  assert.deepEqual(authorise([silent], operation, nowMs, rules), { target: "gpt-4o" });
  assert(authorise([granted({ "model.use": [] })], operation, nowMs, rules).refusal);
  const poor: Granted = { ...silent, budget: spendOn(silent, "USD:1") };
  assert.equal(authorise([poor], operation, nowMs, rules).refusal?.code, "budget_exhausted");
});

test("[ARCP-155] [ARCP-156] [ARCP-159] what is spent is counted here and above, exactly, also below zero", () => {
  const parent = granted({ "cost.budget": ["USD:1.00", "EUR:1"] });
  const bare = granted({});
  const child = granted({ "cost.budget": ["USD:0.50"] });
  const before = [child.budget, bare.budget, parent.budget];
  const once = spend(before, amount("USD:0.42"));
  assert.deepEqual(left(once, "USD"), ["0.08", undefined, "0.58"]);
  const twice = spend(once, cost(0.7));
  assert.deepEqual(left(twice, "USD"), ["-0.62", undefined, "-0.12"]);
  assert.deepEqual(left(twice, "EUR"), [undefined, undefined, "1"]);
  assert.equal(once[1], bare.budget);
  assert.deepEqual(
    left(before, "USD"),
    ["0.50", undefined, "1.00"],
    "they are not changed in place",
  );
  assert.deepEqual(spend(before, amount("usd:1")), before);
});

test("[ARCP-156] a cost below zero, or that is no number, is not counted", () => {
  for (const value of [-0.01, Number.NaN, Infinity, -Infinity]) {
    assert.equal(readCost("USD", value).refusal?.code, "invalid_argument");
  }
  for (const value of [0, -0, 1e-7, 1e15]) assert(!readCost("USD", value).refusal);
});

test("an amount above the limit is refused, in a cost, a budget and a reservation", () => {
  assert.equal(
    readCost("USD", 1e308).refusal?.message,
    "the cost 1e+308 is above the limit of 1000000000000000",
  );
  assert.match(readCost("USD", 1e-200).refusal?.message ?? "", /more than 100 digits after/);
  const capabilities = { "cost.budget": ["USD:1000000000000000", "USD:0.01"] };
  const { refusal } = readGrant({ capabilities }, nowMs);
  assert.equal(refusal?.code, "invalid_argument");
  assert.match(
    refusal?.message ?? "",
    /cost.budget: the amount of USD is above the limit of 1000000000000000/,
  );
  assert(!isAmount(amount("USD:1000000000000000.01")));
  assert(isAmount(amount("USD:1000000000000000.00")));
});

test("a reservation is whole, here and above, or not at all", () => {
  const parent = granted({ "cost.budget": ["USD:1", "EUR:5"] });
  const child = granted({ "cost.budget": ["USD:0.8", "EUR:1"] });
  const before = [child.budget, parent.budget];
  const first = reserve(before, [amount("USD:0.5"), amount("EUR:1")]);
  assert(!first.refusal);
  const refused = reserve(first.budgets, [amount("USD:0.3"), amount("EUR:0.1")]);
  assert.deepEqual(
    refused,
    refuse("budget_exhausted", "0 EUR can be set aside, not 0.1", {
      left: { currency: "EUR", amount: { units: 0n, scale: 0 } },
    }),
  );
  assert(reserve(first.budgets, [amount("USD:0.2"), amount("USD:0.11")]).refusal, "both together");
  assert(!reserve(first.budgets, [amount("USD:0.2"), amount("USD:0.1")]).refusal);
  assert(!reserve(first.budgets, [amount("GBP:100")]).refusal, "nobody limits it");
  // Its parent's money may be what is missing.
  const elsewhere = spend([parent.budget], amount("USD:0.9"));
  assert(reserve([child.budget, ...elsewhere], [amount("USD:0.2")]).refusal);
});

test("settling counts what it came to, be it less or more, and releasing counts nothing", () => {
  const { budget } = granted({ "cost.budget": ["USD:1.00"] });
  const held = reserve([budget], [amount("USD:0.60")]);
  assert(!held.refusal);
  const reserved = [amount("USD:0.60")];
  const settleFor = (...actual: Amount[]) => settle(held.budgets, { reserved, actual });
  assert.deepEqual(left(settleFor(amount("USD:0.10")), "USD"), ["0.90"]);
  assert.deepEqual(left(settleFor(amount("USD:1.10")), "USD"), ["-0.10"]);
  assert.deepEqual(left(settleFor(amount("USD:0.10"), amount("USD:0.10")), "USD"), ["0.80"]);
  const [counter] = release(held.budgets, reserved)[0] ?? [];
  assert.equal(counter && printDecimal(free(counter)), "1.00");
  assert.throws(() => release([budget], reserved), /not reserved/);
});

test("[ARCP-158] the rest is told at first, after every twentieth, and when nothing is left", () => {
  let { budget } = granted({ "cost.budget": ["USD:1.00"] });
  const tell = (value: string): string | undefined => {
    const spent = amount(`USD:${value}`);
    const [after = []] = spend([budget], spent);
    const rest = restToTell(after, spent);
    budget = rest ? withTold(after, "USD") : after;
    return rest && printDecimal(rest);
  };
  assert.equal(tell("0.000"), undefined);
  assert.equal(tell("0.001"), "0.999");
  assert.equal(tell("0.049"), undefined);
  assert.equal(tell("0.0009"), undefined);
  assert.equal(tell("0.0001"), "0.9490", "a twentieth since it was last told");
  assert.equal(tell("0.9"), "0.0490");
  assert.equal(tell("0.048"), undefined);
  assert.equal(tell("0.001"), "0.0000", "nothing left, though it is less than a twentieth");
  assert.equal(tell("0.001"), undefined);
  assert.equal(tell("0"), undefined);
  assert.equal(tell("0.049"), "-0.0500");
  assert.equal(restToTell(budget, amount("EUR:1")), undefined);
});

test("the rest is told after each of four calls that cost 30 cents of a dollar", () => {
  let { budget } = granted({ "cost.budget": ["USD:1.00"] });
  const told: number[] = [];
  for (let call = 0; call < 4; call++) {
    const [after = []] = spend([budget], cost(0.3));
    const rest = restToTell(after, cost(0.3));
    if (rest) told.push(toNumber(rest));
    budget = withTold(after, "USD");
  }
  assert.deepEqual(told, [0.7, 0.4, 0.1, -0.2]);
});

test("[ARCP-162] [ARCP-166] a child gets what it asks for if its parent has it", () => {
  const parent = granted(
    { "fs.read": ["/w/**"], "cost.budget": ["USD:0.3"] },
    "2030-01-02T00:00:00Z",
  );
  const asked = granted({ "fs.read": ["/w/a/*"], "cost.budget": ["USD:0.1", "USD:0.2"] });
  const got = narrow([parent], asked, nowMs);
  assert(!got.refusal);
  assert.deepEqual(got.grant, {
    capabilities: asked.grant.capabilities,
    expiresAt: "2030-01-02T00:00:00Z",
    expiresAtMs: Date.parse("2030-01-02T00:00:00Z"),
  });
  assert.equal(got.budget, asked.budget);
  assert.deepEqual(left([parent.budget], "USD"), ["0.3"], "nothing is set aside for it");
});

test("[ARCP-162] [ARCP-165] [ARCP-166] a child gets no more than its parent has", () => {
  const parent = granted(
    { "fs.read": ["/w/**"], "tool.call": ["search.*"], "cost.budget": ["USD:1"] },
    "2030-01-02T00:00:00Z",
  );
  for (const [capabilities, expiresAt, said] of [
    [{ "fs.read": ["/w/a", "/**"] }, undefined, /^fs\.read\[1\] is wider .*: it would allow ""$/],
    [{ "fs.write": ["/w/a"] }, undefined, /^fs\.write\[0\] .*"\/w\/a"/],
    [{ "tool.call": ["*"] }, undefined, /^tool\.call\[0\]/],
    [
      { "cost.budget": ["USD:1.01"] },
      undefined,
      /^cost\.budget: 1 USD are left above it, not 1\.01/,
    ],
    [{ "cost.budget": ["EUR:0"] }, undefined, /no budget in EUR/],
    [{ "cost.budget": ["usd:1"] }, undefined, /no budget in usd/],
    [{}, "2030-01-02T00:00:00.001Z", /ends at 2030-01-02T00:00:00Z/],
  ] as const) {
    const { refusal } = narrow([parent], granted(capabilities, expiresAt), nowMs);
    assert.equal(refusal?.code, "grant_too_wide", said.source);
    assert.match(refusal.message, said);
  }
  assert(!narrow([parent], granted({ "fs.write": [], "cost.budget": [] }), nowMs).refusal);
  const sooner = narrow([parent], granted({}, "2030-01-01T12:00:00Z"), nowMs);
  assert.equal(sooner.refusal ?? sooner.grant.expiresAt, "2030-01-01T12:00:00Z");
  const late = narrow([parent], granted({}), Date.parse("2030-01-02T00:00:00Z"));
  assert.equal(late.refusal?.code, "grant_expired");
});

test("[ARCP-165] a child gets no money that is spent or set aside, at its parent's or above", () => {
  const root = granted({ "cost.budget": ["USD:1"] });
  const parent = granted({ "cost.budget": ["USD:0.9"] });
  const asked = granted({ "cost.budget": ["USD:0.6"] });
  assert(!narrow([parent, root], asked, nowMs).refusal);
  const spentAbove: Granted = { ...root, budget: spendOn(root, "USD:0.41") };
  assert.equal(narrow([parent, spentAbove], asked, nowMs).refusal?.code, "grant_too_wide");
  const held = reserve([parent.budget], [amount("USD:0.31")]);
  assert(!held.refusal);
  const [budget = []] = held.budgets;
  assert.equal(narrow([{ ...parent, budget }, root], asked, nowMs).refusal?.code, "grant_too_wide");
  // One that has no money of its own has none to give, whatever those above it have.
  assert.equal(narrow([granted({}), root], asked, nowMs).refusal?.code, "grant_too_wide");
  assert(!narrow([granted({}), root], granted({}), nowMs).refusal);
});

test("[ARCP-84] [ARCP-205] what was asked for can be reduced: to fewer targets, to less money, to a budget where there was none", () => {
  const asked = {
    "fs.read": ["/w/**"],
    "tool.call": ["a", "b"],
    "cost.budget": ["USD:2", "EUR:1"],
  };
  const money = { "cost.budget": ["USD:1.50", "USD:0.50", "EUR:0"] };
  for (const allowed of [
    asked,
    money,
    { ...money, "fs.read": ["/w/a"], "tool.call": [] },
    { "cost.budget": ["USD:1", "EUR:1", "credits:5"] },
  ]) {
    assert.deepEqual(reduce(asked, allowed), allowed);
  }
  for (const allowed of [
    {},
    { ...asked, "fs.read": ["/**"] },
    { ...asked, "fs.write": ["/w/a"] },
    { "cost.budget": ["USD:2.01", "EUR:1"] },
    { "cost.budget": ["USD:2"] },
    { ...asked, "fs.everything": [] },
    null,
    "all",
  ]) {
    assert.equal(reduce(asked, allowed), undefined, JSON.stringify(allowed));
  }
  assert.deepEqual(reduce({}, { "cost.budget": ["USD:1"] }), { "cost.budget": ["USD:1"] });
});

test("[ARCP-159] two children may each have all of the rest, and the first to spend it has it", () => {
  const parent = granted({ "tool.call": ["*"], "cost.budget": ["USD:1"] });
  const one = narrow([parent], granted({ "tool.call": ["a"], "cost.budget": ["USD:1"] }), nowMs);
  const other = narrow([parent], granted({ "tool.call": ["a"] }), nowMs);
  assert(!one.refusal && !other.refusal);
  const [, above = []] = spend([one.budget, parent.budget], amount("USD:1"));
  const answer = authorise(
    [other, { ...parent, budget: above }],
    { capability: "tool.call", target: "a" },
    nowMs,
  );
  assert.equal(answer.refusal?.code, "budget_exhausted");
});

test("however jobs spend, reserve, settle and release, no reservation exceeds a cap", () => {
  const currency = fc.constantFrom("USD", "EUR");
  const price = fc.tuple(
    currency,
    fc.oneof(
      fc.nat(200_000),
      fc.nat(20).map((cents) => cents * 10_000),
    ),
  );
  const prices = fc.array(price, { minLength: 1, maxLength: 2 });
  const caps = fc.dictionary(currency, fc.nat(2_000_000), { noNullPrototype: true });
  const job = fc.record({ parent: fc.nat(7), caps });
  const kind = fc.constantFrom("spend", "reserve", "reserve", "settle", "release");
  const act = fc.record({ at: fc.nat(), kind, prices });
  const seen = { spend: 0, reserve: 0, refused: 0, settle: 0, release: 0 };
  fc.assert(
    fc.property(
      fc.array(job, { minLength: 1, maxLength: 7, size: "max" }),
      fc.array(act, { maxLength: 60, size: "max" }),
      (jobs, acts) => {
        const family = new Family(jobs);
        for (const { at, kind, prices } of acts) {
          const outcome = family[kind](at, prices);
          if (outcome) seen[outcome]++;
          family.check();
        }
      },
    ),
    { numRuns: 300 },
  );
  assert(Math.min(...Object.values(seen)) > 500, JSON.stringify(seen));
});

type Price = readonly [currency: string, millionths: number];

/** Jobs with their budgets, and beside each counter a plain reckoning in whole millionths. */
class Family {
  readonly #jobs: {
    /** Which jobs are in its chain: itself, its parent, and so on. */
    readonly chain: readonly number[];
    budget: Budget;
    readonly tallies: ReadonlyMap<string, Tally>;
  }[] = [];
  readonly #open: { readonly at: number; readonly prices: readonly Price[] }[] = [];

  constructor(jobs: readonly { readonly parent: number; readonly caps: Record<string, number> }[]) {
    for (const { parent, caps } of jobs) {
      const at = this.#jobs.length;
      const prices = Object.entries(caps);
      this.#jobs.push({
        // A parent that is not there yet makes it a root.
        chain: [at, ...(this.#jobs[parent]?.chain ?? [])],
        budget: granted({ "cost.budget": prices.map(printPrice) }).budget,
        tallies: new Map(prices.map(([currency, cap]) => [currency, new Tally(cap)])),
      });
    }
  }

  spend(pick: number, prices: readonly Price[]): "spend" {
    const at = pick % this.#jobs.length;
    for (const price of prices) {
      this.#put(at, spend(this.#budgets(at), amountOf(price)));
      this.#tally(at, price, (tally, by) => {
        tally.spent += by;
      });
    }
    return "spend";
  }

  reserve(pick: number, prices: readonly Price[]): "reserve" | "refused" {
    const at = pick % this.#jobs.length;
    const answer = reserve(this.#budgets(at), prices.map(amountOf));
    this.#reserve(at, prices, 1);
    const tallies = this.#chainOf(at).flatMap(({ tallies }) =>
      prices.flatMap(([currency]) => tallies.get(currency) ?? []),
    );
    const fits = tallies.every(({ cap, spent, reserved }) => spent + reserved <= cap);
    assert.equal(answer.refusal === undefined, fits);
    if (answer.refusal) {
      this.#reserve(at, prices, -1);
      return "refused";
    }
    this.#put(at, answer.budgets);
    this.#open.push({ at, prices });
    return "reserve";
  }

  settle(pick: number, actual: readonly Price[]): "settle" | undefined {
    const [closed] = this.#open.splice(pick % (this.#open.length || 1), 1);
    if (!closed) return undefined;
    const { at, prices } = closed;
    const amounts = { reserved: prices.map(amountOf), actual: actual.map(amountOf) };
    this.#put(at, settle(this.#budgets(at), amounts));
    this.#reserve(at, prices, -1);
    for (const currency of ["USD", "EUR"]) {
      const came = sumOf(actual, currency);
      const within = Math.min(came, sumOf(prices, currency));
      this.#tally(at, [currency, came], (tally, by) => {
        tally.spent += by;
        tally.foreseen += within;
      });
    }
    return "settle";
  }

  release(pick: number): "release" | undefined {
    const [closed] = this.#open.splice(pick % (this.#open.length || 1), 1);
    if (!closed) return undefined;
    this.#put(closed.at, release(this.#budgets(closed.at), closed.prices.map(amountOf)));
    this.#reserve(closed.at, closed.prices, -1);
    return "release";
  }

  check(): void {
    for (const { budget, tallies } of this.#jobs) {
      assert.equal(budget.length, tallies.size);
      for (const counter of budget) {
        const tally = tallies.get(counter.currency);
        assert(tally);
        const { cap, spent, reserved, foreseen } = tally;
        assert.equal(inMillionths(counter.spent), spent);
        assert.equal(inMillionths(counter.reserved), reserved);
        assert.equal(inMillionths(remaining(counter)), cap - spent);
        assert.equal(inMillionths(free(counter)), cap - spent - reserved);
        assert(foreseen + reserved <= cap, "reserved beyond the cap");
      }
    }
  }

  #chainOf(at: number) {
    return (this.#jobs[at]?.chain ?? []).flatMap((other) => this.#jobs[other] ?? []);
  }

  #budgets(at: number): readonly Budget[] {
    return this.#chainOf(at).map(({ budget }) => budget);
  }

  #put(at: number, budgets: readonly Budget[]): void {
    for (const [place, job] of this.#chainOf(at).entries()) job.budget = budgets[place] ?? [];
  }

  #reserve(at: number, prices: readonly Price[], sign: 1 | -1): void {
    for (const price of prices) {
      this.#tally(at, price, (tally, by) => {
        tally.reserved += sign * by;
      });
    }
  }

  #tally(at: number, [currency, by]: Price, count: (tally: Tally, by: number) => void): void {
    for (const { tallies } of this.#chainOf(at)) {
      const tally = tallies.get(currency);
      if (tally) count(tally, by);
    }
  }
}

class Tally {
  readonly cap: number;
  spent = 0;
  reserved = 0;
  /** Of what was spent, what came out of reservations and was within them. */
  foreseen = 0;

  constructor(cap: number) {
    this.cap = cap;
  }
}

function sumOf(prices: readonly Price[], wanted: string): number {
  return prices.reduce((sum, [currency, by]) => (currency === wanted ? sum + by : sum), 0);
}

function amountOf(price: Price): Amount {
  return amount(printPrice(price));
}

/** With as few digits as it takes, so that scales differ. */
function printPrice([currency, millionths]: Price): string {
  const digits = String(millionths).padStart(7, "0");
  const text = `${digits.slice(0, -6)}.${digits.slice(-6)}`;
  return `${currency}:${text.replace(/\.?0+$/, "")}`;
}

function inMillionths({ units, scale }: Decimal): number {
  return Number((units * 1_000_000n) / 10n ** BigInt(scale));
}

function granted(capabilities: unknown, expiresAt?: string): Granted {
  const read = readGrant({ capabilities, expiresAt }, nowMs);
  assert(!read.refusal);
  return read;
}

function spendOn({ budget }: Granted, text: string): Budget {
  const [after = []] = spend([budget], amount(text));
  return after;
}

function amount(text: string): Amount {
  const read = parseAmount(text);
  assert(read, text);
  return read;
}

function cost(value: number): Amount {
  const read = readCost("USD", value);
  assert(!read.refusal);
  return read.amount;
}

function left(budgets: readonly Budget[], currency: string): readonly (string | undefined)[] {
  return budgets.map((budget) => {
    const counter = budget.find((one) => one.currency === currency);
    return counter && printDecimal(remaining(counter));
  });
}
