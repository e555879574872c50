/** Tokens that need no table: `principal.expires.signature`, for whoever knows the secret. */
import { createHmac, timingSafeEqual } from "node:crypto";

const secret = "demo-shared-secret";

export function signToken(principal: string, lifetimeSec = 60): string {
  const expires = Math.floor(Date.now() / 1000) + lifetimeSec;
  return `${principal}.${expires}.${sign(`${principal}.${expires}`).toString("hex")}`;
}

/** Whose token it is; undefined if it is nobody's. */
export function verifyToken(token: string): { readonly principal: string } | undefined {
  const [principal = "", expires = "", signature = "", ...more] = token.split(".");
  const expected = sign(`${principal}.${expires}`);
  const given = Buffer.from(signature, "hex");
  const isSigned = given.length === expected.length && timingSafeEqual(given, expected);
  const isFresh = Number(expires) * 1000 > Date.now();
  return isSigned && isFresh && more.length === 0 ? { principal } : undefined;
}

function sign(text: string): Buffer {
  return createHmac("sha256", secret).update(text).digest();
}
