/** How the dashboard is built: into `dist/web`, which the HTTP door serves and the package ships. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const here = fileURLToPath(new URL(".", import.meta.url));

export default defineConfig({
  root: here,
  publicDir: false,
  logLevel: "warn",
  // The checkout uses the client as it is in its sources, as everything else in it does.
  resolve: { conditions: ["@tipstaff/source"] },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../dist/web",
    emptyOutDir: true,
    target: "baseline-widely-available",
    // The content security policy allows files of ours and nothing inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
