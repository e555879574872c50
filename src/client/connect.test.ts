import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { temporaryDirectory } from "../testing/temporary.ts";
import { type ConnectOptions, connect } from "./connect.ts";

const names = ["TIPSTAFF_URL", "TIPSTAFF_TOKEN", "TIPSTAFF_DATA_DIR", "XDG_STATE_HOME"];
const before = names.map((name) => [name, process.env[name]] as const);

afterEach(() => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

type Sent = {
  readonly url: string;
  readonly authorization: string | null;
  readonly page: string | null;
};

/** What the first request says, of a client that is told this and finds itself in these surroundings. */
async function sentBy(
  options: ConnectOptions,
  environment: Readonly<Record<string, string>> = {},
): Promise<Sent> {
  for (const name of names) delete process.env[name];
  Object.assign(process.env, { XDG_STATE_HOME: "/nowhere", ...environment });
  const sent: Sent[] = [];
  const fetch = async (url: string, { headers }: RequestInit): Promise<Response> => {
    const all = new Headers(headers);
    const [authorization, page] = [all.get("Authorization"), all.get("Tipstaff-Page")];
    sent.push({ url: new URL(url).origin, authorization, page });
    return Response.json({ mayWrite: true });
  };
  await using _ = await connect({ ...options, fetch });
  assert(sent[0]);
  return sent[0];
}

const local = "http://127.0.0.1:9090";

test("a program that says nothing finds the daemon of this machine and its token", async () => {
  await using directory = await temporaryDirectory();
  await mkdir(join(directory.path, "tipstaff"));
  await writeFile(join(directory.path, "tipstaff/token"), "secret\n");
  const environment = { XDG_STATE_HOME: directory.path };
  const sent = await sentBy({}, environment);
  assert.deepEqual(sent, { url: local, authorization: "Bearer secret", page: null });
  const named = { TIPSTAFF_DATA_DIR: join(directory.path, "tipstaff") };
  assert.equal((await sentBy({}, named)).authorization, "Bearer secret");
});

test("the token of this machine's daemon is sent to no other machine", async () => {
  await using directory = await temporaryDirectory();
  await writeFile(join(directory.path, "token"), "secret");
  const environment = { TIPSTAFF_DATA_DIR: directory.path };
  for (const url of [
    "http://10.0.0.1:9090",
    "https://example.com",
    "http://127.0.0.1.example.com",
  ]) {
    assert.equal((await sentBy({ url }, environment)).authorization, null, url);
  }
  for (const url of ["http://localhost:1", "http://[::1]:1", "http://127.0.0.1:1"]) {
    assert.equal((await sentBy({ url }, environment)).authorization, "Bearer secret", url);
  }
});

test("what the program says counts for more than the environment, and that for more than the file", async () => {
  const environment = { TIPSTAFF_URL: "http://10.0.0.1:1/", TIPSTAFF_TOKEN: "from-environment" };
  assert.deepEqual(await sentBy({}, environment), {
    url: "http://10.0.0.1:1",
    authorization: "Bearer from-environment",
    page: null,
  });
  const said = { url: "http://10.0.0.2:2", token: "said" };
  assert.equal((await sentBy(said, environment)).authorization, "Bearer said");
});

test("a page sends its key and no token", async () => {
  const sent = await sentBy({ pageKey: "key" }, { TIPSTAFF_TOKEN: "secret" });
  assert.deepEqual([sent.authorization, sent.page], [null, "key"]);
});

test("what is no address is told before anything is sent", async () => {
  for (const url of ["localhost:9090", "ftp://x", "", "unix:/tmp/x"]) {
    await assert.rejects(connect({ url }), { code: "invalid_argument" }, url);
  }
});
