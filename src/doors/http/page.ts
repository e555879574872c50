/**
 * The dashboard, made into one document: its style and script are written into it, and the content
 * security policy allows exactly these two, by their hashes. Nothing else is loaded from anywhere.
 */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";

export type Page = { readonly html: string; readonly contentSecurityPolicy: string };

const styleLink = '<link rel="stylesheet" href="page.css" />';
const scriptLink = '<script type="module" src="page.js"></script>';

export async function loadPage(): Promise<Page> {
  const [html, style, script] = await Promise.all(
    ["page.html", "page.css", "page.js"].map((name) =>
      readFile(new URL(`page/${name}`, import.meta.url), "utf8"),
    ),
  );
  assert(html && style && script, "the page has three parts");
  assert(html.includes(styleLink) && html.includes(scriptLink), "the page names its parts");
  assert(!script.includes("</script"), "the script does not end itself");
  return {
    // Functions, because `$` in a replacement text would be read.
    html: html
      .replace(styleLink, () => `<style>${style}</style>`)
      .replace(scriptLink, () => `<script type="module">${script}</script>`),
    contentSecurityPolicy: [
      "default-src 'none'",
      `script-src ${sourceOf(script)}`,
      `style-src ${sourceOf(style)}`,
      "connect-src 'self'",
      "img-src data:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; "),
  };
}

function sourceOf(text: string): string {
  return `'sha256-${hash("sha256", text, "base64")}'`;
}
