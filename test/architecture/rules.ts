/**
 * Who may import whom, as data. If you need a new arrow, change the table in the same commit and say why
 * in its message: that line of the diff is the review.
 */
import { dirname, join, posix } from "node:path";

/** A file of the sources, by its path below `src/`. */
export type Source = { readonly path: string; readonly text: string };

type Room = {
  /** Other rooms, through their `index.ts`. */
  readonly rooms: readonly string[];
  /** Folders of these that it may not import all the same. */
  readonly without?: readonly string[];
  /** Packages and modules of Node; one that ends in `*` stands for all that begin so. */
  readonly packages: readonly string[];
};

const upToTransport = [
  "core",
  "log",
  "plane",
  "views",
  "wire",
  "transport",
  "sightings",
  "status-files",
];
const upToTesting = [...upToTransport, "doors", "emitters", "runtime", "client", "testing"];

/** A door is a room of its own where packages are concerned. What has no entry is no room. */
export const rooms: Readonly<Record<string, Room>> = {
  core: { rooms: [], packages: [] },
  log: {
    rooms: ["core"],
    packages: [
      "node:crypto",
      "node:fs",
      "node:fs/promises",
      "node:path",
      "node:sqlite",
      "node:timers/promises",
    ],
  },
  plane: {
    rooms: ["core", "log"],
    packages: ["node:assert/strict", "node:crypto", "node:timers/promises"],
  },
  // The table of meanings is a file beside the code.
  views: { rooms: ["core"], packages: ["node:assert/strict", "node:fs"] },
  wire: { rooms: [], packages: ["@bufbuild/protobuf*", "zod"] },
  // Worker messages are vendor messages of ARCP: their fields are read and printed with its readers and types.
  "wire/worker": { rooms: ["wire"], packages: [] },
  // The document tells callers the limits that the core enforces.
  "wire/openapi": { rooms: ["wire", "core"], packages: ["zod"] },
  transport: { rooms: [], packages: ["node:*", "ws"] },
  // Looks at processes and at what hosts leave on disk.
  sightings: { rooms: ["wire"], packages: ["node:*"] },
  // The files that agents tell of themselves in, for whoever reads or writes them, with a daemon or without.
  "status-files": { rooms: ["wire"], packages: ["node:*"] },
  // It knows no protocol: jobs come through several doors, and each says what happens to them in its own words.
  runtime: {
    rooms: ["core", "plane", "wire", "transport"],
    without: ["wire/arcp"],
    packages: ["node:*"],
  },
  // Its language is that of the work: it hands jobs to whoever does them.
  "doors/arcp": { rooms: [...upToTransport, "runtime"], packages: ["node:*"] },
  "doors/grpc": { rooms: upToTransport, packages: ["node:*"] },
  // Tells of jobs with the codes that the runtime has for their ends.
  "doors/http": {
    rooms: [...upToTransport, "runtime"],
    packages: ["node:*", "hono*", "@hono/node-server", "prom-client"],
  },
  "doors/status-files": { rooms: upToTransport, packages: ["node:*"] },
  // What runs inside or beside other people's hosts.
  emitters: { rooms: ["wire", "status-files"], packages: ["node:*"] },
  client: { rooms: ["wire", "transport"], packages: [] },
  // A worker's own process: it connects as the ARCP client does, and runs handlers with the runtime's job context and
  // within time limits that count with the plane's clock.
  "client/worker": {
    rooms: ["core", "plane", "wire", "transport", "runtime", "client", "arcp-context.ts"],
    packages: ["node:*"],
  },
  // An entry of its own, so that nobody loads OpenTelemetry who has not asked for it.
  tracing: { rooms: ["wire", "transport"], packages: ["@opentelemetry/api"] },
  testing: {
    rooms: [...upToTesting, "arcp-context.ts", "work.ts"],
    packages: ["node:*", "@grpc/grpc-js"],
  },
  // What an agent that speaks ARCP's words is given: in this process, and in a worker's.
  "arcp-context.ts": { rooms: ["wire", "runtime"], packages: [] },
  // The runtime and its workers, for all doors that have jobs.
  "work.ts": { rooms: ["core", "plane", "wire", "runtime"], packages: ["node:*"] },
  "arcp-server.ts": { rooms: [...upToTesting, "arcp-context.ts", "work.ts"], packages: ["node:*"] },
  "serve.ts": { rooms: [...upToTesting, "arcp-server.ts", "work.ts"], packages: ["node:*"] },
  "embedded.ts": { rooms: [...upToTesting, "serve.ts"], packages: ["node:*"] },
  "status.ts": { rooms: ["wire", "status-files"], packages: ["node:*"] },
  // How text and keys pass between a program and whoever sits before it.
  terminal: { rooms: ["wire"], packages: ["node:*"] },
  cli: {
    rooms: [...upToTesting, "arcp-server.ts", "serve.ts", "embedded.ts", "terminal"],
    packages: ["node:*", "pino", "jsonc-parser"],
  },
  // Another command line: files only, no daemon.
  "agent-status": { rooms: ["wire", "status-files", "terminal"], packages: ["node:*"] },
};

/**
 * A program that says nothing should find the daemon that its user runs, so one file of the client reads
 * `TIPSTAFF_URL`, `TIPSTAFF_TOKEN` and `TIPSTAFF_DATA_DIR`; and it should find the directory of status files,
 * and leave none behind when it ends.
 */
const surroundings = ["client/environment.ts", "status.ts"];

/**
 * Modules that another program loads: it takes the default export, and hands over nothing of the process they
 * run in.
 */
const guests = ["emitters/opencode.ts", "emitters/opencode-parts.ts", "emitters/pi.ts"];

/** Words that say nothing about what is inside. */
const emptyWords = ["utils", "util", "helpers", "common", "shared", "misc", "base", "manager"];

/** Everything that is wrong with the sources, one line each. */
export function violations(sources: readonly Source[]): readonly string[] {
  return sources.flatMap((source) => [
    ...judgeFolders(source),
    ...judgeImports(source),
    ...judgeText(source),
  ]);
}

function judgeFolders({ path }: Source): readonly string[] {
  const folders = path.split("/").slice(0, -1);
  const problems = folders
    .filter((folder) => emptyWords.includes(folder))
    .map((folder) => `${path}: a folder named ${folder}`);
  return roomOf(path) === undefined ? [...problems, `${path}: is in no room`] : problems;
}

function judgeImports(source: Source): readonly string[] {
  const { path } = source;
  const name = roomOf(path);
  const room = name === undefined ? undefined : rooms[name];
  if (name === undefined || !room || isTest(path)) return [];
  return importsOf(source).flatMap((imported) => {
    if (!imported.startsWith(".")) {
      const isAllowed = room.packages.some((allowed) => stands(allowed, imported));
      return isAllowed ? [] : [`${path}: ${name} may not import ${imported}`];
    }
    const target = posix.normalize(join(dirname(path), imported));
    if (target === "../package.json") {
      // They tell their version: as commands, and as a plane in another's process.
      const mayTell = ["cli", "agent-status", "embedded.ts", "arcp-server.ts"].includes(name);
      return mayTell ? [] : [`${path}: reads package.json`];
    }
    const other = roomOf(target);
    if (other === name) return [];
    if (other === undefined) return [`${path}: imports ${target}, which is in no room`];
    const isExcepted = room.without?.some((folder) => target.startsWith(`${folder}/`)) ?? false;
    if (isExcepted) return [`${path}: ${name} may not import ${target}`];
    if (!room.rooms.includes(topOf(other))) return [`${path}: ${name} may not import ${other}`];
    const isFront = target.endsWith("/index.ts") || !target.includes("/");
    // A room inside another one, `client/worker` in `client`, builds on that one's files, not on what it publishes.
    const isInside = name.startsWith(`${other}/`);
    return isFront || isInside || name === "testing"
      ? []
      : [`${path}: imports ${target}, not its index.ts`];
  });
}

function judgeText({ path, text }: Source): readonly string[] {
  if (path.includes("/gen/")) return [];
  const code = withoutStrings(withoutComments(text));
  const problems: string[] = [];
  const forbid = (pattern: RegExp, problem: string): void => {
    if (pattern.test(code)) problems.push(`${path}: ${problem}`);
  };
  forbid(/^export \*/m, "has `export *`");
  const isGuest = guests.includes(path);
  if (!isGuest) forbid(/^export default\b/m, "has a default export");
  forbid(/(?:[:<|&(,]\s*|\bas\s+|\breadonly\s+)any\b(?!\s*[(:?])/, "has an `any`");
  const isCommand = ["cli", "agent-status", "terminal"].includes(topOf(roomOf(path) ?? ""));
  const isFree = isCommand || isTest(path) || isGuest || surroundings.includes(path);
  const process = /\bprocess\s*\??\.\s*(?:env|exit|on)\b/;
  if (!isFree) forbid(process, "asks process for what only the command line may ask");
  return problems;
}

/** What a file imports, statically or when it runs, types included. */
export function importsOf({ text }: Source): readonly string[] {
  const code = withoutComments(text);
  const patterns = [
    /^(?:import|export)\b[^;]*?\bfrom\s+"([^"]+)"/gm,
    /^import\s+"([^"]+)"/gm,
    /\bimport\(\s*"([^"]+)"/g,
  ];
  return patterns.flatMap((pattern) => [...code.matchAll(pattern)].map((found) => found[1] ?? ""));
}

function roomOf(path: string): string | undefined {
  // A test stands beside what it tests, also where that is one file.
  const [top = "", second = ""] = path.replace(/\.test\.ts$/, ".ts").split("/");
  return [`${top}/${second}`, top].find((name) => Object.hasOwn(rooms, name));
}

function topOf(room: string): string {
  return room.split("/")[0] ?? room;
}

/** Tests, and the suites that engines share, may lean on whatever they like. */
function isTest(path: string): boolean {
  return path.endsWith(".test.ts") || path.endsWith("/contract.ts");
}

function stands(allowed: string, imported: string): boolean {
  return allowed.endsWith("*") ? imported.startsWith(allowed.slice(0, -1)) : imported === allowed;
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/(^|\s)\/\/.*$/gm, "$1");
}

function withoutStrings(code: string): string {
  return code.replaceAll(/"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g, '""');
}
