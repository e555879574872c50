import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type JobId, jobId, type SessionId, sessionId } from "./ids.ts";
import { covers, stretchesAfter } from "./journal.ts";
import { limits } from "./limits.ts";
import * as sessions from "./sessions.ts";

const one = sessionId("sess_1");
const other = sessionId("sess_2");
const jobs = [jobId("job_a"), jobId("job_b"), jobId("job_c")] as const;

const opening: sessions.SessionCommand = {
  type: "session.open",
  sessionId: one,
  principal: "ada",
  tokenHash: "first",
  features: ["ack"],
  skips: [],
  windowMs: 600_000,
};

const resuming: sessions.SessionCommand = {
  type: "session.resume",
  sessionId: one,
  principal: "ada",
  shownHash: "first",
  tokenHash: "second",
  afterEventSequence: 0,
};

/** A log of its own: each event stands at the next sequence. */
class Desk {
  readonly state: sessions.OwnSessions = sessions.emptySessions();
  sequence = 0;

  submit(command: sessions.SessionCommand, nowMs = 0): readonly sessions.SessionEvent[] {
    const decision = sessions.decide(this.state, command, nowMs);
    if (decision.refusal) assert.fail(decision.refusal.message);
    for (const event of decision.events) this.evolve(event);
    return decision.events;
  }

  refuses(command: sessions.SessionCommand, nowMs = 0): string {
    const decision = sessions.decide(this.state, command, nowMs);
    assert(decision.refusal);
    return decision.refusal.code;
  }

  evolve(event: sessions.SessionEvent): void {
    this.sequence += 1;
    sessions.evolve(this.state, event, { sequence: this.sequence });
  }

  /** An event of a job, as the machine hands it on. */
  tell(job: JobId, kind = "log"): void {
    this.sequence += 1;
    sessions.tell(this.state, { jobId: job, kind }, this.sequence);
  }
}

function opened(): Desk {
  const desk = new Desk();
  desk.submit(opening);
  return desk;
}

test("[ARCP-62] a session is resumed with its token, by its principal, and the token changes", () => {
  const desk = opened();
  desk.submit(resuming);
  assert.equal(desk.refuses(resuming), "session_gone");
  desk.submit({ ...resuming, shownHash: "second", tokenHash: "third" });
  assert.equal(desk.state.byId.get(one)?.attachment, 3);
});

test("[ARCP-62] a token is good again where the process died before anybody was told the newer one, and only there", () => {
  const desk = opened();
  desk.submit(resuming);
  sessions.detachAll(desk.state, 1_000);
  assert.equal(desk.refuses({ ...resuming, principal: "eve" }), "session_gone");
  desk.submit({ ...resuming, tokenHash: "third" });
  sessions.detachAll(desk.state, 2_000);
  desk.submit({ ...resuming, tokenHash: "fourth" });
  desk.submit({ type: "session.detach", sessionId: one, attachment: 4 }, 3_000);
  assert.equal(desk.refuses({ ...resuming, tokenHash: "fifth" }), "session_gone");
  desk.submit({ ...resuming, shownHash: "fourth", tokenHash: "fifth" });
  sessions.detachAll(desk.state, 4_000);
  assert.equal(desk.refuses({ ...resuming, shownHash: "third" }), "session_gone");
  desk.submit({ ...resuming, shownHash: "fifth", tokenHash: "sixth" });
});

test("[ARCP-60] a wrong token, another principal, an unknown session and a number never given are refused alike", () => {
  const desk = opened();
  const wrong: readonly Partial<typeof resuming>[] = [
    { shownHash: "guess" },
    { principal: "eve" },
    { sessionId: other },
    { afterEventSequence: 1 },
  ];
  const refusals = wrong.map((part) => {
    const command = { ...resuming, ...part } as typeof resuming;
    const decision = sessions.decide(desk.state, command, 0);
    return JSON.stringify(decision.refusal);
  });
  assert.equal(new Set(refusals).size, 1);
  desk.submit(resuming);
});

test("[ARCP-61] the window begins when the connection is lost, and a resume ends it", () => {
  const desk = opened();
  assert.equal(desk.state.due.first?.at, undefined);
  desk.submit({ type: "session.detach", sessionId: one, attachment: 1 }, 5_000);
  assert.equal(desk.state.due.first?.at, 605_000);
  desk.submit(resuming, 400_000);
  assert.equal(desk.state.due.first?.at, undefined);
});

test("[ARCP-79] a session without an unfinished job is soon deleted after a goodbye, others have their window", () => {
  const bye = { type: "session.detach", sessionId: one, attachment: 1, saidBye: true } as const;
  const busy = opened();
  const decision = sessions.decide(busy.state, bye, 5_000, { hasUnfinishedJob: true });
  assert(!decision.refusal);
  for (const event of decision.events) busy.evolve(event);
  assert.equal(busy.state.due.first?.at, 605_000);

  const desk = opened();
  desk.submit(bye, 5_000);
  assert.equal(desk.state.due.first?.at, 5_000 + limits.windowAfterByeMs);
  desk.submit(resuming, 6_000);
  desk.submit({ ...bye, attachment: 2, saidBye: false }, 7_000);
  assert.equal(desk.state.due.first?.at, 607_000, "a resumed session has its window again");
});

test("[ARCP-66] a connection that was superseded does not detach the one that took over", () => {
  const desk = opened();
  desk.submit(resuming);
  assert.deepEqual(desk.submit({ type: "session.detach", sessionId: one, attachment: 1 }), []);
  assert.equal(desk.state.byId.get(one)?.detachedAtMs, undefined);
});

test("[ARCP-37] a new session replaces the one that its principal has been away from for longest", () => {
  const desk = new Desk();
  const named = (index: number): SessionId => sessionId(`sess_${index}`);
  for (let index = 0; index < limits.sessionsOfPrincipalMax; index += 1) {
    desk.submit({ ...opening, sessionId: named(index) });
  }
  const more = { ...opening, sessionId: sessionId("sess_more") };
  assert.equal(desk.refuses(more), "limit_reached", "all are connected");
  desk.submit({ ...more, principal: "eve" });
  desk.submit({ type: "session.detach", sessionId: named(7), attachment: 1 }, 2_000);
  desk.submit({ type: "session.detach", sessionId: named(3), attachment: 1 }, 3_000);
  const types = (at: number): readonly string[] =>
    desk.submit({ ...opening, sessionId: sessionId(`sess_at_${at}`) }, at).map(({ type }) => type);
  assert.deepEqual(types(4_000), ["session.expired", "session.opened"]);
  assert(!desk.state.byId.has(named(7)) && desk.state.byId.has(named(3)));
  assert.deepEqual(types(5_000), ["session.expired", "session.opened"]);
  assert(!desk.state.byId.has(named(3)));
  assert.equal(desk.refuses({ ...opening, sessionId: named(3) }), "limit_reached");
});

test("[ARCP-37] where there are as many sessions as there may be, one that nobody is connected to makes room", () => {
  const desk = new Desk();
  for (let index = 0; index < limits.sessionsMax; index += 1) {
    const principal = `principal ${index % 1_000}`;
    desk.submit({ ...opening, sessionId: sessionId(`sess_${index}`), principal });
  }
  const more = { ...opening, sessionId: sessionId("sess_more"), principal: "eve" };
  assert.equal(desk.refuses(more), "limit_reached");
  const detach = { type: "session.detach", sessionId: sessionId("sess_7"), attachment: 1 } as const;
  desk.submit(detach, 1_000);
  desk.submit(more, 2_000);
  assert.equal(desk.state.byId.has(detach.sessionId), false);
});

test("[ARCP-63] what was forgotten cannot be resumed from, and what came after it can", () => {
  const desk = opened();
  const [job] = jobs;
  sessions.follow(desk.state, one, job, desk.sequence);
  for (let index = 0; index < 3 * limits.journalMarkEvents; index += 1) desk.tell(job);
  const acknowledged = 2 * limits.journalMarkEvents;
  desk.submit({ type: "session.acknowledge", sessionId: one, eventSequence: acknowledged + 5 });
  assert.equal(desk.refuses({ ...resuming, afterEventSequence: 10 }), "session_gone");
  desk.submit({ ...resuming, afterEventSequence: acknowledged + 5 });
});

test("from a log that begins later, what comes from before that cannot be told again", () => {
  const desk = opened();
  const [job] = jobs;
  sessions.follow(desk.state, one, job, desk.sequence);
  desk.sequence += 100;
  for (let index = 0; index < 1.5 * limits.journalMarkEvents; index += 1) desk.tell(job);
  const first = 102;
  assert.equal(sessions.neededSequence(desk.state), first, "nothing from before it was told");
  const refusal = (afterEventSequence: number, oldestSequence: number): string | undefined => {
    const command = { ...resuming, afterEventSequence };
    return sessions.decide(desk.state, command, 0, { oldestSequence }).refusal?.code;
  };
  assert.equal(refusal(0, first), undefined);
  assert.equal(refusal(0, first + 1), "session_gone");
  assert.equal(refusal(1, first + 1), "session_gone", "who knows which one is the second now");
  const { journalMarkEvents } = limits;
  assert.equal(refusal(journalMarkEvents, first + journalMarkEvents), undefined);
  assert.equal(refusal(journalMarkEvents, first + journalMarkEvents + 1), "session_gone");
  const last = sessions.lastEventSequence(desk.state, one);
  assert.equal(refusal(last, desk.sequence + 1), undefined, "there is nothing to tell");
});

test("[ARCP-74] what a session needs of the log ends with what it has acknowledged", () => {
  const desk = opened();
  const [job, past] = jobs;
  assert.equal(sessions.neededSequence(desk.state), Number.POSITIVE_INFINITY);
  sessions.follow(desk.state, one, job, desk.sequence);
  assert.equal(sessions.neededSequence(desk.state), Number.POSITIVE_INFINITY);
  desk.sequence = 1_000;
  const recalled = { afterSequence: 500, count: 3 };
  desk.evolve({ type: "session.followed", sessionId: one, jobId: past, recalled, hasEnded: true });
  assert.equal(sessions.neededSequence(desk.state), 501);
  for (let index = 0; index < limits.journalMarkEvents; index += 1) desk.tell(job);
  desk.tell(job);
  const acknowledge = (eventSequence: number): void => {
    desk.submit({ type: "session.acknowledge", sessionId: one, eventSequence });
  };
  acknowledge(limits.journalMarkEvents + 3);
  const marked = 1_001 + limits.journalMarkEvents - recalled.count;
  assert.equal(sessions.neededSequence(desk.state), marked + 1);
  for (let index = 0; index < limits.journalMarkEvents; index += 1) desk.tell(job);
  acknowledge(sessions.lastEventSequence(desk.state, one));
  assert.equal(sessions.neededSequence(desk.state), Number.POSITIVE_INFINITY);
  desk.tell(job);
  assert.equal(sessions.neededSequence(desk.state), desk.sequence);
  desk.submit({ ...resuming, afterEventSequence: sessions.lastEventSequence(desk.state, one) - 1 });
});

test("[ARCP-74] an acknowledgement of what was never given counts for what was", () => {
  const desk = opened();
  const [job] = jobs;
  sessions.follow(desk.state, one, job, desk.sequence);
  for (let index = 0; index < limits.journalMarkEvents; index += 1) desk.tell(job);
  desk.submit({ type: "session.acknowledge", sessionId: one, eventSequence: 1e9 });
  assert.equal(desk.state.acknowledged.get(one), limits.journalMarkEvents);
});

type Told = { readonly number: number; readonly jobId: JobId; readonly sequence: number };

/** Remembers everything that was told, where the journal remembers how to tell it again. */
class Witness {
  readonly desk: Desk = opened();
  readonly told: Told[] = [];
  readonly entries: { readonly jobId: JobId; readonly kind: string; readonly sequence: number }[] =
    [];
  readonly follows = new Set<JobId>();
  skips: readonly string[] = [];

  do(step: Step): void {
    const { desk } = this;
    const job = jobs[step.job] ?? jobs[0];
    switch (step.type) {
      case "follow":
        desk.evolve({ type: "session.followed", sessionId: one, jobId: job, hasEnded: false });
        this.follows.add(job);
        return;
      case "recall": {
        const past = this.entries.filter(
          (entry) => entry.jobId === job && !this.skips.includes(entry.kind),
        );
        const from = past[step.from % (past.length + 1)];
        const wanted = from ? past.filter(({ sequence }) => sequence >= from.sequence) : [];
        const recalled = {
          afterSequence: (from?.sequence ?? desk.sequence + 1) - 1,
          count: wanted.length,
        };
        desk.evolve({
          type: "session.followed",
          sessionId: one,
          jobId: job,
          recalled,
          hasEnded: false,
        });
        for (const { sequence } of wanted) this.#tell(job, sequence);
        this.follows.add(job);
        return;
      }
      case "leave":
        desk.evolve({ type: "session.left", sessionId: one, jobId: job });
        this.follows.delete(job);
        return;
      case "tell":
        desk.tell(job, step.kind);
        this.entries.push({ jobId: job, kind: step.kind, sequence: desk.sequence });
        if (this.follows.has(job) && !this.skips.includes(step.kind)) {
          this.#tell(job, desk.sequence);
        }
        return;
      case "skip": {
        this.skips = step.kind === "log" ? [] : [step.kind];
        const session = desk.state.byId.get(one);
        assert(session);
        desk.evolve({ type: "session.resumed", session, skips: this.skips });
        return;
      }
    }
  }

  #tell(job: JobId, sequence: number): void {
    this.told.push({ number: this.told.length + 1, jobId: job, sequence });
  }

  /** As the door does it, with the entries of each job as its stream. */
  retell(after: number): readonly Told[] {
    const journal = this.desk.state.journals.get(one);
    assert(journal);
    const upToSequence = this.desk.sequence;
    const stretches = stretchesAfter(journal, { after, upToSequence });
    return stretches.flatMap(({ eventSequence, follows, skips, ...range }) => {
      const entries = this.entries.filter(
        ({ jobId: job, kind, sequence }) =>
          follows.includes(job) &&
          !skips.includes(kind) &&
          sequence > range.afterSequence &&
          sequence <= range.upToSequence,
      );
      return entries
        .map((entry, index) => ({
          number: eventSequence + 1 + index,
          jobId: entry.jobId,
          sequence: entry.sequence,
        }))
        .filter(({ number }) => number > after);
    });
  }
}

type Step = {
  readonly type: "follow" | "recall" | "leave" | "tell" | "skip";
  readonly job: number;
  readonly kind: string;
  readonly from: number;
};

const steps = fc.array(
  fc.record<Step>({
    type: fc.constantFrom("follow", "recall", "leave", "tell", "tell", "tell", "skip"),
    job: fc.nat({ max: jobs.length - 1 }),
    kind: fc.constantFrom("log", "progress"),
    from: fc.nat({ max: 20 }),
  }),
  { maxLength: 60 },
);

test("[ARCP-64] what a session was told can be told again from any number, whatever it followed and when", () => {
  fc.assert(
    fc.property(steps, fc.nat({ max: 80 }), (taken, cursor) => {
      const witness = new Witness();
      for (const step of taken) witness.do(step);
      const last = sessions.lastEventSequence(witness.desk.state, one);
      assert.equal(last, witness.told.length);
      const after = Math.min(cursor, last);
      assert.deepEqual(witness.retell(after), witness.told.slice(after));
    }),
    { numRuns: 2_000 },
  );
});

test("a journal that was shortened tells the same from where it still reaches", () => {
  fc.assert(
    fc.property(steps, fc.nat({ max: 80 }), fc.nat({ max: 80 }), (taken, upTo, cursor) => {
      const witness = new Witness();
      for (const step of taken) witness.do(step);
      const last = witness.told.length;
      witness.desk.evolve({
        type: "session.acknowledged",
        sessionId: one,
        eventSequence: Math.min(upTo, last),
      });
      const journal = witness.desk.state.journals.get(one);
      const after = Math.min(cursor, last);
      assert(journal);
      if (!covers(journal, { after, last })) assert(after < upTo, "it forgot too much");
      else assert.deepEqual(witness.retell(after), witness.told.slice(after));
    }),
    { numRuns: 1_000 },
  );
});

test("[ARCP-198] a session that is gone follows nothing", () => {
  const desk = opened();
  const id: SessionId = one;
  for (const job of jobs) sessions.follow(desk.state, id, job, desk.sequence);
  desk.evolve({ type: "session.left", sessionId: id, jobId: jobs[1] });
  desk.evolve({ type: "session.expired", sessionId: id });
  assert.equal(desk.state.followers.size, 0);
  assert.equal(desk.state.journals.size, 0);
  desk.tell(jobs[0]);
  assert.equal(desk.state.lastEventSequences.size, 0);
});
