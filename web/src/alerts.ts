/**
 * Shows outside the page that questions are open: a dot on the page's icon, and browser notifications if the user
 * switched them on.
 */
import { signal } from "@preact/signals";
import type { Attention } from "./api.ts";
import plainIcon from "./icon.svg";
import dottedIcon from "./icon-dot.svg";
import { notify } from "./notices.ts";
import { navigate } from "./route.ts";

const keptAs = "tipstaff-notifications";
const refusal = "The browser does not let this page show notifications.";

/** Not every browser has notifications, and some have them only for pages on HTTPS or this machine. */
export const canNotify: boolean = "Notification" in window;
export const isNotifying = signal(
  canNotify && Notification.permission === "granted" && localStorage.getItem(keptAs) === "on",
);

/** Asks the user for the permission if the browser has not yet. */
export async function switchNotifications(): Promise<void> {
  const isOn = !isNotifying.value && (await Notification.requestPermission()) === "granted";
  if (!isOn && !isNotifying.value) notify(refusal);
  isNotifying.value = isOn;
  localStorage.setItem(keptAs, isOn ? "on" : "off");
}

/**
 * The questions of the last response. Undefined before the first one: questions that were already open cause no
 * notification.
 */
let known: ReadonlySet<string> | undefined;

/** Called with all items that need a person, each time the page reads them. */
export function alertOf(items: readonly Attention[]): void {
  const questions = items.filter(({ kind }) => kind === "question");
  const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  const address = questions.length > 0 ? dottedIcon : plainIcon;
  if (icon && icon.getAttribute("href") !== address) icon.href = address;
  const seen = known;
  known = new Set(questions.map(({ id }) => id));
  if (seen === undefined || !isNotifying.value) return;
  for (const question of questions) if (!seen.has(question.id)) show(question);
}

function show({ id, name, text }: Attention): void {
  try {
    // If several pages use the same tag, the browser shows one notification.
    const shown = new Notification(name, { body: text, tag: id });
    shown.onclick = () => {
      window.focus();
      navigate("/");
      shown.close();
    };
  } catch {
    // On phones, browsers allow notifications only for installed pages.
    isNotifying.value = false;
    notify(refusal);
  }
}
