/** `tipstaff dashboard`: a link by which one browser gets the right to change things. */
import { spawn } from "node:child_process";
import { printable, say } from "../terminal/index.ts";
import { call } from "./daemon.ts";
import { no } from "./failure.ts";
import { printOne } from "./lists.ts";
import { forPeople } from "./status.ts";
import type { Values } from "./table.ts";
import { textIn } from "./values.ts";

export async function dashboard(values: Values): Promise<number> {
  const { httpAddress } = await call(values, "getOverview", {});
  const asked = textIn(values, "http");
  const address = asked?.includes("unix:") ? httpAddress : (asked ?? httpAddress);
  if (address === undefined) {
    throw no("the daemon has no address for browsers", "start it with --http localhost:9090");
  }
  const { path } = await call(values, "createLink", {});
  const bare = address
    .replace(/^http:\/\//, "")
    .replace(/\/$/, "")
    .replace(/^:/, "localhost:");
  const url = `http://${forPeople(bare)}${path}`;
  if (values["open"]) openInBrowser(url);
  return printOne(values, { url }, (link) => `${printable(link.url)}\n`);
}

/** Handed over as one argument, never to a shell. Where there is no browser, the link is there to copy. */
function openInBrowser(url: string): void {
  const opener = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(opener, [url], { detached: true, stdio: "ignore" });
  child.on("error", () => say(`tipstaff: there is no ${opener} here; open the link yourself\n`));
  child.unref();
}
