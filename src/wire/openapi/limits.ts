/** What a request may bring along. The same bounds as over gRPC: what one door takes, the other can show. */
export const limits = {
  /** UTF-8 bytes of a name, an id, a tool, a pattern. */
  nameBytesMax: 1_024,
  /** UTF-8 bytes of a description, a metadata value, a reason. */
  textBytesMax: 65_536,
  /** Tools, capabilities, metadata pairs, types. */
  itemsMax: 1_000,
  /** Of these as part of an address, which has less room. */
  queryItemsMax: 64,
  /** The place after which a page goes on: two names at most. */
  cursorLengthMax: 4_096,
  /** Base64 of 2,000,000 bytes. */
  payloadLengthMax: 2_666_668,

  agentTtlMsDefault: 30_000,
  leaseTtlMsDefault: 60_000,
  claimMsDefault: 60_000,
  /** A day. Longer work renews. */
  ttlMsMax: 86_400_000,
  ttlMsMin: 100,
  /** A long poll: whoever still wants it asks again, and keeps its place with the same key. */
  waitMsMax: 60_000,
  delayMsMax: 31_536_000_000,
  retriesMax: 1_000_000,
  priorityMax: 100,

  pageDefault: 100,

  silentAfterMsMax: 86_400_000,
  pageMax: 1_000,
  findDefault: 10,
  findMax: 1_000,
} as const;
