import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  type AgentId,
  agentId,
  type Card,
  type Command,
  decide,
  emptyState,
  evolve,
} from "../core/index.ts";
import { FindView } from "./find.ts";
import { limits } from "./limits.ts";

/** A registry and the view that follows it, event by event. */
class Following {
  readonly state = emptyState();
  readonly view = new FindView();
  nowMs = 1_000;

  submit(command: Command): void {
    const decision = decide(this.state, command, this.nowMs);
    if (decision.refusal) return;
    for (const event of decision.events) {
      evolve(this.state, event);
      this.view.apply(event);
    }
  }

  register(id: string, card: Partial<Card> = {}): AgentId {
    const agent = agentId(id);
    this.submit({ type: "agent.register", agentId: agent, card: cardOf(card), ttlMs: 30_000 });
    return agent;
  }

  /** Its next deadline passes: alive becomes unreachable, then dead, then forgotten. */
  miss(id: AgentId): void {
    this.submit({ type: "tick", due: { of: "agent", agentId: id } });
  }

  heartbeat(id: AgentId): void {
    this.submit({ type: "agent.heartbeat", agentId: id });
  }

  deregister(id: AgentId): void {
    this.submit({ type: "agent.deregister", agentId: id });
  }

  find(query: string, tools: readonly string[] = [], limit = 10): readonly string[] {
    return this.view.search({ query, tools, limit }).hits.map((hit) => hit.agentId);
  }

  /** Words of the query that any of the cards has. */
  matched(query: string): readonly string[] {
    const { hits } = this.view.search({ query, tools: [], limit: 1_000 });
    return [...new Set(hits.flatMap((hit) => hit.matched))];
  }

  /** What a view says that has seen nothing but the state. */
  findAfresh(query: string, tools: readonly string[] = [], limit = 10): readonly string[] {
    const view = new FindView();
    view.reset(this.state);
    return view.search({ query, tools, limit }).hits.map((hit) => hit.agentId);
  }
}

function cardOf(card: Partial<Card>): Card {
  return {
    name: "worker",
    description: "",
    version: "",
    capabilities: [],
    tools: [],
    metadata: [],
    ...card,
  };
}

it("cards are read by and by, and a search waits only for a few of them", () => {
  const turns: (() => void)[] = [];
  const view = new FindView({ afterTurn: (run) => turns.push(run) });
  const state = emptyState();
  const count = limits.cardsReadBySearch + 3 * limits.cardsReadAtOnce;
  for (let number = 0; number < count; number++) {
    const card = cardOf({ name: `a${number}`, description: "Translates contracts into German" });
    const id = agentId(String(number).padStart(4, "0"));
    const command = { type: "agent.register", agentId: id, card, ttlMs: 30_000 } as const;
    const { events = [] } = { events: [], ...decide(state, command, 1_000) };
    for (const event of events) evolve(state, event);
  }
  view.reset(state);
  const understood = (): number =>
    view
      .search({ query: "turn an agreement to another tongue", tools: [], limit: count })
      .hits.filter(({ score }) => score !== 0).length;
  assert.equal(understood(), limits.cardsReadBySearch);
  let taken = 0;
  for (let run = turns.shift(); run; run = turns.shift()) {
    run();
    taken += 1;
  }
  assert.equal(understood(), count);
  assert.equal(taken, 3, "a few at a time");
});

describe("ranking", () => {
  it("puts an agent that shares words and inflected words before one that shares none", () => {
    const plane = new Following();
    plane.register("scraper", { description: "Browses web pages and fetches their content" });
    plane.register("poet", { description: "Writes sonnets about autumn" });
    assert.deepEqual(plane.find("browse and fetch web pages content"), ["scraper", "poet"]);
  });

  it("removes nobody: those that are less like the query fill the list, equals newest first", () => {
    const plane = new Following();
    for (const id of ["one", "two", "three"]) {
      plane.register(id, { description: "bakes bread" });
      plane.nowMs += 1;
    }
    plane.register("match", { description: "sends mail" });
    plane.nowMs += 1;
    plane.register("newest", { description: "knits" });
    const found = plane.find("mail");
    assert.equal(found[0], "match");
    assert.deepEqual(new Set(found), new Set(["match", "newest", "three", "two", "one"]));
    const bakers = found.filter((id) => !["match", "newest"].includes(id));
    assert.deepEqual(bakers, ["three", "two", "one"]);
    assert.deepEqual(plane.find("mail", [], 3), found.slice(0, 3));
  });

  it("understands what is asked in other words", () => {
    const plane = new Following();
    plane.register("accounts", { description: "Reconciles invoices with bank statements" });
    plane.register("doctor", { description: "Asks about symptoms and suggests a specialist" });
    plane.register("driver", { description: "Plans routes for delivery trucks" });
    plane.register("poet", { description: "Writes sonnets about autumn" });
    assert.equal(plane.find("my head hurts, is it serious")[0], "doctor");
    assert.equal(plane.find("did this client pay us")[0], "accounts");
    assert.equal(plane.find("bring parcels to customers faster")[0], "driver");
    assert.equal(plane.find("rhymes for a birthday card")[0], "poet");
  });

  it("says of each how good it is, and which words of the query it has, as they were asked", () => {
    const plane = new Following();
    plane.register("scraper", { description: "Browses web pages", tools: ["fetchPages"] });
    plane.register("poet", { description: "Writes sonnets" });
    const query = { query: "Browsing the Web for sonnets, fetchPages", tools: [], limit: 10 };
    const { hits, ranking, reason } = plane.view.search(query);
    assert.deepEqual(
      hits.map(({ agentId: id, matched }) => [id, matched]),
      [
        ["scraper", ["Browsing", "Web", "fetchPages"]],
        ["poet", ["sonnets"]],
      ],
    );
    const [first, second] = hits;
    assert(first && second && first.score > second.score);
    assert.equal(ranking, "table");
    assert.equal(reason, undefined);
    const blank = plane.view.search({ query: " the ", tools: [], limit: 10 });
    assert(blank.hits.every(({ score, matched }) => score === 0 && matched.length === 0));
  });

  it("reads name, description, tools, capabilities and metadata values", () => {
    const plane = new Following();
    const places: Record<string, Partial<Card>> = {
      name: { name: "zebra" },
      description: { description: "a zebra" },
      tools: { tools: ["zebra"] },
      capability: { capabilities: [{ name: "zebra", description: "" }] },
      explained: { capabilities: [{ name: "", description: "of the zebra" }] },
      metadata: { metadata: [["animal", "zebra"]] },
    };
    for (const [id, card] of Object.entries(places)) plane.register(id, card);
    plane.nowMs += 1;
    plane.register("key only", { metadata: [["zebra", "animal"]] });
    const found = plane.find("zebra");
    assert.equal(found.at(-1), "key only");
    assert.deepEqual(new Set(found), new Set([...Object.keys(places), "key only"]));
  });

  it("finds the parts of snake_case and camelCase, and compounds in any spelling", () => {
    const plane = new Following();
    plane.register("snake", { tools: ["convert_currency"] });
    plane.register("camel", { tools: ["parseHTTPHeaders"] });
    plane.register("brand", { description: "Opens pull requests on GitHub" });
    assert.equal(plane.find("currency")[0], "snake");
    assert.equal(plane.find("http header")[0], "camel");
    assert.equal(plane.find("github")[0], "brand");
    assert.equal(plane.find("git hub")[0], "brand");
  });

  it("finds words of any script, however they are composed", () => {
    const plane = new Following();
    plane.register("german", { description: "Übersetzt Verträge" });
    plane.register("russian", { description: "Переводит договоры" });
    plane.register("hindi", { description: "हिन्दी अनुवाद" });
    plane.register("english", { description: "Reads contracts" });
    assert.equal(plane.find("ÜBERSETZT")[0], "german");
    assert.equal(plane.find("vertra\u0308ge")[0], "german");
    assert.equal(plane.find("ДОГОВОРЫ")[0], "russian");
    assert.equal(plane.find("हिन्दी")[0], "hindi");
  });

  it("knows synonyms, and puts the word itself before them however common it is", () => {
    const plane = new Following();
    plane.register("synonym", { description: "crawl" });
    for (let index = 0; index < 20; index++)
      plane.register(`word-${index}`, { description: "fetch" });
    plane.nowMs += 1;
    plane.register("neither", { description: "dance" });
    const found = plane.find("fetching", [], 100);
    assert.equal(found.indexOf("synonym"), 20);
    assert.equal(found.indexOf("neither"), 21);
  });

  it("counts a rare word for more than a common one, and little words for nothing", () => {
    const plane = new Following();
    for (let index = 0; index < 9; index++)
      plane.register(`${index}`, { description: "reads data" });
    plane.register("rare", { description: "reads tarot" });
    plane.nowMs += 1;
    plane.register("little", { description: "with the and of" });
    assert.equal(plane.find("data tarot with the and of")[0], "rare");
    assert.equal(plane.find("data tarot with the and of", [], 11).at(-1), "little");
  });

  it("takes words that are names of object properties for words", () => {
    const plane = new Following();
    const words = ["constructor", "__proto__", "hasOwnProperty", "toString"];
    for (const word of words) plane.register(word, { description: word, tools: [word] });
    plane.nowMs += 1;
    plane.register("other", { description: "something else" });
    for (const word of words) {
      assert.equal(plane.find(word)[0], word);
      assert.deepEqual(plane.find("", [word]), [word]);
      assert.deepEqual(plane.find(word, ["valueOf"]), []);
    }
  });
});

describe("the tool filter", () => {
  it("keeps those that have every tool, spelled exactly so, however little they match", () => {
    const plane = new Following();
    plane.register("both", { tools: ["browser", "sql"], description: "tea" });
    plane.register("one", { tools: ["browser"], description: "juggling" });
    plane.register("case", { tools: ["Browser", "SQL"], description: "juggling" });
    plane.register("part", { tools: ["browser_v2", "sqlite"] });
    plane.register("twice", { tools: ["sql", "browser", "sql"], description: "coffee" });
    assert.deepEqual(plane.find("juggling", ["browser", "sql"]).toSorted(), ["both", "twice"]);
    assert.deepEqual(plane.find("coffee", ["sql", "browser", "sql"]), ["twice", "both"]);
    assert.deepEqual(plane.find("", ["browser"]), ["both", "one", "twice"]);
    assert.deepEqual(plane.find("", ["SQL"]), ["case"]);
  });

  it("finds nobody for a tool that nobody has, and by the empty name only who has it", () => {
    const plane = new Following();
    plane.register("plain", { tools: ["browser"] });
    plane.register("odd", { tools: [""] });
    assert.deepEqual(plane.find("browser", ["telescope"]), []);
    assert.deepEqual(plane.find("browser", ["browser", "telescope"]), []);
    assert.deepEqual(plane.find("", [""]), ["odd"]);
  });

  it("sees tools that come after all the words that are read", () => {
    const plane = new Following();
    const tools = Array.from({ length: 20_000 }, (_, index) => `tool-${index}`);
    plane.register("many", { tools });
    assert.deepEqual(plane.find("", ["tool-19999", "tool-0"]), ["many"]);
  });
});

describe("the order of equals", () => {
  it("is newest first, then by id", () => {
    const plane = new Following();
    plane.register("c");
    plane.register("a");
    plane.nowMs += 1;
    plane.register("d");
    plane.register("b");
    for (const query of ["", " \t\n", "...", "the", "worker", "unheard"]) {
      assert.deepEqual(plane.find(query), ["b", "d", "a", "c"], query);
      assert.deepEqual(plane.find(query, [], 3), ["b", "d", "a"], query);
    }
  });

  it("does not change when an agent was away", () => {
    const plane = new Following();
    const ids = ["a", "b", "c", "d"].map((id) => {
      plane.nowMs += 1;
      return plane.register(id);
    });
    for (const id of ids.slice(0, 2)) plane.miss(id);
    for (const id of ids.slice(0, 2)) plane.heartbeat(id);
    assert.deepEqual(plane.find(""), ["d", "c", "b", "a"]);
    assert.deepEqual(plane.find("worker"), ["d", "c", "b", "a"]);
  });
});

describe("liveness", () => {
  it("hides an agent while it is unreachable, and shows it again when it recovers", () => {
    const plane = new Following();
    const id = plane.register("a", { description: "mail", tools: ["smtp"] });
    plane.miss(id);
    assert.deepEqual(plane.find("mail"), []);
    assert.deepEqual(plane.find("", ["smtp"]), []);
    plane.heartbeat(id);
    assert.deepEqual(plane.find("mail"), ["a"]);
    assert.deepEqual(plane.find("", ["smtp"]), ["a"]);
  });

  it("leaves no ghost of an agent that died or was forgotten, also when others take its place", () => {
    const plane = new Following();
    const gone = plane.register("gone", { description: "violin", tools: ["bow"] });
    const timedOut = plane.register("timed out", { description: "violin", tools: ["bow"] });
    plane.deregister(gone);
    plane.miss(timedOut);
    plane.miss(timedOut);
    plane.miss(timedOut);
    assert.equal(plane.state.registry.agents.has(timedOut), false);
    plane.nowMs += 1;
    plane.register("heir", { description: "drums", tools: ["sticks"] });
    plane.nowMs += 1;
    plane.register("late", { description: "flute" });
    assert.deepEqual(plane.find("violin"), ["late", "heir"]);
    assert.deepEqual(plane.find("", ["bow"]), []);
  });

  it("is the same when an event comes twice", () => {
    const plane = new Following();
    const id = plane.register("a", { description: "mail", tools: ["smtp"] });
    const agent = plane.state.registry.agents.get(id);
    assert(agent);
    plane.view.apply({ type: "agent.registered", agent, lastHeartbeatAtMs: 0 });
    assert.deepEqual(plane.find("mail", ["smtp"]), ["a"]);
    for (let times = 0; times < 2; times++) {
      plane.view.apply({ type: "agent.unreachable", agent, lastHeartbeatAtMs: 0 });
    }
    assert.deepEqual(plane.find("mail"), []);
  });
});

describe("limits", () => {
  it("reads the beginning of an endless card, and its name and tools before its description", () => {
    const plane = new Following();
    const many = Array.from({ length: 200_000 }, (_, index) => `w${index}`).join(" ");
    const endless = { name: "falcon", tools: ["anvil"], description: many };
    plane.register("words", { ...endless, metadata: [["x", "tailpiece"]] });
    plane.register("letters", { description: "x".repeat(1_000_000) });
    plane.register("blanks", { description: `${" ".repeat(1_000_000)}tailpiece` });
    plane.nowMs += 1;
    plane.register("newest");
    assert.equal(plane.find("w1")[0], "words");
    assert.deepEqual(plane.matched("w1"), ["w1"]);
    assert.deepEqual(plane.matched(`w${limits.cardWordsMax}`), []);
    assert.equal(plane.find("falcon")[0], "words");
    assert.equal(plane.find("anvil")[0], "words");
    assert.deepEqual(plane.matched("tailpiece"), []);
    assert.equal(plane.find("x".repeat(limits.wordLengthMax + 1))[0], "letters");
  });

  it("reads the beginning of an endless query", () => {
    const plane = new Following();
    plane.register("first", { description: "q0" });
    plane.register("last", { description: "q100" });
    plane.nowMs += 1;
    plane.register("newest");
    const many = Array.from({ length: 300_000 }, (_, index) => `q${index}`).join(" ");
    assert.equal(plane.find(many)[0], "first");
    assert.deepEqual(plane.matched(many), ["q0"]);
    assert.equal(plane.find("q100 ".repeat(300_000))[0], "last");
    assert.deepEqual(plane.matched("q100 ".repeat(300_000)), ["q100"]);
  });

  it("answers nothing when nothing is asked for", () => {
    const plane = new Following();
    plane.register("a", { tools: ["t"] });
    assert.deepEqual(plane.find("worker", [], 0), []);
    assert.deepEqual(plane.find("worker", ["t"], 0), []);
  });
});

const word = fc.constantFrom("fetch", "crawls", "web", "pages", "sql", "webPages", "constructor");
const tool = fc.constantFrom("browser", "sql", "Browser", "__proto__");
const card = fc.record({
  name: word,
  description: fc.array(word, { maxLength: 6 }).map((words) => words.join(" ")),
  tools: fc.array(tool, { maxLength: 3 }),
});
/** Small numbers, so that agents share the millisecond, and most steps hit an agent that is there. */
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ type: fc.constant("register"), card, waitMs: fc.nat(1) }) },
    fc.record({ type: fc.constantFrom("miss", "heartbeat", "deregister"), agent: fc.nat(40) }),
  ),
  { maxLength: 80 },
);
type Step = (typeof steps extends fc.Arbitrary<infer Steps> ? Steps : never)[number];
const queries = fc.record({
  query: fc.array(word, { maxLength: 4 }).map((words) => words.join(" ")),
  tools: fc.array(tool, { maxLength: 2 }),
  limit: fc.integer({ min: 1, max: 50 }),
});

function play(story: readonly Step[]): Following {
  const plane = new Following();
  const ids: AgentId[] = [];
  for (const step of story) {
    if ("card" in step) {
      plane.nowMs += step.waitMs;
      // Neither ascending nor descending, like real ids.
      ids.push(plane.register(`${(ids.length * 7) % 10}-${ids.length}`, step.card));
      continue;
    }
    const id = ids[step.agent % ids.length];
    if (id === undefined) continue;
    if (step.type === "miss") plane.miss(id);
    else if (step.type === "heartbeat") plane.heartbeat(id);
    else plane.deregister(id);
  }
  return plane;
}

describe("whatever happened before", () => {
  it("an empty query gives those alive that have the tools, newest first, then by id", () => {
    fc.assert(
      fc.property(steps, queries, (story, { tools, limit }) => {
        const plane = play(story);
        const expected = [...plane.state.registry.agents.values()]
          .filter(({ liveness }) => liveness === "alive")
          .filter(({ card: { tools: owned } }) => tools.every((wanted) => owned.includes(wanted)))
          .sort((a, b) => b.registeredAtMs - a.registeredAtMs || (a.id < b.id ? -1 : 1))
          .map(({ id }) => id);
        assert.deepEqual(plane.find("", tools, limit), expected.slice(0, limit));
        assert.deepEqual(plane.find("  ", tools, limit), expected.slice(0, limit));
      }),
    );
  });

  it("the view is equal to one that was built from the state", () => {
    fc.assert(
      fc.property(steps, fc.array(queries, { maxLength: 5 }), (story, asked) => {
        const plane = play(story);
        for (const { query, tools, limit } of asked) {
          assert.deepEqual(
            plane.find(query, tools, limit),
            plane.findAfresh(query, tools, limit),
            query,
          );
        }
      }),
    );
  });

  it("asking again gives the same, and asking for fewer gives the first of them", () => {
    fc.assert(
      fc.property(steps, queries, queries, (story, asked, between) => {
        const plane = play(story);
        const all = plane.find(asked.query, asked.tools, 1_000);
        plane.find(between.query, between.tools, between.limit);
        assert.deepEqual(plane.find(asked.query, asked.tools, 1_000), all);
        assert.deepEqual(
          plane.find(asked.query, asked.tools, asked.limit),
          all.slice(0, asked.limit),
        );
      }),
    );
  });

  it("a query with words orders the same agents that an empty one gives", () => {
    fc.assert(
      fc.property(steps, queries, (story, { query, tools }) => {
        const plane = play(story);
        const sorted = (ids: readonly string[]): readonly string[] => ids.toSorted();
        assert.deepEqual(
          sorted(plane.find(query, tools, 1_000)),
          sorted(plane.find("", tools, 1_000)),
        );
      }),
    );
  });

  it("thousands come and go, and the view is still equal to one that was built from the state", () => {
    const plane = new Following();
    const words = ["fetch", "web", "pages", "sql", "reports", "mail", "charts"];
    const ids = Array.from({ length: 3_000 }, (_, index) => {
      plane.nowMs += index % 3 === 0 ? 1 : 0;
      const description = words.filter((_word, place) => index % (place + 2) === 0).join(" ");
      return plane.register(`${(index * 7_919) % 3_001}`, { name: `a-${index}`, description });
    });
    for (const [index, id] of ids.entries()) if (index % 5 !== 0) plane.miss(id);
    for (const [index, id] of ids.entries()) if (index % 3 === 0) plane.heartbeat(id);
    for (let index = 0; index < 500; index++) plane.register(`late-${index}`, { name: "pages" });
    for (const query of ["", "fetch web pages", "mail charts", "a 30", "reports"]) {
      assert.deepEqual(plane.find(query, [], 1_000), plane.findAfresh(query, [], 1_000), query);
    }
  });
});
