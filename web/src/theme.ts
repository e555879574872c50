/** Light, dark, or as the system has it. */
import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const themes: readonly Theme[] = ["system", "light", "dark"];
const keptAs = "tipstaff-theme";

export const theme = signal<Theme>(
  themes.find((one) => one === localStorage.getItem(keptAs)) ?? "system",
);

export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? "system";
}

export function startTheme(): void {
  effect(() => {
    document.documentElement.dataset["theme"] = theme.value;
    localStorage.setItem(keptAs, theme.value);
  });
}
