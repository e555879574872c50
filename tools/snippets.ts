/**
 * Puts the examples that CI runs into the README, between markers. `--check` fails if it is not so.
 */
import { readFileSync, writeFileSync } from "node:fs";

const snippets = [
  { name: "first-steps", path: "examples/first-steps/main.ts", language: "ts" },
  { name: "jobs", path: "examples/jobs/main.ts", language: "ts" },
  { name: "embedded", path: "examples/embedded/main.ts", language: "ts" },
  { name: "status-writer", path: "examples/status-writer/main.ts", language: "ts" },
  { name: "one-holder", path: "examples/one-holder/main.py", language: "python" },
];

const before = readFileSync("README.md", "utf8");
let after = before;
for (const { name, path, language } of snippets) {
  const code = `\`\`\`${language}\n${readFileSync(path, "utf8")}\`\`\``;
  const between = new RegExp(`(<!-- ${name}:begin -->\n)[^]*(<!-- ${name}:end -->)`);
  after = after.replace(between, (_, begin, end) => `${begin}${code}\n${end}`);
}
if (after !== before && process.argv.includes("--check")) {
  console.error("README.md is out of date; run npm run generate");
  process.exitCode = 1;
} else if (after !== before) {
  writeFileSync("README.md", after);
}
