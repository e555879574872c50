/**
 * What is this user's alone. Status files and what programs keep of their sessions are readable by nobody else,
 * and they tell of goals, prompts and paths: what we know from them leaves the door only to who has the token,
 * or came by a way that only this user can take.
 */
import type { Event } from "../../core/index.ts";

export function isPersonal({ type }: Event): boolean {
  return type.startsWith("observed.") || type.startsWith("need.");
}
