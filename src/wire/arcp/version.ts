/** The version of ARCP that we speak: the `arcp` of every envelope. */
export const protocolVersion = "1.1";

/** Of this package. A constant of its own, because a browser's bundle must not bring package.json along. */
export const implementationVersion = "0.1.0";
