/**
 * Makes `src/wire/gen/` from `proto/`: codecs by ts-proto, and the file descriptors that gRPC
 * reflection hands out; `src/views/meaning/gen/` from the kernel beside it; the JSON Schema of status files from the
 * code that reads them; and the programs in `plugins/`. `--check` makes them in a scratch directory and fails on any
 * difference.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { jsonSchema } from "../src/wire/status-file/index.ts";
import { buildPlugins } from "./plugins.ts";

const wire = "src/wire/gen";
const kernel = "src/views/meaning/gen";
const plugins = "plugins";
const statusSchema = "docs/status-file.schema.json";

if (process.argv.includes("--check")) {
  await check(wire, generateWire);
  await check(kernel, generateKernel);
  await check(plugins, generatePlugins);
  if (read(statusSchema) !== printStatusSchema()) complain("docs", ["status-file.schema.json"]);
} else {
  generateWire(wire);
  generateKernel(kernel);
  await generatePlugins(plugins);
  writeFileSync(statusSchema, printStatusSchema());
}

async function check(
  committed: string,
  generate: (out: string) => void | Promise<void>,
): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), "tipstaff-gen-"));
  try {
    await generate(scratch);
    const stale = [...new Set([...files(scratch), ...files(committed)])].filter(
      (path) => read(join(scratch, path)) !== read(join(committed, path)),
    );
    if (stale.length > 0) complain(committed, stale);
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

function complain(committed: string, stale: readonly string[]): void {
  console.error(`out of date in ${committed}: ${stale.join(", ")}; run npm run generate`);
  process.exitCode = 1;
}

/** As the formatter has it, so that the check of all files agrees. */
function printStatusSchema(): string {
  const input = JSON.stringify(jsonSchema, null, 2);
  return execFileSync("node_modules/.bin/biome", ["format", `--stdin-file-path=${statusSchema}`], {
    encoding: "utf8",
    input,
  });
}

async function generatePlugins(out: string): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), "tipstaff-gen-"));
  try {
    await buildPlugins({ emitters: scratch, plugins: out });
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

function generateKernel(out: string): void {
  const scratch = mkdtempSync(join(tmpdir(), "tipstaff-gen-"));
  try {
    const bytes = join(scratch, "kernel.wasm");
    execFileSync("node_modules/.bin/wat2wasm", ["src/views/meaning/kernel.wat", "-o", bytes]);
    writeFileSync(join(out, "kernel.ts"), kernelModule(readFileSync(bytes)));
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

function kernelModule(bytes: Buffer): string {
  return [
    "// Made by tools/generate.ts from ../kernel.wat. DO NOT EDIT.",
    "",
    "/** The kernel as WebAssembly, base64. */",
    "export const kernelBytes: string =",
    `  ${JSON.stringify(bytes.toString("base64"))};`,
    "",
  ].join("\n");
}

function generateWire(out: string): void {
  buf("generate", "--template", readFileSync("buf.gen.json", "utf8").replace(wire, out));
  const image = buf("build", "--as-file-descriptor-set", "--exclude-source-info", "-o", "-");
  writeFileSync(join(out, "descriptors.ts"), descriptors(image));
}

function buf(...args: string[]): Buffer {
  return execFileSync("node_modules/.bin/buf", args, { stdio: ["ignore", "pipe", "inherit"] });
}

/** One line for each file of the set: its name, and its descriptor as base64. */
function descriptors(set: Uint8Array): string {
  const rows = messages(set, 1).map((file) => {
    const name = new TextDecoder().decode(messages(file, 1)[0]);
    return `  [${JSON.stringify(name)}, ${JSON.stringify(Buffer.from(file).toString("base64"))}],`;
  });
  return [
    "// Made by tools/generate.ts. DO NOT EDIT.",
    "",
    "/** FileDescriptorProto of every file we serve, base64, by file name. */",
    "export const fileDescriptors: readonly (readonly [name: string, base64: string])[] = [",
    ...rows,
    "];",
    "",
  ].join("\n");
}

/** The length-delimited values of one field of a message. */
function messages(bytes: Uint8Array, field: number): Uint8Array[] {
  const reader = new BinaryReader(bytes);
  const found: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === field) found.push(reader.bytes());
    else reader.skip(wireType);
  }
  return found;
}

function files(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((path) =>
    /\.(ts|js|cjs)$/.test(path),
  );
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
