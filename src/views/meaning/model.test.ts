import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type AgentId,
  agentId,
  type Card,
  type Command,
  decide,
  emptyState,
  evolve,
} from "../../core/index.ts";
import { FindView, type Found } from "../find.ts";
import { limits } from "../limits.ts";
import { type Asked, Model } from "./model.ts";

/** Stands still; whoever waits is let go by hand. */
class Hands {
  readonly #waiting: (() => void)[] = [];
  readonly waitedMs: number[] = [];
  #nowMs = 1_000;

  nowMs(): number {
    return this.#nowMs;
  }

  async until(atMs: number, signal: AbortSignal): Promise<void> {
    this.waitedMs.push(atMs - this.#nowMs);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    signal.addEventListener("abort", () => reject(signal.reason));
    await promise;
  }

  move(ms: number): void {
    this.#nowMs += ms;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

type Embed = (text: string) => readonly number[];

/** A registry, the view, and a model that knows two directions: tea, and all the rest. */
class Following {
  readonly state = emptyState();
  readonly view = new FindView();
  readonly clock = new Hands();
  readonly said: string[] = [];
  readonly batches: (readonly string[])[] = [];
  embed: Embed = (text) => (/tea/.test(text) ? [1, 0] : [0, 1]);
  readonly model = new Model({
    clock: this.clock,
    learn: (agent, vector) => this.view.learn(agent, vector),
    warn: (message) => this.said.push(message),
    embedder: {
      embed: async (texts) => {
        this.batches.push(texts);
        return texts.map((text) => Float32Array.from(this.embed(text)));
      },
    },
  });

  submit(command: Command): void {
    const decision = decide(this.state, command, 1_000);
    assert(!decision.refusal);
    for (const event of decision.events) {
      evolve(this.state, event);
      this.view.apply(event);
      this.model.apply(event);
    }
  }

  register(name: string, description = ""): AgentId {
    const id = agentId(name);
    const card: Card = {
      name,
      description,
      version: "",
      capabilities: [],
      tools: [],
      metadata: [],
    };
    this.submit({ type: "agent.register", agentId: id, card, ttlMs: 30_000 });
    return id;
  }

  async find(query: string): Promise<Found> {
    const asked: Asked = await this.model.ask(query);
    return this.view.search({ query, tools: [], limit: 10 }, asked);
  }
}

/** Until everything that can go on has gone on. */
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
/** What this model makes of tea. */
const tea: Asked = { vector: Float32Array.of(1, 0) };
const names = ({ hits }: Found): readonly string[] => hits.map((hit) => hit.agentId);

describe("a model that was given", () => {
  it("ranks once it knows everyone, and the table does until then", async () => {
    const plane = new Following();
    await using _ = plane.model;
    plane.register("kettle", "tea");
    plane.register("crane", "lifts");
    const before = plane.view.search({ query: "teapots", tools: [], limit: 10 }, tea);
    assert.equal(before.ranking, "table");
    assert.match(before.reason ?? "", /2 of 2 agents/);
    await settled();
    const found = await plane.find("steam, teapots");
    assert.equal(found.ranking, "model");
    assert.equal(found.reason, undefined);
    assert.deepEqual(names(found), ["kettle", "crane"]);
  });

  it("learns those who come later, and keeps nothing of those who go", async () => {
    const plane = new Following();
    await using _ = plane.model;
    const kettle = plane.register("kettle", "tea");
    plane.register("crane");
    await settled();
    plane.submit({ type: "agent.deregister", agentId: kettle });
    plane.register("digger");
    const before = plane.view.search({ query: "tea", tools: [], limit: 10 }, tea);
    assert.match(before.reason ?? "", /1 of 2 agents/);
    await settled();
    const found = await plane.find("teapots");
    assert.equal(found.ranking, "model");
    // It has the number that the kettle had, and not its vector.
    assert(found.hits.every(({ score }) => Math.abs(score) < 0.01));
  });

  it("starts from a whole state, asks for many at once and for the same text once", async () => {
    const plane = new Following();
    await using _ = plane.model;
    for (let index = 0; index < 100; index++) plane.register(`w${index % 2}-${index}`);
    plane.batches.length = 0;
    plane.model.reset(plane.state);
    await settled();
    assert(plane.batches.length >= 2);
    assert(plane.batches.every((texts) => texts.length <= limits.modelBatchMax));
    assert.equal((await plane.find("w")).ranking, "model");
  });

  it("that is down is asked again after pauses that double, and nobody waits for it", async () => {
    const plane = new Following();
    await using _ = plane.model;
    plane.embed = () => {
      throw new Error("connection refused");
    };
    plane.register("kettle", "tea");
    for (let times = 0; times < 8; times++) {
      await settled();
      plane.clock.move(60_000);
    }
    await settled();
    assert.deepEqual(plane.clock.waitedMs.slice(0, 4), [1_000, 2_000, 4_000, 8_000]);
    assert.equal(Math.max(...plane.clock.waitedMs), limits.modelPauseMsMax);
    const asks = plane.batches.length;
    const found = await plane.find("tea");
    assert.equal(plane.batches.length, asks);
    assert.equal(found.ranking, "table");
    assert.match(found.reason ?? "", /connection refused/);
    assert.deepEqual(names(found), ["kettle"]);
    plane.embed = () => [1, 0];
    plane.clock.move(60_000);
    await settled();
    assert.equal((await plane.find("tea")).ranking, "model");
    assert.equal(plane.said.length, 2);
  });

  it("that does not take one card knows the others", async () => {
    const plane = new Following();
    await using _ = plane.model;
    plane.register("first");
    await settled();
    const usual = plane.embed;
    plane.embed = (text) => {
      if (text.includes("poison")) throw Object.assign(new Error("no"), { isRefusal: true });
      return usual(text);
    };
    plane.register("kettle", "tea");
    plane.register("poison");
    plane.register("crane");
    await settled();
    const found = await plane.find("teapots");
    assert.equal(found.ranking, "model");
    assert.equal(names(found)[0], "kettle");
  });

  it("that is slow is waited for once, and then left alone for a while", {
    timeout: 5_000,
  }, async () => {
    const asked: string[] = [];
    const clock = new Hands();
    await using model = new Model({
      clock,
      learn: () => {},
      warn: () => {},
      embedder: {
        embed: async ([text = ""], { signal }) => {
          asked.push(text);
          const { promise, reject } = Promise.withResolvers<never>();
          // Something must keep the process alive while it waits.
          const alive = setInterval(() => {}, 1_000);
          signal.addEventListener("abort", () => reject(signal.reason));
          return await promise.finally(() => clearInterval(alive));
        },
      },
    });
    assert.match((await model.ask("tea")).reason ?? "", /longer than 300 ms/);
    assert.match((await model.ask("tea")).reason ?? "", /slow/);
    assert.equal(asked.length, 1);
    clock.move(limits.modelSlowPauseMs);
    assert.match((await model.ask("tea")).reason ?? "", /longer than 300 ms/);
  });

  it("is not asked more at once than the limit", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using model = new Model({
      clock: new Hands(),
      learn: () => {},
      warn: () => {},
      embedder: { embed: async () => await promise.then(() => [Float32Array.of(1)]) },
    });
    const first = Array.from({ length: limits.modelQuestionsMax }, () => model.ask("tea"));
    assert.match((await model.ask("tea")).reason ?? "", /busy/);
    resolve();
    for (const { vector } of await Promise.all(first)) assert(vector);
  });
});
