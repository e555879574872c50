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
  /** How many occurrences one query looks at: up to a millisecond. The rarest words come first: they tell most. */
  occurrencesReadMax: 100_000,
  /** Of each part of a card, so much is read for its meaning. More words only blur it. */
  meaningCharactersMax: 2_048,
  /** Cards read for their meaning in one turn, about 2 ms; and by a search that finds some unread, 10 ms. */
  cardsReadAtOnce: 32,
  cardsReadBySearch: 200,
  /** The widest that models make. */
  vectorWidthMax: 4_096,
  /** A document number has 24 bits. Far above the agents that the core admits. */
  documentsMax: 16_777_216,
  /** Occurrences of one word in one card that are told apart: they are counted in 8 bits. */
  frequencyMax: 255,
  /** Numbers under one text up to which they are copied for each that is added. */
  fewMax: 32,
  /** Numbers in one block of a sorted list: adding to a list moves at most so many. */
  blockLengthMax: 512,
  /** A search waits so long for the model. Then the table answers, and the model is left alone for the pause. */
  modelQueryMs: 300,
  modelSlowPauseMs: 5_000,
  /** Questions that may wait for the model at once. */
  modelQuestionsMax: 64,
  /** Cards that it is asked for at once, and how long that may take. */
  modelBatchMax: 64,
  modelBatchMs: 30_000,
  /** Of one card: what small models read at all. */
  modelCharactersMax: 2_048,
  modelToolsMax: 64,
  /** After a failure: doubled each time, up to the most. */
  modelPauseMs: 1_000,
  modelPauseMsMax: 60_000,
  /** All vectors of a model together. Beyond that the table answers. */
  modelBytesMax: 1_073_741_824,

  /** Of what a job says of itself: what is longer is no line to show. */
  wordsLengthMax: 4_096,
} as const;
