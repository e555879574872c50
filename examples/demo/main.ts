/**
 * A small office to look at: a dozen agents at work, one that asks a person, one that misses heartbeats, a task
 * that failed for good. It runs until ctrl-c, or for as many seconds as its argument says. After an outage of the
 * daemon it registers its agents again where necessary. At its end it removes its agents and its tasks.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, type Client, type CreateTask, connect, type Lease } from "tipstaff/client";

const seconds = Number(process.argv[2] ?? Number.POSITIVE_INFINITY);
const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => stopping.abort());
const { signal } = stopping;
/** How long to wait for a daemon that is away. */
const outageMsMax = 3_600_000;

/** Created once, however often the daemon is away. */
const key = `demo-${Date.now()}`;
const courierTtlMs = 15_000;
const cleanUpMsMax = 10_000;

const bills = [
  { amount: "1,240", payee: "Acme" },
  { amount: "86", payee: "the printer" },
  { amount: "310", payee: "Harbour Lines" },
] as const;

/** Ids of the tasks that the demo created and no agent has completed. */
const openTasks = new Set<string>();

/** Registers a dozen agents and lets them work. Ends with ctrl-c, or rejects if the daemon was away for too long. */
async function workShift(): Promise<void> {
  await using client = await connect({ waitMs: outageMsMax, signal });
  await using office = new AsyncDisposableStack();
  office.defer(async () => {
    if (signal.aborted) await cancelTasks(client);
  });

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
  office.defer(async () => {
    const patience = { patienceMs: cleanUpMsMax };
    await client.call("deregisterAgent", { agentId: courier }, patience).catch(() => {});
  });

  for (const planner of planners) office.use(await planner.campaign("planners"));
  const leases: Lease[] = [];
  for (const [index, scraper] of scrapers.entries()) {
    const taken = await scraper.acquire(`supplier-${index + 1}`, { wait: true, signal });
    leases.push(office.use(taken));
  }
  await Promise.all(others.map((agent) => agent.report({ state: "idle" })));
  for (const planner of planners) {
    await planner.report({ state: "thinking", note: "about tomorrow" });
  }
  await create({ type: "ship parcel", requiredTools: ["crane"], key: `${key}-stuck` });
  await create({ type: "read scan", input: "too dark", key: `${key}-doomed` });

  async function create(task: CreateTask): Promise<void> {
    const { id } = await client.tasks.create(task);
    openTasks.add(id);
  }

  async function read(parser: Agent): Promise<void> {
    for await (const task of client.tasks.claim(parser, { types: ["read scan"], signal })) {
      const scan = task.input.json<string>();
      await parser.report({ state: "reading", note: scan });
      await sleep(1_000 + Math.random() * 3_000, undefined, { signal });
      if (scan === "too dark") await task.fail("the scan is too dark to read");
      else {
        await task.complete({ total: Math.round(Math.random() * 1_000) });
        openTasks.delete(task.id);
      }
      await parser.report({ state: "idle" });
    }
  }

  async function fetchScans(): Promise<void> {
    for (let number = 1; ; number++) {
      const scraper = scrapers[number % scrapers.length];
      await scraper?.report({ state: "reading", note: `acme.example/invoices/${number}` });
      await create({ type: "read scan", input: `scan-${number}.pdf` });
      await sleep(2_000, undefined, { signal });
    }
  }

  /** Asks a person before each payment. The question and its answer survive an outage of the daemon. */
  async function pay(): Promise<void> {
    for (let number = 0; ; number++) {
      const { amount, payee } = bills[number % bills.length] ?? bills[0];
      const choices = ["yes", "no"];
      const answer = await payer.ask(`May I pay ${amount} EUR to ${payee}?`, { choices, signal });
      console.log(`payer was told ${answer}: ${amount} EUR to ${payee}`);
      const doing = answer === "yes" ? "paying" : "does not pay";
      await payer.report({ state: "writing", note: `${doing} ${amount} EUR to ${payee}` });
      await sleep(10_000, undefined, { signal });
      await payer.report({ state: "idle" });
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
  await Promise.race([...parsers.map(read), fetchScans(), pay(), drive(), stayHired()]);
}

/** Cancels what nobody completed, so that nothing of the demo stays in *Needs you*. */
async function cancelTasks(client: Client): Promise<void> {
  const giveUp = { signal: AbortSignal.timeout(cleanUpMsMax) };
  for (const id of openTasks) {
    try {
      const { state } = await client.tasks.get(id, giveUp);
      if (state === "dead") await client.tasks.requeue(id, giveUp);
      if (state !== "completed") await client.tasks.cancel(id, giveUp);
    } catch {
      // The daemon has forgotten the task, or is away.
    }
  }
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
