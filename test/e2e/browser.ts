/**
 * A real browser for the tests that need one. On Linux x64 it comes from a package, which holds Chromium and its
 * libraries and needs nothing but glibc of the machine. Elsewhere `TIPSTAFF_BROWSER` names one.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Browser, chromium } from "playwright-core";
import { cached } from "../cache.ts";

const run = promisify(execFile);

const chosen = process.env["TIPSTAFF_BROWSER"];
const isPackaged = process.platform === "linux" && process.arch === "x64";

/** Why tests in a browser are skipped; false: they run. Under `CI=true` a missing browser is a failure. */
export function skipWithoutBrowser(): string | false {
  if (chosen !== undefined || isPackaged) return false;
  const reason =
    "set TIPSTAFF_BROWSER to the path of a Chromium: no package has one for this platform";
  assert(process.env["CI"] !== "true", reason);
  return reason;
}

/**
 * Starts the browser. The flags are ours: those that the package suggests switch off web security, and tests of
 * requests from other sites would then prove nothing.
 */
export async function launchBrowser(): Promise<Browser> {
  const { executablePath, env } =
    chosen === undefined ? await packaged() : { executablePath: chosen, env: {} };
  return await chromium.launch({
    executablePath,
    env: { ...process.env, ...env },
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

type Packaged = { readonly executablePath: string; readonly env: Readonly<Record<string, string>> };

/** Unpacks the browser the first time. */
export async function packaged(): Promise<Packaged> {
  const manifest = new URL("../package.json", import.meta.resolve("@sparticuz/chromium"));
  const { version } = JSON.parse(readFileSync(fileURLToPath(manifest), "utf8"));
  const directory = await cached({ name: "chromium", version, make: unpack });
  const home = join(directory, "home");
  return {
    executablePath: join(directory, "chromium"),
    // Certificates and caches of fonts are written below the home directory.
    env: {
      HOME: home,
      XDG_CACHE_HOME: join(home, ".cache"),
      XDG_CONFIG_HOME: join(home, ".config"),
      FONTCONFIG_PATH: join(directory, "fonts"),
      LD_LIBRARY_PATH: join(directory, "al2023", "lib"),
    },
  };
}

/**
 * The package unpacks into the temporary directory, under fixed names and without a lock, and its libraries only
 * where it takes the machine for Amazon's. So a process of its own does it, with a temporary directory of its own.
 */
async function unpack(directory: string): Promise<void> {
  const program = 'await (await import("@sparticuz/chromium")).default.executablePath()';
  await run(process.execPath, ["--input-type=module", "--eval", program], {
    env: { ...process.env, TMPDIR: directory, AWS_LAMBDA_JS_RUNTIME: "nodejs22.x" },
  });
  mkdirSync(join(directory, "home"));
  writeFileSync(join(directory, "fonts", "fonts.conf"), fonts);
}

/** The package's own configuration names fixed directories outside of ours. */
const fonts = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`;
