/** A real browser for the tests that need one. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const executables = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Where the browser is. As root it is installed if it is missing; undefined if it cannot be had. */
export function findBrowser(): string | undefined {
  const find = (): string | undefined => executables.find((path) => existsSync(path));
  const found = find();
  if (found !== undefined || process.getuid?.() !== 0) return found;
  try {
    execFileSync("apt-get", ["update"], { stdio: "ignore" });
    execFileSync("apt-get", ["install", "-y", "chromium"], { stdio: "ignore" });
  } catch {
    // No such package manager, or no network: the test says what is missing.
  }
  return find();
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
