/**
 * A small office to look at: a dozen agents at work, one that waits for a person, one that falls silent, a task
 * that failed for good. It goes on until ctrl-c, or for as many seconds as its argument says, and outlives an outage
 * of the daemon: it registers its agents again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, connect, type Lease } from "tipstaff/client";

const seconds = Number(process.argv[2] ?? Number.POSITIVE_INFINITY);
const stopping = new AbortController();
process.once("SIGINT", () => stopping.abort());
const { signal } = stopping;
/** How long to wait for a daemon that is away. */
const outageMsMax = 3_600_000;

/** Created once, however often the daemon is away. */
const key = `demo-${Date.now()}`;
const courierTtlMs = 15_000;

/** Registers a dozen agents and lets them work. Ends with ctrl-c, or rejects if the daemon was away for too long. */
async function workShift(): Promise<void> {
  await using client = await connect({ waitMs: outageMsMax, signal });
  await using office = new AsyncDisposableStack();

  async function hire(name: string, description: string, tools: string[]): Promise<Agent> {
    return office.use(await client.register({ name, description, tools, ttlMs: 10_000 }));
  }

  const scrapers = [
    await hire("scraper-1", "Fetches invoices from the web pages of suppliers", ["browser"]),
    await hire("scraper-2", "Fetches delivery notes from web pages", ["browser"]),
  ];
  const parsers = [
    await hire("parser-1", "Reads totals and dates from scanned documents", ["ocr", "pdf"]),
    await hire("parser-2", "Reads tables from documents", ["pdf"]),
  ];
  const payer = await hire("payer", "Pays what was approved", ["bank"]);
  const planners = [
    await hire("planner-a", "Plans the day of the others", ["calendar"]),
    await hire("planner-b", "Plans when planner-a is away", ["calendar"]),
  ];
  const others = await Promise.all([
    hire("mailer", "Writes reminders and sends them", ["mail"]),
    hire("translator", "Translates contracts into German", []),
    hire("archivist", "Files what is done where it can be found again", ["storage"]),
    hire("reviewer", "Reads changes to programs and says what is wrong", ["git"]),
  ]);
  const { id: courier } = await client.call("registerAgent", {
    card: { name: "courier", description: "Carries things through tunnels", tools: ["van"] },
    ttlMs: courierTtlMs,
  });

  for (const planner of planners) office.use(await planner.campaign("planners"));
  const leases: Lease[] = [];
  for (const [index, scraper] of scrapers.entries()) {
    const taken = await scraper.acquire(`invoice-${42 + index}`, { wait: true, signal });
    leases.push(office.use(taken));
  }
  await payer.report({ state: "waiting", note: "May I pay 1,240 EUR to Acme?" });
  await Promise.all(others.map((agent) => agent.report({ state: "idle" })));
  for (const planner of planners) {
    await planner.report({ state: "thinking", note: "about tomorrow" });
  }
  await client.tasks.create({ type: "ship parcel", requiredTools: ["crane"], key: `${key}-stuck` });
  await client.tasks.create({ type: "read scan", input: "too dark", key: `${key}-doomed` });

  async function read(parser: Agent): Promise<void> {
    for await (const task of client.tasks.claim(parser, { types: ["read scan"], signal })) {
      const scan = task.input.json<string>();
      await parser.report({ state: "reading", note: scan });
      await sleep(1_000 + Math.random() * 3_000, undefined, { signal });
      if (scan === "too dark") await task.fail("the scan is too dark to read");
      else await task.complete({ total: Math.round(Math.random() * 1_000) });
      await parser.report({ state: "idle" });
    }
  }

  async function fetchScans(): Promise<void> {
    for (let number = 1; ; number++) {
      const scraper = scrapers[number % scrapers.length];
      await scraper?.report({ state: "reading", note: `acme.example/invoices/${number}` });
      await client.tasks.create({ type: "read scan", input: `scan-${number}.pdf` });
      await sleep(2_000, undefined, { signal });
    }
  }

  /** Missed after one time to live and heard again before the second is over, when it would be declared dead. */
  async function drive(): Promise<void> {
    for (;;) {
      await sleep(1.8 * courierTtlMs, undefined, { signal });
      await client.call("heartbeat", { agentId: courier });
    }
  }

  /** Rejects when an agent was declared dead or a lease ran out, as after a long outage of the daemon. */
  async function stayHired(): Promise<never> {
    const lost = [...scrapers, ...parsers, payer, ...planners, ...others, ...leases];
    return await new Promise((_, reject) => {
      for (const { signal } of lost) signal.addEventListener("abort", () => reject(signal.reason));
    });
  }

  console.log("12 demo agents running; ctrl-c stops them");
  // The timer alone must not keep the process alive after ctrl-c.
  if (Number.isFinite(seconds)) setTimeout(() => stopping.abort(), seconds * 1_000).unref();
  await Promise.race([...parsers.map(read), fetchScans(), drive(), stayHired()]);
}

while (!signal.aborted) {
  try {
    await workShift();
  } catch (error) {
    if (signal.aborted) break;
    const reason = error instanceof Error ? error.message : String(error);
    console.log(`${reason}\nwaiting for the daemon`);
    await sleep(1_000, undefined, { signal }).catch(() => {});
  }
}
