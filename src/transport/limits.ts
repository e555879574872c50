/** What another server may take of our time and memory. */
export const limits = {
  /** Of one answer with vectors: 64 of the widest, with room to spare. */
  embeddingsBytesMax: 16_777_216,
  /** The widest vectors that models make. */
  embeddingWidthMax: 4_096,
} as const;
