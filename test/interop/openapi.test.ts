/**
 * A real daemon against Schemathesis, which reads our OpenAPI document and makes up requests, right and
 * wrong ones: whatever comes in, what goes out is what the document says.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";
import { routes } from "../../src/wire/api/index.ts";
import { prepareSchemathesis, pythonIn } from "./environment.ts";

const settings = resolve("test/interop/schemathesis");

/** All that it knows but for those that assume an API of plain resources. */
const checks = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "negative_data_rejection",
  "missing_required_header",
  "unsupported_method",
  "allow_header_conformance",
  "ignored_auth",
];

const prepared = await prepareSchemathesis();

if ("unavailable" in prepared) {
  test("the OpenAPI document and Schemathesis", (context) => {
    // Where everything must be tested, what cannot be tested has failed.
    assert.notEqual(process.env["CI"], "true", prepared.unavailable);
    context.skip(prepared.unavailable);
  });
} else {
  const python = pythonIn(prepared.directory);

  describe("the OpenAPI document", () => {
    test("is valid", async () => {
      await using daemon = await startDaemon();
      using scratch = mkdtempDisposableSync(join(tmpdir(), "tipstaff-openapi-"));
      const file = join(scratch.path, "openapi.json");
      const answer = await fetch(`${daemon.url}/api/v1/openapi.json`);
      writeFileSync(file, await answer.text());
      const { output, code } = await run(python, ["-m", "openapi_spec_validator", file]);
      assert.equal(code, 0, output);
    });

    // Takes over 20 s: Schemathesis makes thousands of requests, and more than one worker is not safe (see below).
    test("says of every request, right or wrong, what comes of it", async (context) => {
      await using daemon = await startDaemon();
      const authorization = `Authorization: Bearer ${daemon.token}`;
      const { output, code } = await run(python, [
        ...["-m", "schemathesis.cli", "--config-file", join(settings, "schemathesis.toml")],
        ...["run", `${daemon.url}/api/v1/openapi.json`, "--header", authorization],
        // It does not end.
        ...["--exclude-operation-id", "watchEntries"],
        ...["--phases", "coverage,fuzzing", "--checks", checks.join(",")],
        ...["--max-examples", "15", "--seed", "1", "--generation-deterministic"],
        // More than one worker, and Python 3.11 may miscount how deep it is in a syntax tree, and say that it failed.
        ...["--no-color", "--workers", "1"],
      ]);
      const tested = /Tested: (\d+)/.exec(output)?.[1];
      context.diagnostic(/\d+ generated, .*/.exec(output)?.[0] ?? "");
      assert.equal(code, 0, withShortLines(output));
      assert.equal(Number(tested), Object.keys(routes).length, "each operation was asked for");
      assert.equal(daemon.complaints(), "");
    });
  });
}

type Daemon = AsyncDisposable & {
  readonly url: string;
  readonly token: string;
  /** What it wrote of faults of its own. */
  readonly complaints: () => string;
};

/** In memory, with a state directory of its own. */
async function startDaemon(): Promise<Daemon> {
  await using made = new AsyncDisposableStack();
  const state = made.use(mkdtempDisposableSync(join(tmpdir(), "tipstaff-state-")));
  const places = ["--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--arcp="];
  const running = spawn(
    resolve("bin/tipstaff"),
    ["up", "--memory", "--json", "--status-dir=", ...places],
    {
      env: { ...process.env, XDG_STATE_HOME: state.path },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  made.defer(() => stop(running));
  let said = "";
  let complained = "";
  running.stderr.on("data", (chunk: Buffer) => {
    complained += chunk;
  });
  for await (const chunk of running.stdout) {
    said += chunk;
    if (said.includes("\n")) break;
  }
  assert(said.includes("\n"), complained);
  const { http: url, tokenFile } = JSON.parse(said);
  const token = readFileSync(tokenFile, "utf8").trim();
  const parts = made.move();
  return {
    url,
    token,
    complaints: () => complained,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

async function stop(running: ChildProcess): Promise<void> {
  if (running.exitCode !== null) return;
  running.kill("SIGTERM");
  await once(running, "exit");
}

async function run(
  program: string,
  words: readonly string[],
): Promise<{ readonly output: string; readonly code: number }> {
  using scratch = mkdtempDisposableSync(join(tmpdir(), "tipstaff-schemathesis-"));
  const running = spawn(program, words, {
    cwd: scratch.path,
    env: { ...process.env, PYTHONPATH: settings, SCHEMATHESIS_HOOKS: "patience" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [running.stdout, running.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk;
    });
  }
  const [code] = await once(running, "close");
  return { output, code };
}

function withShortLines(text: string): string {
  return text.replaceAll(/(.{300}).*/g, "$1…");
}
