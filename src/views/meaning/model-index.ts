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
  /** Whether all vectors would take more memory than they may. */
  #isTooLarge = false;

  /** Makes room for documents with smaller numbers than this. */
  reserve(documents: number): void {
    this.#room = documents;
    if (this.#fits(this.#vectors)) this.#vectors?.reserve(documents);
    else this.#forget();
  }

  /** An empty vector is for a card that the model does not take: it is like nothing. */
  add(document: number, vector: Float32Array): void {
    // It says nothing of how wide the others are. Whoever has no vector yet is like nothing, too.
    if (vector.length > 0) this.#vectors ??= this.#make(vector.length);
    if (this.#isTooLarge) return;
    this.#vectors?.set(document, vector);
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
    if (this.#isTooLarge) return `${documents} agents are too many for the model`;
    return `the model does not know ${missing} of ${documents} agents yet`;
  }

  #make(width: number): Vectors | undefined {
    const vectors = new Vectors(width);
    this.#isTooLarge = !this.#fits(vectors);
    if (this.#isTooLarge) return undefined;
    vectors.reserve(this.#room);
    return vectors;
  }

  #fits(vectors: Vectors | undefined): boolean {
    return (vectors?.bytesFor(this.#room) ?? 0) <= limits.modelBytesMax;
  }

  #forget(): void {
    this.#isTooLarge = true;
    this.#vectors = undefined;
    this.#known.clear();
  }
}
