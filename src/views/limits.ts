/** How much of a text is read, so that no card and no query can hold the loop. */
export const limits = {
  /** Of one card: several pages. What comes later can not be found by its words, only by its tools. */
  cardWordsMax: 2_000,
  cardCharactersMax: 32_768,
  /** Of one query. */
  queryWordsMax: 100,
  queryCharactersMax: 8_192,
  /** A longer word is known by its beginning. */
  wordLengthMax: 64,
  /** How many occurrences one query looks at: 10 to 20 ms. The rarest words come first: they tell most. */
  occurrencesReadMax: 2_000_000,
  /** A document number has 24 bits. Far above the agents that the core admits. */
  documentsMax: 16_777_216,
  /** Occurrences of one word in one card that are told apart: they are counted in 8 bits. */
  frequencyMax: 255,
  /** Numbers under one text up to which they are copied for each that is added. */
  fewMax: 32,
  /** Numbers in one block of a sorted list: adding to a list moves at most so many. */
  blockLengthMax: 512,
} as const;
