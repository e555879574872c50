/**
 * Whatever somebody might ask of jobs and sessions: mostly what makes sense just now, often what made sense a
 * moment ago, sometimes what never did.
 */
import { type Amount, jobId, type SubmitJob, sessionId } from "../../src/core/index.ts";
import * as say from "../../src/testing/commands.ts";
import type { Random } from "../../src/testing/random.ts";
import { type Ledger, type LedgerJob, type LedgerSession, reaches } from "./ledger.ts";
import type { WorkCommand } from "./work-forecast.ts";

const principals = ["ada", "eve"] as const;
const kinds = ["log", "progress", "thought", "x-vendor.any"] as const;
const keys = ["k1", "k2", "k3", "k4"] as const;
const prints = ["f1", "f1", "f1", "f2"] as const;
const currencies = ["USD", "EUR"] as const;
const reservations = ["r1", "r2", "r3"] as const;
const delegates = ["d1", "d2", "d3"] as const;

export type Present = {
  readonly ledger: Ledger;
  readonly nowMs: number;
  readonly mint: (prefix: string) => string;
};

export class AnyWork {
  readonly #random: Random;
  /** What was asked for, to be asked for again. */
  #asked: SubmitJob[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  command(present: Present): WorkCommand {
    const random = this.#random;
    const { ledger } = present;
    const states = [...ledger.jobs.values()].map(({ state }) => state);
    const hasAny = (wanted: LedgerJob["state"]): boolean => states.includes(wanted);
    const unfinished = states.filter((state) => state !== "ended").length;
    const isBusy = hasAny("running");
    const kind = random.weighted({
      open: ledger.sessions.size < 3 ? 15 : 0.5,
      resume: 5,
      detach: 4,
      acknowledge: 1,
      follow: states.length > 0 ? 7 : 0.5,
      leave: 2,
      reject: 1,
      submit: unfinished < 6 ? 14 : 3,
      again: 3,
      prepared: hasAny("preparing") ? 8 : 0.3,
      rotate: isBusy ? 1 : 0,
      report: ledger.credentials.size > 0 ? 3 : 0.1,
      start: hasAny("pending") ? 16 : 0.5,
      emit: isBusy ? 12 : 1,
      reserve: isBusy ? 6 : 0.3,
      spend: isBusy ? 4 : 0.3,
      settle: isBusy ? 4 : 0.3,
      end: isBusy ? 5 : 0.3,
      cancel: 2.5,
      orphan: 1.5,
      reclaim: isBusy ? 2 : 0.2,
    });
    switch (kind) {
      case "open":
      case "resume":
      case "detach":
      case "acknowledge":
      case "follow":
      case "leave":
      case "reject":
        return this.#ofSession(kind, present);
      case "submit":
        return this.#submit(present);
      case "again":
        return this.#again(present);
      case "rotate":
      case "report":
        return this.#ofCredential(kind, present);
      case "prepared":
      case "start":
      case "emit":
      case "reserve":
      case "spend":
      case "settle":
      case "end":
      case "cancel":
      case "orphan":
      case "reclaim":
        return this.#ofJob(kind, present);
    }
  }

  #ofSession(
    kind: "open" | "resume" | "detach" | "acknowledge" | "follow" | "leave" | "reject",
    present: Present,
  ): WorkCommand {
    const random = this.#random;
    const session = this.#session(present);
    const id = sessionId(session?.id ?? "sess_none");
    const told = session?.told.length ?? 0;
    switch (kind) {
      case "open": {
        const name = present.mint("s");
        const principal = random.pick(principals);
        const windowMs = random.pick([2_000, 60_000, 600_000]);
        const twice = session && random.chance(5) ? { sessionId: id } : {};
        return say.openSession(name, { principal, windowMs, skips: this.#skips(), ...twice });
      }
      case "resume":
        return this.resume(present, session);
      case "detach": {
        const attachment = (session?.attachment ?? 1) - (random.chance(20) ? 1 : 0);
        const saidBye = random.chance(30);
        return { type: "session.detach", sessionId: id, attachment, saidBye };
      }
      case "acknowledge": {
        const eventSequence = random.chance(50) ? told : random.between(0, told + 5_000);
        return { type: "session.acknowledge", sessionId: id, eventSequence };
      }
      case "follow":
        return this.#follow(present, session);
      case "leave": {
        const jobs = [...(session?.follows ?? [])];
        const job = jobId(random.pickAny(jobs) ?? "job_none");
        return { type: "session.leave", sessionId: id, jobId: job };
      }
      case "reject": {
        const failure = { code: "invalid_argument", message: "no", isRetryable: false };
        const named = { jobId: jobId(present.mint("n")), requestId: present.mint("q") };
        return { type: "session.reject", sessionId: id, ...named, failure };
      }
    }
  }

  /** Mostly with the right token, and from any number. */
  resume({ mint }: Present, session: LedgerSession | undefined): WorkCommand {
    const random = this.#random;
    const { id = "sess_none", principal = "ada", tokenHash = "", told = [] } = session ?? {};
    const cursor = random.weighted({ any: 60, last: 15, begin: 22, beyond: 3 });
    const after = {
      any: random.between(session?.acknowledged ?? 0, told.length),
      last: told.length,
      begin: 0,
      beyond: told.length + 1,
    };
    return {
      type: "session.resume",
      sessionId: sessionId(id),
      principal: random.chance(3) ? "eve" : principal,
      shownHash: random.weighted({ [tokenHash]: 85, [session?.shownHash ?? "guess"]: 15 }),
      tokenHash: mint("h"),
      afterEventSequence: after[cursor],
      ...(random.chance(25) && { skips: this.#skips() }),
    };
  }

  /** With history from its beginning, from any of what would be told, or without. */
  #follow({ ledger }: Present, session: LedgerSession | undefined): WorkCommand {
    const random = this.#random;
    const job = this.#job({ ledger }, ["pending", "running", "ended"]);
    const named = {
      type: "session.follow",
      sessionId: sessionId(session?.id ?? "sess_none"),
      jobId: jobId(job?.id ?? "job_none"),
      mayObserve: random.chance(40),
    } as const;
    const past = session && job ? ledger.past(session, job.id, 0) : [];
    const from = random.below(past.length + 1);
    const history = { afterSequence: past[from - 1]?.sequence ?? 0, before: from };
    return random.chance(60) ? { ...named, history } : named;
  }

  #submit(present: Present): WorkCommand {
    const random = this.#random;
    const { ledger, nowMs, mint } = present;
    const session = this.#session(present);
    const parent = random.chance(35) ? this.#job(present, ["running", "pending"]) : undefined;
    const principal = session?.principal ?? random.pick(principals);
    const isOver = random.chance(5);
    const expiresAtMs = nowMs + (isOver ? 0 : random.between(1, 40_000));
    const skill = random.chance(3);
    const refusal = { code: "skill_not_found", message: "nobody has it" } as const;
    const command: SubmitJob = {
      type: "job.submit",
      jobId: jobId(mint("job_")),
      principal: parent && random.chance(90) ? parent.principal : principal,
      // A job that was not submitted over ARCP has no session, and may have no trace id.
      ...(random.chance(80) && {
        sessionId: sessionId(session?.id ?? "sess_none"),
        requestId: mint("q"),
        traceId: "00000000000000000000000000000001",
      }),
      agent: skill ? { refusal } : { name: "echo" },
      isRepeatable: random.chance(50),
      capabilities: this.#capabilities(parent),
      input: "null",
      needsPreparing: random.chance(12),
      ...(random.chance(20) && { expiresAt: new Date(expiresAtMs).toISOString() }),
      ...(random.chance(25) && { runMsMax: random.pick([1, 3_000, 30_000]) }),
      ...(random.chance(40) && { key: this.#key() }),
      ...(parent && { parentId: jobId(parent.id) }),
      ...(parent && random.chance(60) && { delegateId: random.pick(delegates) }),
    };
    if (ledger.sessions.size > 0) this.#asked = [...this.#asked, command].slice(-12);
    return command;
  }

  /** The same request, or the same wish from another session. */
  #again(present: Present): WorkCommand {
    const random = this.#random;
    const asked = random.pickAny(this.#asked);
    if (!asked) return this.#submit(present);
    const fresh = { ...asked, jobId: jobId(present.mint("job_")) };
    if (random.chance(40)) return fresh;
    const session = this.#session(present);
    const from = session?.principal === asked.principal ? { sessionId: sessionId(session.id) } : {};
    return { ...fresh, requestId: present.mint("q"), ...from };
  }

  #ofJob(
    kind:
      | "prepared"
      | "start"
      | "emit"
      | "reserve"
      | "spend"
      | "settle"
      | "end"
      | "cancel"
      | "orphan"
      | "reclaim",
    present: Present,
  ): WorkCommand {
    const random = this.#random;
    const fit = { prepared: ["preparing"], start: ["pending"] } as const;
    const job = this.#job(
      present,
      kind === "prepared" || kind === "start" ? fit[kind] : ["running"],
    );
    const id = jobId(job?.id ?? "job_none");
    const attempt = (job?.attempt ?? 1) - (random.chance(5) ? 1 : 0);
    switch (kind) {
      case "prepared":
        return {
          type: "job.prepared",
          jobId: id,
          isReady: random.chance(80),
          credentials: ["c1", "c2"]
            .filter(() => random.chance(60))
            .map((credentialId) => ({ credentialId, valueHash: this.#value(present) })),
        };
      case "start":
        return { type: "job.start", jobId: id, worker: { id: "w", isRemote: random.chance(50) } };
      case "emit":
        return this.#emit(present, job, attempt);
      case "reserve": {
        const reservationId = random.pick(reservations);
        const amounts = [this.#amount(job), this.#amount(job)].slice(random.below(2));
        return { type: "job.reserve", jobId: id, attempt, reservationId, amounts };
      }
      case "spend": {
        const any = random.chance(70) ? job : this.#job(present, ["pending", "running", "ended"]);
        const open = random.pickAny([...(any?.reserved.keys() ?? [])]);
        const from = random.chance(50) ? (open ?? random.pick(reservations)) : undefined;
        const heard = any?.workerSequence ?? 0;
        return {
          type: "job.spend",
          jobId: jobId(any?.id ?? "job_none"),
          attempt: any?.attempt ?? 1,
          amounts: [this.#amount(any), this.#amount(any)].slice(random.below(2)),
          ...(from !== undefined && { reservationId: from }),
          ...(any?.isRemote && random.chance(50) && { workerSequence: heard + random.below(2) }),
        };
      }
      case "settle": {
        const open = random.pickAny([...(job?.reserved.keys() ?? [])]);
        const actual = random.chance(70) ? [this.#amount(job)] : [];
        const reservationId = open ?? random.pick(reservations);
        return { type: "job.settle", jobId: id, attempt, reservationId, actual };
      }
      case "end": {
        const failure = { code: "OOPS", message: "it failed", isRetryable: false };
        const outcome = random.chance(60)
          ? ({ status: "success", result: '"done"' } as const)
          : ({ status: "error", failure } as const);
        return { type: "job.end", jobId: id, attempt, outcome };
      }
      case "cancel": {
        const any = this.#job(present, ["pending", "running", "ended", "preparing"]);
        const session = this.#session(present);
        const own =
          random.chance(50) && any ? present.ledger.sessions.get(any.sessions[0] ?? "") : session;
        const by = own && {
          principal: own.principal,
          ...(random.chance(80) && { sessionId: sessionId(own.id) }),
        };
        const graceMs = random.pick([0, 1_000, 30_000]);
        const reason = random.chance(50) ? "enough" : "";
        const cancelling = { jobId: jobId(any?.id ?? "job_none"), reason, graceMs };
        if (by && random.chance(80)) return { type: "job.cancel", ...cancelling, by };
        const isInterruption = random.chance(50);
        return { type: "job.cancel", ...cancelling, ...(isInterruption && { isInterruption }) };
      }
      case "orphan":
        return {
          type: "job.orphan",
          jobId: id,
          graceMs: random.pick([0, 5_000, 60_000]),
          ...(random.chance(50) && { attempt }),
        };
      case "reclaim":
        return { type: "job.reclaim", jobId: id, attempt };
    }
  }

  /** One of those that run says something; none, if none runs. */
  word(present: Present): WorkCommand | undefined {
    const running = [...present.ledger.jobs.values()].filter(({ state }) => state === "running");
    const job = this.#random.pickAny(running);
    return job && this.#emit(present, job, job.attempt);
  }

  #emit({ mint }: Present, job: LedgerJob | undefined, attempt: number): WorkCommand {
    const random = this.#random;
    const heard = job?.workerSequence ?? 0;
    const next = { workerSequence: heard + (random.chance(15) ? 0 : 1) };
    const amount = this.#amount(job);
    return say.emit(job?.id ?? "job_none", {
      attempt,
      kind: random.pick(kinds),
      body: JSON.stringify({ message: mint("") }),
      ...(job?.isRemote && next),
      ...(random.chance(25) && { spent: amount }),
      ...(random.chance(10) && { told: amount.currency }),
    });
  }

  #ofCredential(kind: "rotate" | "report", present: Present): WorkCommand {
    const random = this.#random;
    const all = [...present.ledger.credentials.values()];
    const idle = all.filter(({ state }) => state !== "live");
    const live = all.filter(({ state }) => state === "live");
    const fit = kind === "rotate" ? live : idle;
    const one = random.pickAny(random.chance(85) ? fit : all);
    const id = jobId(one?.jobId ?? "job_none");
    switch (kind) {
      case "rotate": {
        const attempt = present.ledger.jobs.get(id)?.attempt ?? 1;
        const body = say.jsonText('{"phase":"credential_rotated"}');
        const said = { kind: "status", body };
        const value = { credentialId: one?.credentialId ?? "c1", valueHash: this.#value(present) };
        return { type: "credential.rotate", jobId: id, attempt, ...value, said };
      }
      case "report": {
        const isRevoked = random.chance(70);
        return { type: "credential.report", jobId: id, number: one?.number ?? 1, isRevoked };
      }
    }
  }

  /** Mostly a new one. */
  #value({ ledger, mint }: Present): string {
    const known = this.#random.pickAny([...ledger.credentials.values()]);
    return known && this.#random.chance(10) ? known.valueHash : mint("v");
  }

  #key(): { readonly text: string; readonly fingerprint: string } {
    return { text: this.#random.pick(keys), fingerprint: this.#random.pick(prints) };
  }

  #skips(): readonly string[] {
    return ["progress", "thought", "question_closed"].filter(() => this.#random.chance(30));
  }

  #capabilities(parent: LedgerJob | undefined): object {
    const random = this.#random;
    // One that is delegated to should mostly be allowed.
    const most = parent && random.chance(80) ? parent.reach : reaches.length - 1;
    const tools = reaches[random.between(0, most)] ?? [];
    const currency = random.pick(currencies);
    const budget = parent
      ? [`${currency}:${random.pick(["0.20", "0.50", "1.00"])}`]
      : [`USD:${random.pick(["1.00", "3.00"])}`, `EUR:${random.pick(["0.5", "2"])}`];
    return {
      ...(tools.length > 0 && { "tool.call": tools }),
      ...(random.chance(60) && { "cost.budget": budget }),
    };
  }

  #amount(job: LedgerJob | undefined): Amount {
    const currency = this.#random.pickAny([...(job?.purses.keys() ?? [])]);
    const value = this.#random.pick(["0.01", "0.1", "0.25", "0.40", "1"]);
    return say.amount(`${currency ?? this.#random.pick(currencies)}:${value}`);
  }

  #session({ ledger }: Pick<Present, "ledger">): LedgerSession | undefined {
    if (this.#random.chance(1)) return undefined;
    return this.#random.pickAny([...ledger.sessions.values()]);
  }

  /** Mostly in one of these states. */
  #job(
    { ledger }: Pick<Present, "ledger">,
    states: readonly LedgerJob["state"][],
  ): LedgerJob | undefined {
    const jobs = [...ledger.jobs.values()];
    const fit = jobs.filter(({ state }) => states.includes(state));
    if (fit.length > 0 && this.#random.chance(92)) return this.#random.pickAny(fit);
    return this.#random.pickAny(jobs);
  }
}
