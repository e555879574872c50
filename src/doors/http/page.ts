/**
 * The dashboard, as it was built from `web/`. Every file is read once, when the door opens: what is not in
 * that map is not served, whatever is asked for. Scripts and styles have a hash in their name, so a browser
 * may keep them; the document, which names them, is asked for again each time.
 */
import { type Dirent, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";

export type PageFile = {
  readonly status: 200 | 503;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
};

export type Page = {
  /** Patterns of the paths to ask `find` for. */
  readonly routes: readonly string[];
  /** Undefined: there is nothing under this path. */
  find(path: string): PageFile | undefined;
};

/** Views of the page. It reads its address itself, so that each of them is the same document. */
const views = ["machine", "agents", "coordination", "work", "tasks", "log", "pace"];
const routes = ["/", ...views.flatMap((view) => [`/${view}`, `/${view}/*`]), "/assets/*"];

/** Nothing from elsewhere, nothing inline, and no text that could become markup. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const contentTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** In a checkout the sources run where they are; in the package everything is in `dist/`. */
const isSource = import.meta.url.endsWith("/src/doors/http/page.ts");
export const builtPage: URL = new URL(isSource ? "../../../dist/web/" : "web/", import.meta.url);

export async function loadPage(folder: URL = builtPage): Promise<Page> {
  const assets = new Map<string, PageFile>();
  for (const name of filesIn(new URL("assets/", folder))) {
    const file = await load(new URL(`assets/${name}`, folder), {
      "Cache-Control": "public, max-age=31536000, immutable",
    });
    if (file) assets.set(`/assets/${name}`, file);
  }
  const document = await load(new URL("index.html", folder), {
    "Content-Security-Policy": contentSecurityPolicy,
  }).catch(() => notBuilt);
  return {
    routes,
    find: (path) => (path.startsWith("/assets/") ? assets.get(path) : document),
  };
}

async function load(
  url: URL,
  headers: Readonly<Record<string, string>>,
): Promise<PageFile | undefined> {
  const contentType = contentTypes[extname(url.pathname)];
  if (contentType === undefined) return undefined;
  const body = new Uint8Array(await readFile(url));
  return { status: 200, headers: { ...headers, "Content-Type": contentType }, body };
}

const notBuilt: PageFile = {
  status: 503,
  headers: { "Content-Type": "text/plain; charset=utf-8" },
  body: new TextEncoder().encode("dashboard not built; run npm run build\n"),
};

function filesIn(folder: URL): readonly string[] {
  let entries: readonly Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    // Not built: the document says so.
    return [];
  }
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}
