/**
 * Likeness by a model that was given, once it knows every card: one answer has one measure, because the
 * cosines of two cannot be compared.
 */
import { limits } from "../limits.ts";
import type { Asked } from "./model.ts";
import { Vectors } from "./vectors.ts";

/** What to compare with, or why not. */
type Measure =
  | { readonly vectors: Vectors; readonly reason?: never }
  | { readonly vectors?: never; readonly reason: string };

export class ModelIndex {
  readonly #known = new Set<number>();
  #vectors: Vectors | undefined;
  #room = 0;

  /** Makes room for documents with smaller numbers than this. */
  reserve(documents: number): void {
    this.#room = documents;
    if (this.#fits(this.#vectors)) this.#vectors?.reserve(documents);
    else this.#forget();
  }

  /** An empty vector is for a card that the model does not take: it is like nothing. */
  add(document: number, vector: Float32Array): void {
    if (!this.#vectors) {
      const vectors = new Vectors(vector.length);
      if (!this.#fits(vectors)) return;
      vectors.reserve(this.#room);
      this.#vectors = vectors;
    }
    this.#vectors.set(document, vector);
    this.#known.add(document);
  }

  delete(document: number): void {
    this.#known.delete(document);
  }

  score(asked: Asked, documents: number): Measure {
    const reason = asked.reason ?? this.unknown(documents);
    if (reason !== undefined) return { reason };
    const vectors = this.#vectors;
    if (!vectors || !asked.vector) return { reason: "the model knows no agent" };
    if (vectors.width !== asked.vector.length) return { reason: "the model changed its vectors" };
    vectors.ask(asked.vector);
    return { vectors };
  }

  /** In words, unless it knows them all. */
  unknown(documents: number): string | undefined {
    const missing = documents - this.#known.size;
    if (missing === 0) return undefined;
    return `the model does not know ${missing} of ${documents} agents yet`;
  }

  #fits(vectors: Vectors | undefined): boolean {
    return (vectors?.bytesFor(this.#room) ?? 0) <= limits.modelBytesMax;
  }

  #forget(): void {
    this.#vectors = undefined;
    this.#known.clear();
  }
}
