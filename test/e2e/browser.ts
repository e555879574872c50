/** A real browser for the tests that need one. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const executables = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Where the browser is; undefined if this machine has none. */
export function findBrowser(): string | undefined {
  return executables.find((path) => existsSync(path));
}

export function launchBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}
