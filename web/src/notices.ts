/** Short messages about what was just done, or could not be. */
import { signal } from "@preact/signals";
import { limits } from "./limits.ts";

export const notice = signal("");
let timer: ReturnType<typeof setTimeout> | undefined;

export function notify(text: string): void {
  notice.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => {
    notice.value = "";
  }, limits.noticeMs);
}
