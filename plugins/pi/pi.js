// tipstaff: tells what this agent does, in a file that only you can read. Made by a program; `tipstaff uninstall pi` takes it away.

// src/emitters/pi.ts
import { resolve as resolve4 } from "node:path";

// src/wire/status-file/limits.ts
var limits = {
  /** A record has about a kilobyte. Whatever is this long is something else. */
  fileBytesMax: 1048576,
  /** Objects and lists inside each other, the record itself included. */
  depthMax: 500,
  /** Of an id, in UTF-8: the temporary name made of it must fit into 255 bytes. */
  agentIdBytesMax: 236,
  /** Code points of a goal or a task in few words. */
  summaryLengthMax: 120,
  /** A record that was not written for longer than this is stale. */
  staleAfterMs: 6e4,
  /** How often a writer says that it is still there. The standard allows 15 to 30 s. */
  heartbeatMs: 2e4,
  /** Pruning leaves alone what is younger. */
  pruneAfterMs: 864e5
};

// src/wire/status-file/numbers.ts
var json = JSON;
var suspects = /[:,[]\s*-?\d(?:\d{15}|\d*(?:\.\d+)?[eE]\+?\d{3})/;
function parseExactly(text) {
  const { rawJSON } = json;
  if (!rawJSON || !suspects.test(text)) return json.parse(text);
  return json.parse(text, (_, value, context) => {
    const isChanged = typeof value === "number" && !isFaithful(value, context?.source);
    return isChanged && context?.source !== void 0 ? rawJSON(context.source) : value;
  });
}
function exactDigits(value) {
  if (typeof value !== "object" || json.isRawJSON?.(value) !== true) return void 0;
  return JSON.stringify(value);
}
function isExactInteger(value) {
  const digits = exactDigits(value);
  return digits !== void 0 && /^-?\d+$/.test(digits);
}
function isFaithful(value, source = "") {
  return Number.isSafeInteger(value) || Number.isFinite(value) && !/^-?\d+$/.test(source);
}

// src/wire/status-file/timestamp.ts
var usual = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
var whole = /^(\d{4}-\d\d-\d\d|\d{8}|\d{4}-W\d\d-\d(?!\d)|\d{4}-W\d\d|\d{4}W\d\d\d?(?!\d))(?:.([^+-]*)(?:([+-])(.*))?)?$/su;
var calendarDate = /^(\d{4})-?(\d\d)-?(\d\d)$/;
var weekDate = /^(\d{4})-?W(\d\d)-?(\d)?$/;
var clock = /^(\d\d)(?:(:?)(\d\d)(?:\2(\d\d)(?:[.,](\d+))?)?)?$/;
var dayMs = 864e5;
var firstMs = dayOf(1, 1, 1) * dayMs;
var endMs = dayOf(1e4, 1, 1) * dayMs;
function parseTimestamp(text) {
  const atMs = usual.test(text) ? readUsual(text) : void 0;
  return atMs === void 0 ? parseAny(text) : { atMs };
}
function printTimestamp(atMs) {
  if (!(atMs >= firstMs && atMs < endMs)) throw new RangeError(`not a time to print: ${atMs}`);
  return `${new Date(Math.floor(atMs / 1e3) * 1e3).toISOString().slice(0, 19)}Z`;
}
function readUsual(text) {
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const day = readCalendarDay(year, twoDigits(text, 5), twoDigits(text, 8));
  const [hour, minute, second] = [twoDigits(text, 11), twoDigits(text, 14), twoDigits(text, 17)];
  if (day === void 0 || hour > 23 || minute > 59 || second > 59) return void 0;
  return day * dayMs + (hour * 3600 + minute * 60 + second) * 1e3;
}
function twoDigits(text, at) {
  return (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48;
}
function parseAny(text) {
  if (text === "") return { error: "timestamp must be non-empty string" };
  const [, date = "", time, sign, offset = ""] = whole.exec(text.replaceAll("Z", "+00:00")) ?? [];
  const day = readDay(date);
  const timeMs = time === void 0 ? 0 : readTimeMs(time);
  if (day === void 0 || timeMs === void 0) return { error: `invalid timestamp: ${text}` };
  if (sign === void 0) return { error: `timestamp must include timezone: ${text}` };
  const offsetMs = readOffsetMs(offset);
  if (offsetMs === void 0) return { error: `invalid timestamp: ${text}` };
  const atMs = day * dayMs + timeMs + (sign === "-" ? offsetMs : -offsetMs);
  if (atMs < firstMs || atMs >= endMs) return { error: `invalid timestamp: ${text}` };
  return { atMs };
}
function readDay(text) {
  const date = calendarDate.exec(text);
  if (date) return readCalendarDay(Number(date[1]), Number(date[2]), Number(date[3]));
  const week = weekDate.exec(text);
  return week ? readWeekDay(Number(week[1]), Number(week[2]), Number(week[3] ?? 1)) : void 0;
}
function readCalendarDay(year, month, day) {
  if (year < 1 || month < 1 || month > 12 || day < 1) return void 0;
  const firstOfNext = month === 12 ? dayOf(year + 1, 1, 1) : dayOf(year, month + 1, 1);
  const found2 = dayOf(year, month, day);
  return found2 < firstOfNext ? found2 : void 0;
}
function readWeekDay(year, week, day) {
  if (year < 1 || week < 1 || day < 1 || day > 7) return void 0;
  const monday = firstMonday(year) + (week - 1) * 7;
  return monday < firstMonday(year + 1) ? monday + day - 1 : void 0;
}
function firstMonday(year) {
  const fourth = dayOf(year, 1, 4);
  const sinceMonday = ((fourth + 3) % 7 + 7) % 7;
  return fourth - sinceMonday;
}
function readTimeMs(text) {
  const [, hour = "", , minute = "0", second = "0", fraction] = clock.exec(text) ?? [];
  if (hour === "" || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) {
    return void 0;
  }
  return sumMs(hour, minute, second, fraction);
}
function readOffsetMs(text) {
  const [, hour = "", , minute = "0", second = "0", fraction] = clock.exec(text) ?? [];
  if (hour === "") return void 0;
  const offsetMs = sumMs(hour, minute, second, fraction);
  return offsetMs < dayMs ? offsetMs : void 0;
}
function sumMs(hour, minute, second, fraction = "") {
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second);
  if (fraction === "") return seconds * 1e3;
  return seconds * 1e3 + Number(fraction.slice(0, 6).padEnd(6, "0")) / 1e3;
}
function dayOf(year, month, day) {
  const shifted = month > 2 ? year : year - 1;
  const sinceMarch = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const leapDays = Math.floor(shifted / 4) - Math.floor(shifted / 100) + Math.floor(shifted / 400);
  return shifted * 365 + leapDays + sinceMarch - 719468;
}

// src/wire/status-file/state.ts
function deriveState(record, { nowMs, staleAfterMs }) {
  const { runtime, task: task2 } = record;
  if (nowMs - updatedAtMs(record) > staleAfterMs) return "stale";
  const hasTask = task2 !== void 0 && task2 !== null && Object.keys(task2).length > 0;
  if (runtime.lifecycle === "running" && !hasTask) return "idle";
  return task2?.state ?? runtime.lifecycle;
}
function updatedAtMs(record) {
  return parseTimestamp(record.runtime.updated_at).atMs ?? Number.NaN;
}

// src/wire/status-file/order.ts
function sortForLoad(files) {
  return sortBy(files, loadKey, compareLoadKeys);
}
function compareCodePoints(a, b) {
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  if (at === end) return a.length - b.length;
  return (a.codePointAt(at) ?? 0) - (b.codePointAt(at) ?? 0);
}
function loadKey({ path, record }) {
  return { path, updatedAtMs: updatedAtMs(record) };
}
function compareLoadKeys(a, b) {
  return b.updatedAtMs - a.updatedAtMs || compareCodePoints(a.path, b.path);
}
function sortBy(items, keyOf, compare) {
  const keyed = items.map((item) => ({ item, key: keyOf(item) }));
  return keyed.sort((a, b) => compare(a.key, b.key)).map(({ item }) => item);
}

// src/wire/status-file/print.ts
function printRecord(record) {
  return printJson(record);
}
function printJson(value) {
  return `${print(value, "\n", 0)}
`;
}
function print(value, lineEnd, depth) {
  if (typeof value === "string") return quote(value);
  if (typeof value === "number") return printNumber(value);
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "object" || value === null) return "null";
  const digits = exactDigits(value);
  if (digits !== void 0) return digits;
  if (depth === limits.depthMax) throw new RangeError(`nested more than ${depth} deep`);
  const inside = `${lineEnd}  `;
  if (Array.isArray(value)) {
    const items = value.map((item) => print(item, inside, depth + 1));
    return items.length === 0 ? "[]" : `[${inside}${items.join(`,${inside}`)}${lineEnd}]`;
  }
  const lines = Object.entries(value).filter(([, held]) => held !== void 0).sort(([a], [b]) => compareCodePoints(a, b)).map(([key, held]) => `${quote(key)}: ${print(held, inside, depth + 1)}`);
  return lines.length === 0 ? "{}" : `{${inside}${lines.join(`,${inside}`)}${lineEnd}}`;
}
function printNumber(value) {
  if (!Number.isFinite(value)) return "null";
  return Number.isInteger(value) ? BigInt(value).toString() : String(value);
}
var plain = /^[ !#-[\]-~]*$/;
var special = /[^ !#-[\]-~]/g;
var short = /* @__PURE__ */ new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["	", "\\t"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ['"', '\\"'],
  ["\\", "\\\\"]
]);
function quote(text) {
  return plain.test(text) ? `"${text}"` : `"${text.replaceAll(special, escapeUnit)}"`;
}
function escapeUnit(unit) {
  return short.get(unit) ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

// src/wire/status-file/syntax.ts
function findSyntaxProblem(text) {
  const scan = new Scan(text);
  try {
    scan.document();
    return void 0;
  } catch (cause) {
    if (cause instanceof Stop) return cause.problem;
    throw cause;
  }
}
function printPlace(what, text, offset) {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  const line = before.split("\n").length;
  const column = codePoints(before.slice(lineStart)) + 1;
  return `${what}: line ${line} column ${column} (char ${codePoints(before)})`;
}
function codePoints(text) {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
var Stop = class extends Error {
  problem;
  constructor(problem) {
    super("not JSON");
    this.problem = problem;
  }
};
var blanks = /[ \t\n\r]*/y;
var numbers = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
var words = /true|false|null/y;
var inString = /[^"\\\u0000-\u001f]*/y;
var escapes = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
var Scan = class {
  #text;
  #at = 0;
  #depth = 0;
  constructor(text) {
    this.#text = text;
  }
  document() {
    if (this.#text.startsWith("\uFEFF")) this.#stop("unexpected byte order mark");
    this.#value();
    if (this.#at < this.#text.length) this.#stop("unexpected text after the value");
  }
  /** With the blanks around it. */
  #value() {
    this.#skip(blanks);
    const first = this.#text[this.#at];
    if (first === "{") this.#object();
    else if (first === "[") this.#array();
    else if (first === '"') this.#string();
    else if (!this.#skip(numbers) && !this.#skip(words)) this.#stop("expected a value");
    this.#skip(blanks);
  }
  #object() {
    this.#enter();
    this.#skip(blanks);
    if (!this.#take("}")) {
      do {
        this.#skip(blanks);
        if (this.#text[this.#at] !== '"') this.#stop("expected a name in double quotes");
        this.#string();
        this.#skip(blanks);
        if (!this.#take(":")) this.#stop("expected a colon");
        this.#value();
      } while (this.#take(","));
      if (!this.#take("}")) this.#stop("expected a comma or a closing brace");
    }
    this.#depth--;
  }
  #array() {
    this.#enter();
    this.#skip(blanks);
    if (!this.#take("]")) {
      do {
        this.#value();
      } while (this.#take(","));
      if (!this.#take("]")) this.#stop("expected a comma or a closing bracket");
    }
    this.#depth--;
  }
  #string() {
    const start = this.#at;
    this.#at++;
    for (; ; ) {
      this.#skip(inString);
      if (this.#take('"')) return;
      if (this.#at === this.#text.length) this.#stop("string without an end", start);
      if (this.#text[this.#at] !== "\\") this.#stop("control character in a string");
      if (!this.#skip(escapes)) this.#stop("unknown escape in a string");
    }
  }
  #enter() {
    this.#at++;
    if (++this.#depth > limits.depthMax) throw new Stop({ isTooDeep: true });
  }
  #take(character) {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }
  #skip(pattern) {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }
  #stop(expected, offset = this.#at) {
    throw new Stop({ expected, offset });
  }
};

// src/wire/status-file/record.ts
var schemaVersion = "agent-status/v1alpha1";
var lifecycles = ["running", "stopped", "unknown"];
var taskStates = [
  "submitted",
  "working",
  "input-required",
  "auth-required",
  "completed",
  "canceled",
  "rejected",
  "failed",
  "unknown"
];
var recordStates = [
  ...taskStates,
  "idle",
  "stale",
  "running",
  "stopped"
];
var goalSource = "initial-prompt";

// src/wire/status-file/validate.ts
function validate(value) {
  if (!isObject(value)) return ["payload must be object"];
  const errors = [];
  if (requireText(errors, value, "schema_version", "schema_version")) {
    const version = value["schema_version"];
    if (version !== schemaVersion) errors.push(`unsupported schema_version: ${version}`);
  }
  requireText(errors, value, "agent_id", "agent_id");
  requireText(errors, value, "agent_name", "agent_name");
  const { runtime } = value;
  if (isObject(runtime)) judgeRuntime(errors, runtime);
  else errors.push("missing or invalid object: runtime");
  judgePart(errors, value, "goal", judgeGoal);
  judgePart(errors, value, "task", judgeTask);
  judgePart(errors, value, "a2a", judgeLinks);
  judgePart(errors, value, "x_meta", () => {
  });
  return errors;
}
function isObject(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return exactDigits(value) === void 0;
}
function judgeRuntime(errors, runtime) {
  if (requireText(errors, runtime, "lifecycle", "runtime.lifecycle")) {
    const { lifecycle } = runtime;
    if (!isOneOf(lifecycles, lifecycle)) errors.push(`invalid runtime.lifecycle: ${lifecycle}`);
  }
  if (requireText(errors, runtime, "updated_at", "runtime.updated_at")) {
    const problem = timestampProblem(runtime["updated_at"]);
    if (problem !== void 0) errors.push(problem);
  }
  judgeTimestamp(errors, runtime, "last_activity_at", "runtime.last_activity_at");
  const { pid } = runtime;
  if (pid !== void 0 && !isInteger(pid)) errors.push("runtime.pid must be integer");
  judgeText(errors, runtime, "workspace", "runtime.workspace");
}
function judgeGoal(errors, goal) {
  requireText(errors, goal, "summary", "goal.summary");
  const hasTime = requireText(errors, goal, "updated_at", "goal.updated_at");
  const hasSource = requireText(errors, goal, "source", "goal.source");
  if (hasTime) judgeTimestamp(errors, goal, "updated_at", "goal.updated_at");
  const { source } = goal;
  if (hasSource && source !== goalSource) errors.push(`invalid goal.source: ${source}`);
}
function judgeTask(errors, task2) {
  const { state } = task2;
  if (state !== void 0 && state !== null) {
    if (typeof state !== "string" || state === "") {
      errors.push("task.state must be non-empty string");
    } else if (!isOneOf(taskStates, state)) {
      errors.push(`invalid task.state: ${state}`);
    }
  }
  judgeText(errors, task2, "id", "task.id");
  judgeText(errors, task2, "context_id", "task.context_id");
  judgeText(errors, task2, "summary", "task.summary");
  judgeTimestamp(errors, task2, "status_timestamp", "task.status_timestamp");
}
function judgeLinks(errors, links) {
  judgeText(errors, links, "agent_card_url", "a2a.agent_card_url");
  judgeText(errors, links, "service_url", "a2a.service_url");
}
function judgePart(errors, record, name, judge2) {
  const part = record[name];
  if (part === void 0 || part === null) return;
  if (isObject(part)) judge2(errors, part);
  else errors.push(`${name} must be object`);
}
function requireText(errors, fields, key, path) {
  const value = fields[key];
  if (value === void 0 || value === null) {
    errors.push(`missing required field: ${path}`);
    return false;
  }
  if (typeof value === "string" && value !== "") return true;
  errors.push(`field must be non-empty string: ${path}`);
  return false;
}
function judgeText(errors, fields, key, path) {
  const value = fields[key];
  if (value !== void 0 && typeof value !== "string") errors.push(`${path} must be string`);
}
function judgeTimestamp(errors, fields, key, path) {
  const value = fields[key];
  const problem = value === void 0 ? void 0 : timestampProblem(value);
  if (problem !== void 0) errors.push(`${path}: ${problem}`);
}
function timestampProblem(value) {
  if (typeof value !== "string") return "timestamp must be non-empty string";
  return parseTimestamp(value).error;
}
function isInteger(value) {
  return Number.isInteger(value) || isExactInteger(value);
}
function isOneOf(allowed, value) {
  return typeof value === "string" && allowed.includes(value);
}

// src/wire/status-file/read.ts
function readRecord(bytes, options = {}) {
  const read = readJson(bytes, options);
  if (read.problem) return read;
  const value = withUsualPid(read.value);
  const errors = validate(value);
  if (errors.length > 0) return { problem: { kind: "invalid-status", errors } };
  return { record: value };
}
function readJson(bytes, { fileBytesMax = limits.fileBytesMax } = {}) {
  if (bytes.length > fileBytesMax) return unreadable("too large");
  const text = decode(bytes);
  if (text === void 0) return unreadable("not valid UTF-8");
  const read = parse(text);
  if (read.problem) return read;
  return isTooDeep(read.value, text) ? unreadable("too deeply nested") : read;
}
var decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
function decode(bytes) {
  try {
    return decoder.decode(bytes);
  } catch {
    return void 0;
  }
}
function parse(text) {
  try {
    return { value: parseExactly(text) };
  } catch {
    const problem = findSyntaxProblem(text);
    if (problem?.isTooDeep) return unreadable("too deeply nested");
    const { expected = "not JSON", offset = 0 } = problem ?? {};
    return { problem: { kind: "invalid-json", errors: [printPlace(expected, text, offset)] } };
  }
}
function isTooDeep(value, text) {
  return text.length > limits.depthMax * 2 && isDeeper(value, limits.depthMax);
}
function isDeeper(value, levels) {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  const held = Array.isArray(value) ? value : Object.values(value);
  return held.some((each) => isDeeper(each, levels - 1));
}
function withUsualPid(value) {
  if (!isObject(value) || !isObject(value["runtime"])) return value;
  const digits = exactDigits(value["runtime"]["pid"]);
  if (digits === void 0) return value;
  return { ...value, runtime: { ...value["runtime"], pid: Number(digits) } };
}
function unreadable(reason) {
  return { problem: { kind: "unreadable", errors: [reason] } };
}

// src/wire/status-file/summary.ts
var blank = /[\s\u001c-\u001f\u0085]/;
var control = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;
function summarize(text, lengthMax = limits.summaryLengthMax, mark = "") {
  const kept = [];
  let isGap = false;
  for (const character of text) {
    if (blank.test(character)) {
      isGap = kept.length > 0;
    } else if (!control.test(character)) {
      if (isGap) kept.push(" ");
      isGap = false;
      kept.push(character);
      if (kept.length > lengthMax) return cut(kept, lengthMax, mark);
    }
  }
  return kept.join("").toWellFormed();
}
function cut(kept, lengthMax, mark) {
  const room = Math.max(0, lengthMax - [...mark].length);
  return `${kept.slice(0, room).join("").toWellFormed().trimEnd()}${mark}`;
}

// src/wire/status-file/ids.ts
var separators = /[/\\]/;
var controls = /[\u0000-\u001f\u007f]/;
function isSafeAgentId(id) {
  return isLookupId(id) && !controls.test(id) && bytesOf(id) <= limits.agentIdBytesMax;
}
function isLookupId(id) {
  return id !== "" && !separators.test(id);
}
function sanitizeAgentId(text, prefix) {
  const id = text.slice(0, limits.agentIdBytesMax).replaceAll(/[^A-Za-z0-9._-]+/g, "-").replaceAll(/^-+|-+$/g, "");
  return id === "" ? prefix : id;
}
var encoder = new TextEncoder();
function bytesOf(text) {
  return encoder.encode(text).length;
}

// src/wire/status-file/running.ts
function runningRecord(agent, doing, nowMs) {
  const { agentName: agentName2, agentId, pid, workspace, tmux } = agent;
  const { lastActivityMs, goal, task: task2, session, sinceMs = nowMs } = doing;
  const { tmux_socket: _, tmux_pane: __, ...rest } = doing.meta;
  const meta = { ...rest, ...tmux };
  return {
    schema_version: schemaVersion,
    agent_id: agentId,
    agent_name: agentName2,
    runtime: {
      lifecycle: "running",
      updated_at: printTimestamp(nowMs),
      ...lastActivityMs !== void 0 && { last_activity_at: printTimestamp(lastActivityMs) },
      ...pid !== void 0 && { pid },
      ...workspace !== void 0 && { workspace }
    },
    ...goal && {
      goal: { summary: goal.summary, updated_at: printTimestamp(goal.atMs), source: goalSource }
    },
    ...task2 && {
      task: {
        ...session !== void 0 && { context_id: session },
        status_timestamp: printTimestamp(sinceMs),
        ...task2
      }
    },
    ...Object.keys(meta).length > 0 && { x_meta: meta }
  };
}

// src/wire/status-file/tmux.ts
var server = /^(.+),\d+,\d+$/s;
var panePattern = "^%[0-9]+$";
var pane = new RegExp(panePattern);
function tmuxOf(env) {
  const { TMUX = "", TMUX_PANE = "" } = env;
  const [, socket] = server.exec(TMUX) ?? [];
  if (socket === void 0 || !isPane(TMUX_PANE)) return void 0;
  return { tmux_socket: socket, tmux_pane: TMUX_PANE };
}
function isPane(text) {
  return pane.test(text);
}

// src/emitters/parts.ts
import { basename, dirname as dirname2, join, resolve } from "node:path";

// src/status-files/clock.ts
import { setTimeout as sleep } from "node:timers/promises";
var wallClock = clockThat({ keepsRunning: true });
var idleClock = clockThat({ keepsRunning: false });
function clockThat({ keepsRunning }) {
  return {
    nowMs: Date.now,
    until: (atMs, signal) => sleep(Math.max(0, atMs - Date.now()), void 0, { signal, ref: keepsRunning })
  };
}

// src/status-files/directory.ts
import { readFileSync } from "node:fs";
import { homedir } from "node:os";

// src/status-files/errors.ts
var StatusError = class extends Error {
  name = "StatusError";
  code;
  errors;
  constructor(code, errors) {
    super(errors.join("; "));
    this.code = code;
    this.errors = errors;
  }
};

// src/status-files/limits.ts
var limits2 = {
  /** Of a temporary name, each one of 16: two writers of one record meet once in four thousand millions. */
  temporaryChars: 8,
  /** A name that is taken is tried anew so often; more than once means that something else is wrong. */
  temporaryTriesMax: 8,
  /** On Windows a reader keeps a file from being replaced: tried again so often, after so long. */
  renameTriesMax: 20,
  renamePauseMs: 10,
  /** Work on files in one turn of the event loop. A call that takes several turns waits for as many slices. */
  sliceMs: 2,
  /** Entries of a directory that one system call reads. */
  entriesPerRead: 256,
  /** Files of a directory that are watched: more than agents of one machine, and about 20 MB of memory. */
  filesMax: 2e4,
  /** At that limit, how many of the other files one look at everything reads, to find valid records. About 0.1 s. */
  unreadFilesPerLook: 1e3,
  /** Warnings of a watch: more than anybody reads, few enough to sort and compare after each change. */
  warningsMax: 1e3,
  /** A file that changes again within this time is read once. */
  debounceMs: 50,
  /** How long what no event told of can stay unseen. */
  pollMs: 3e4,
  /** The same where there are no events at all: network file systems, no watches left. */
  pollWithoutEventsMs: 2e3,
  /** More names than these at once, and everything is looked at instead of keeping them. */
  changedNamesMax: 1e4,
  /** Linux drops events beyond 16,384 without telling us; half as many in one turn are a hint. */
  eventsPerTurnMax: 8e3,
  /** Times of files are coarse: one that changed so shortly before it was read may change unseen. */
  coarseTimesMs: 2e3,
  /** What one writer changes within this time is written once. */
  writeGapMs: 100,
  /** What could not be written is tried again so often: a disk that is full may have room again. */
  writeAgainMs: 2e3,
  /** Asking the system for the home of another user. */
  userLookupMs: 2e3
};

// src/status-files/directory.ts
function statusDirectory({ flag, env, home }) {
  const homeOf = () => home ?? (env["HOME"] || homedir());
  if (flag !== void 0) return tidyPath(expandHome(flag, homeOf));
  const own = env["AGENT_STATUS_DIR"];
  if (own) return tidyPath(expandHome(own, homeOf));
  const state = env["XDG_STATE_HOME"];
  if (state) return tidyPath(`${expandHome(state, homeOf)}/agent-status`);
  return tidyPath(`${homeOf()}/.local/state/agent-status`);
}
function statusPath(directory, agentId) {
  return pathIn(tidyPath(directory), `${agentId}.json`);
}
function requireSafeId(agentId) {
  if (isSafeAgentId(agentId)) return;
  throw new StatusError("unsafe_id", ["agent_id must be non-empty and filename-safe"]);
}
function agentIdOf(path) {
  return nameOf(path).slice(0, -".json".length);
}
function pathIn(directory, name) {
  if (directory === ".") return name;
  return directory === "/" ? `/${name}` : `${directory}/${name}`;
}
function nameOf(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}
function tidyPath(path) {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  const tidy = `${path.startsWith("/") ? "/" : ""}${parts.join("/")}`;
  return tidy === "" ? "." : tidy;
}
function expandHome(value, homeOf) {
  if (!value.startsWith("~")) return value;
  const slash = value.indexOf("/");
  const user = value.slice(1, slash === -1 ? void 0 : slash);
  const rest = slash === -1 ? "" : value.slice(slash);
  if (user === "") return `${homeOf()}${rest}`;
  const home = findHome(user);
  if (home === void 0) {
    throw new Error(`cannot find the home directory of ~${user}; write the path in full`);
  }
  return `${home}${rest}`;
}
function findHome(user) {
  if (!/^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/.test(user)) return void 0;
  try {
    const home = homeIn(readFileSync("/etc/passwd", "utf8"), user);
    if (home !== void 0) return home;
  } catch {
  }
  const [command, ...words2] = process.platform === "darwin" ? ["dscl", ".", "-read", `/Users/${user}`, "NFSHomeDirectory"] : ["getent", "passwd", user];
  try {
    const { execFileSync } = process.getBuiltinModule("node:child_process");
    const told = execFileSync(command ?? "", words2, {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      timeout: limits2.userLookupMs
    });
    const prefix = "NFSHomeDirectory: ";
    return told.startsWith(prefix) ? told.slice(prefix.length).trim() : homeIn(told, user);
  } catch {
    return void 0;
  }
}
function homeIn(passwd, user) {
  for (const line of passwd.split("\n")) {
    const fields = line.split(":");
    if (fields[0] === user) return fields[5] || void 0;
  }
  return void 0;
}

// src/status-files/names.ts
function decodeName(bytes) {
  let name = "";
  for (let at = 0; at < bytes.length; ) {
    const length = [1, 2, 3, 4].find((count) => isUtf8(bytes.subarray(at, at + count)));
    const some = bytes.subarray(at, at + (length ?? 1));
    name += length ? some.toString() : String.fromCharCode(56320 + (some[0] ?? 0));
    at += some.length;
  }
  return name;
}
function systemPath(path) {
  if (path.isWellFormed()) return path;
  return Buffer.concat(Array.from(path, (character) => bytesOf2(character)));
}
function bytesOf2(character) {
  const code = character.charCodeAt(0);
  const isByte = character.length === 1 && code >= 56448 && code <= 56575;
  return isByte ? Buffer.of(code - 56320) : Buffer.from(character);
}
function isUtf8(bytes) {
  return Buffer.from(bytes.toString()).equals(bytes);
}

// src/status-files/read.ts
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readdirSync,
  readSync
} from "node:fs";

// src/status-files/slices.ts
function runAtOnce(steps) {
  for (; ; ) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

// src/status-files/read.ts
function readFirst(directory, filesMax) {
  return runAtOnce(readSome(directory, { filesMax }));
}
function* readSome(directory, { filesMax = limits2.filesMax, ...options }) {
  const { names, hasMore, ...listed } = yield* listSome(directory, { filesMax });
  const ignored = hasMore ? [tooManyFiles(listed.directory, filesMax)] : [];
  const warnings = [...listed.warnings, ...ignored];
  return yield* readListed({ ...listed, names: byCodePoint(names), warnings }, options);
}
function* readListed(listed, options) {
  const files = [];
  const warnings = [...listed.warnings];
  for (const name of listed.names) {
    const { file, warning } = readName(pathIn(listed.directory, name), options);
    if (file) files.push(file);
    if (warning) warnings.push(warning);
    yield;
  }
  return { files: sortForLoad(files), warnings };
}
function* listSome(directory, {
  filesMax,
  isWanted = () => true
}) {
  const tidy = tidyPath(directory);
  const names = [];
  try {
    for (const name of entriesOf(tidy)) {
      yield;
      if (!name.endsWith(".json") || !isWanted(name)) continue;
      if (names.length === filesMax) {
        return { directory: tidy, names, warnings: [], hasMore: true };
      }
      names.push(name);
    }
  } catch (error) {
    return { ...notListed(tidy, error), hasMore: false };
  }
  return { directory: tidy, names, warnings: [], hasMore: false };
}
function notListed(directory, error) {
  const code = codeOf(error);
  const isNone = code === "ENOENT" || code === "ENOTDIR";
  const errors = [reasonOf(code)];
  const warning = { path: directory, kind: "unreadable", errors, isDirectory: true };
  return { directory, names: [], warnings: isNone ? [] : [warning] };
}
function tooManyFiles(directory, filesMax) {
  const errors = [`has more than ${filesMax} status files; the others are ignored`];
  return { path: directory, kind: "too-many", errors, isDirectory: true };
}
function* entriesOf(directory) {
  let hasOthers = false;
  const opened = opendirSync(directory, { bufferSize: limits2.entriesPerRead });
  try {
    for (let entry = opened.readSync(); entry; entry = opened.readSync()) {
      if (isDoubtful(entry.name)) hasOthers = true;
      else yield entry.name;
    }
  } finally {
    opened.closeSync();
  }
  if (!hasOthers) return;
  for (const name of readdirSync(directory, { encoding: "buffer" })) {
    if (isDoubtful(name.toString())) yield decodeName(name);
  }
}
function isDoubtful(name) {
  return name.includes("\uFFFD");
}
function readName(path, options) {
  const found2 = readFound(path, options);
  return found2.isGone ? {} : judge(path, found2.read);
}
function judge(path, read) {
  if ("problem" in read) return { warning: { path, ...read.problem } };
  const { record } = read;
  const file = { path, record };
  const stem = agentIdOf(path);
  if (record.agent_id === stem) return { file };
  const errors = [`agent_id is ${record.agent_id}, the file is named ${stem}`];
  return { file, warning: { path, kind: "id-mismatch", errors } };
}
function readFound(path, options) {
  const { fileBytesMax = limits.fileBytesMax } = options;
  let descriptor;
  try {
    descriptor = openSync(systemPath(path), constants.O_RDONLY | nonBlocking);
  } catch (error) {
    return notOpened(path, codeOf(error));
  }
  try {
    const stats = fstatSync(descriptor);
    const stamp = stampOf(stats);
    if (!stats.isFile()) return found(unreadable2("not a regular file"), stamp);
    if (stats.size > fileBytesMax) return found(unreadable2("too large"), stamp);
    const bytes = readAll(descriptor, stats.size, fileBytesMax);
    return found(bytes ? readRecord(bytes, options) : unreadable2("too large"), stamp);
  } catch (error) {
    return found(unreadable2(reasonOf(codeOf(error))), noStamp);
  } finally {
    closeSync(descriptor);
  }
}
function stampOf(stats) {
  return {
    device: stats.dev,
    inode: stats.ino,
    size: stats.size,
    modifiedAtMs: stats.mtimeMs
  };
}
function codeOf(error) {
  if (error instanceof Error && "code" in error) return String(error.code);
  return error instanceof Error ? error.name : "unknown";
}
var nonBlocking = (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);
var noStamp = { device: 0, inode: 0, size: 0, modifiedAtMs: 0 };
var buffer = Buffer.allocUnsafe(65536);
function readAll(descriptor, size, bytesMax) {
  let length = 0;
  for (let wanted = size + 1; ; wanted = Math.min(wanted * 2, bytesMax + 1)) {
    if (wanted > buffer.length) {
      const larger = Buffer.allocUnsafe(wanted);
      buffer.copy(larger, 0, 0, length);
      buffer = larger;
    }
    const read = readSync(descriptor, buffer, length, wanted - length, null);
    length += read;
    if (read === 0 || length >= size && length < wanted) return buffer.subarray(0, length);
    if (length > bytesMax) return void 0;
  }
}
function notOpened(path, code) {
  let stamp = noStamp;
  try {
    const stats = lstatSync(systemPath(path));
    stamp = stampOf(stats);
    if (code === "ENOENT") {
      return stats.isSymbolicLink() ? found(unreadable2("dangling symlink"), stamp) : gone;
    }
  } catch {
    if (code === "ENOENT") return gone;
  }
  return found(unreadable2(reasonOf(code)), stamp);
}
var gone = { isGone: true };
function found(read, stamp) {
  return { isGone: false, read, stamp };
}
function unreadable2(reason) {
  return { problem: { kind: "unreadable", errors: [reason] } };
}
function byCodePoint(unordered) {
  const names = [...unordered];
  const isPlain = !names.some((name) => /[\ud800-\udfff]/.test(name));
  return isPlain ? names.sort() : names.sort(compareCodePoints);
}
function reasonOf(code) {
  switch (code) {
    case "EACCES":
    case "EPERM":
      return "permission denied";
    case "ELOOP":
      return "symlink loop";
    case "ENXIO":
    case "EISDIR":
    case "ENODEV":
      return "not a regular file";
    default:
      return code;
  }
}

// src/status-files/write.ts
import {
  closeSync as closeSync2,
  constants as constants2,
  fchmodSync,
  fsync,
  fsyncSync,
  mkdirSync,
  openSync as openSync2,
  renameSync,
  unlinkSync,
  writeFileSync
} from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
function replaceFile(directory, agentId, bytes) {
  const target = statusPath(directory, agentId);
  const temporary = writeTemporary(directory, agentId, bytes);
  try {
    fsyncSync(temporary.descriptor);
    putInPlace(temporary, target);
  } catch (error) {
    discard(temporary);
    throw error;
  }
  return target;
}
async function writeStatusFileInBackground(directory, record, onTemporary = () => {
}) {
  const target = statusPath(directory, record.agent_id);
  const temporary = writeTemporary(directory, record.agent_id, bytesOf3(record));
  onTemporary(temporary.path);
  try {
    await synchronize(temporary.descriptor);
    putInPlace(temporary, target);
  } catch (error) {
    discard(temporary);
    throw error;
  } finally {
    onTemporary(void 0);
  }
  return target;
}
function removeStatusFile(directory, agentId) {
  removeFile(statusPath(directory, agentId));
}
function removeFile(path) {
  try {
    unlinkSync(systemPath(path));
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}
var synchronize = promisify(fsync);
function bytesOf3(record) {
  const errors = validate(record);
  if (errors.length > 0) throw new StatusError("invalid_status", errors);
  requireSafeId(record.agent_id);
  const bytes = Buffer.from(printRecord(record));
  if (bytes.length > limits.fileBytesMax) {
    throw new StatusError("too_large", [
      `the record has more than ${limits.fileBytesMax} bytes`
    ]);
  }
  return bytes;
}
function writeTemporary(directory, agentId, bytes) {
  const temporary = openTemporary(tidyPath(directory), agentId);
  try {
    fchmodSync(temporary.descriptor, 384);
    writeFileSync(temporary.descriptor, bytes);
  } catch (error) {
    discard(temporary);
    throw error;
  }
  return temporary;
}
function openTemporary(directory, agentId) {
  let isMade = false;
  for (let tries = 1; ; tries++) {
    const path = pathIn(directory, temporaryName(agentId));
    try {
      return { path, descriptor: openSync2(systemPath(path), exclusive, 384), isOpen: true };
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENOENT" && !isMade) {
        makeDirectory(directory);
        isMade = true;
      } else if (code !== "EEXIST" || tries >= limits2.temporaryTriesMax) {
        throw error;
      }
    }
  }
}
function makeDirectory(directory) {
  const above = dirname(directory);
  if (!makeOne(directory, 448)) {
    makeAbove(above);
    mkdirSync(directory, 448);
  }
}
function makeAbove(directory) {
  if (makeOne(directory)) return;
  const above = dirname(directory);
  if (above !== directory) makeAbove(above);
  mkdirSync(directory);
}
function makeOne(directory, mode) {
  try {
    mkdirSync(directory, mode);
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return false;
    if (code === "EEXIST") return true;
    throw error;
  }
}
var exclusive = constants2.O_WRONLY | constants2.O_CREAT | constants2.O_EXCL | (constants2.O_NOFOLLOW ?? 0);
function temporaryName(agentId) {
  let chance = "";
  while (chance.length < limits2.temporaryChars)
    chance += Math.floor(Math.random() * 16).toString(16);
  return `.${agentId}.json.${chance}.tmp`;
}
function putInPlace(temporary, target) {
  close(temporary);
  for (let tries = 1; ; tries++) {
    try {
      renameSync(systemPath(temporary.path), systemPath(target));
      return;
    } catch (error) {
      const isHeld = process.platform === "win32" && /^(?:EPERM|EACCES|EBUSY)$/.test(codeOf(error));
      if (!isHeld || tries >= limits2.renameTriesMax) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, limits2.renamePauseMs);
    }
  }
}
function close(temporary) {
  if (!temporary.isOpen) return;
  temporary.isOpen = false;
  closeSync2(temporary.descriptor);
}
function discard(temporary) {
  try {
    close(temporary);
  } catch {
  }
  try {
    unlinkSync(systemPath(temporary.path));
  } catch {
  }
}

// src/emitters/parts.ts
function getStatusDir(env, home) {
  return resolve(statusDirectory({ env, home }));
}
function statusPathFor(prefix) {
  return (id, env, home) => join(getStatusDir(env, home), `${sanitizeAgentId(id, prefix)}.json`);
}
function buildTempPath(path) {
  return join(dirname2(path), temporaryName(basename(path, ".json")));
}
function writeStatusFile2(path, value) {
  const bytes = new TextEncoder().encode(printJson(value));
  replaceFile(dirname2(path), basename(path, ".json"), bytes);
}

// src/emitters/pi/extension.ts
import { randomUUID } from "node:crypto";
import { resolve as resolve3 } from "node:path";

// src/emitters/fields.ts
function fieldsOf(value) {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
function listOf(value) {
  return Array.isArray(value) ? value : [];
}
function textAt(value, ...keys) {
  const fields = fieldsOf(value);
  for (const key of keys) {
    const text = fields[key];
    if (typeof text === "string" && text.trim() !== "") return text;
  }
  return void 0;
}
function memberOf(value, key) {
  const isObject3 = typeof value === "object" || typeof value === "function";
  return isObject3 && value !== null ? Reflect.get(value, key) : void 0;
}
function call(value, method, ...words2) {
  const found2 = memberOf(value, method);
  return typeof found2 === "function" ? Reflect.apply(found2, value, words2) : void 0;
}

// src/emitters/limits.ts
var limits3 = {
  /** Sessions of one host that can be gone back to. The oldest is forgotten. */
  sessionsMax: 64,
  /** Subagents, and deleted sessions, whose ids are remembered. */
  strangersMax: 1e3,
  /** Subagents of subagents. */
  ancestorsMax: 32,
  /** Questions and permissions that are open at once. */
  blocksMax: 100,
  /** Characters of what another extension adds to the record. Everything of it is written every 20 s. */
  bridgeCharactersMax: 65536,
  /** How a turn ended is shown for so long (AS-24). Beside of hosts it is as long. */
  endingMs: 5e3,
  /** Status files that are read in one go to look for another emitter: some 30 ms. */
  recordsAtOnceMax: 1e3
};

// src/emitters/other-emitter.ts
function hasOtherEmitter(records, told, { nowMs, isOurs }) {
  return records.some((record) => {
    const { agent_id: id, runtime } = record;
    if (isOurs(id) || sessionIn(record, told) !== told.session) return false;
    const { lifecycle, pid = told.pid } = runtime;
    const state = deriveState(record, { nowMs, staleAfterMs: limits.staleAfterMs });
    const isThere = lifecycle !== "stopped" && state !== "stale";
    return isThere && (told.pid === void 0 || pid === told.pid);
  });
}
function recordsIn(directory) {
  return readFirst(directory, limits3.recordsAtOnceMax).files.map(({ record }) => record);
}
function sessionIn(record, { name, metaKey }) {
  const { agent_name: own, x_meta, task: task2 } = record;
  const context = own === name ? task2?.context_id : void 0;
  return textAt(x_meta?.[metaKey], "session_id") ?? context;
}

// src/emitters/background-file.ts
import { unlinkSync as unlinkSync2 } from "node:fs";
var BackgroundFile = class {
  #directory;
  #agentId;
  /** What is to be written, or that nothing is to be there. */
  #next;
  #isWriting = false;
  #written = Promise.resolve();
  /** Of a write that waits for the disk: taken away, the write comes to nothing. */
  #temporary;
  constructor(directory, agentId) {
    this.#directory = directory;
    this.#agentId = agentId;
  }
  publish(record) {
    this.#want(record);
  }
  /** At once, if nothing is being written; until something is published again. */
  remove() {
    this.#want("nothing");
  }
  /** What was published is written, or cannot be. */
  async flush() {
    await this.#written;
  }
  /** Nothing that was published before comes after this. */
  drop() {
    this.#next = void 0;
    const path = this.#temporary;
    this.#temporary = void 0;
    try {
      if (path !== void 0) unlinkSync2(path);
    } catch {
    }
  }
  #want(next) {
    this.#next = next;
    if (!this.#isWriting) this.#written = this.#write();
  }
  async #write() {
    this.#isWriting = true;
    while (this.#next) {
      const next = this.#next;
      this.#next = void 0;
      try {
        if (next === "nothing") removeStatusFile(this.#directory, this.#agentId);
        else await this.#put(next);
      } catch {
      }
    }
    this.#isWriting = false;
  }
  async #put(record) {
    await writeStatusFileInBackground(this.#directory, record, (path) => {
      this.#temporary = path;
    });
  }
};

// src/emitters/snapshot.ts
var Snapshot = class {
  #options;
  #file;
  #heart = new AbortController();
  #dismissGuard;
  /** As it was last put, or is being put, on disk. */
  #written;
  constructor(options) {
    const { guard: guard2, directory, agentId } = options;
    this.#options = options;
    this.#file = new BackgroundFile(directory, agentId);
    this.show();
    this.#dismissGuard = attempt(() => guard2?.(statusPath(directory, agentId)));
    this.#beat().catch(() => {
    });
  }
  /** Something may be different now. */
  show() {
    const record = this.#record();
    if (!record) return;
    const before = this.#written;
    if (!before || whatPeopleSee(record) !== whatPeopleSee(before)) this.#writeNow(record);
    else if (record.runtime.last_activity_at !== before.runtime.last_activity_at) {
      this.#writeSoon(record);
    }
  }
  /** No heartbeat comes after this, and then the file goes (AS-26). */
  end() {
    this.#heart.abort();
    this.#file.drop();
    attempt(() => removeStatusFile(this.#options.directory, this.#options.agentId));
    attempt(() => this.#dismissGuard?.());
  }
  async #beat() {
    const { clock: clock2, onBeat } = this.#options;
    for (; ; ) {
      await clock2.until(clock2.nowMs() + limits.heartbeatMs, this.#heart.signal);
      if (onBeat) attempt(onBeat);
      const record = this.#record();
      if (record) this.#writeSoon(record);
    }
  }
  #record() {
    if (this.#heart.signal.aborted) return void 0;
    const { recordAt, clock: clock2 } = this.#options;
    return attempt(() => soundPartOf(recordAt(clock2.nowMs())));
  }
  #writeNow(record) {
    const { directory, agentId } = this.#options;
    this.#file.drop();
    attempt(() => {
      replaceFile(directory, agentId, new TextEncoder().encode(printRecord(record)));
      this.#written = record;
    });
  }
  #writeSoon(record) {
    this.#written = record;
    this.#file.publish(record);
  }
};
function soundPartOf(record) {
  if (validate(record).length === 0) return record;
  const { goal, task: task2, a2a, x_meta, ...bare } = record;
  if (validate(bare).length > 0) return void 0;
  const parts = Object.entries({ goal, task: task2, a2a, x_meta }).filter(
    ([name, part]) => part && validate({ ...bare, [name]: part }).length === 0
  );
  return { ...bare, ...Object.fromEntries(parts) };
}
function attempt(action) {
  try {
    return action();
  } catch {
    return void 0;
  }
}
function whatPeopleSee({ runtime, ...rest }) {
  const { updated_at: _, last_activity_at: __, ...health } = runtime;
  return printRecord({ ...rest, runtime: { ...health, updated_at: "" } });
}

// src/emitters/surroundings.ts
import { resolve as resolve2 } from "node:path";

// src/emitters/guard.ts
import { spawn } from "node:child_process";
import { Socket } from "node:net";
import { basename as basename2, dirname as dirname3, join as join2 } from "node:path";
var wait = 'trap "" HUP INT TERM; while read -r line; do :; done; rm -f -- "$0" "$1"*.tmp';
function guard(path) {
  const unfinished = join2(dirname3(path), `.${basename2(path)}.`);
  const child = spawn("/bin/sh", ["-c", wait, path, unfinished], {
    stdio: ["pipe", "ignore", "ignore"],
    // Not in the host's terminal, and not in its directory.
    detached: true,
    cwd: "/",
    env: {}
  });
  child.on("error", () => {
  });
  child.stdin.on("error", () => {
  });
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  return () => {
    child.kill("SIGKILL");
  };
}

// src/emitters/surroundings.ts
function absoluteStatusDirectory({ env, home }) {
  return resolve2(statusDirectory({ env, home }));
}
function surroundingsOf(host) {
  return {
    env: host.env,
    pid: host.pid,
    clock: idleClock,
    workingDirectory: () => {
      try {
        return host.cwd();
      } catch {
        return void 0;
      }
    },
    onExit: (listener) => {
      if (leaving.size === 0) host.on("exit", leave);
      leaving.add(listener);
      return () => {
        leaving.delete(listener);
        if (leaving.size === 0) host.off("exit", leave);
      };
    },
    guard
  };
}
var leaving = /* @__PURE__ */ new Set();
function leave() {
  for (const listener of leaving) listener();
}
function sharedBy(host) {
  const key = /* @__PURE__ */ Symbol.for(`tipstaff.emitters.${host}`);
  const found2 = Reflect.get(globalThis, key);
  const shared = found2 ?? { owners: /* @__PURE__ */ new Map(), agentIds: /* @__PURE__ */ new Set(), taken: /* @__PURE__ */ new WeakSet() };
  if (!found2) Reflect.set(globalThis, key, shared);
  return shared;
}

// src/emitters/pi/signals.ts
var goalEntry = "agent-status.goal";
function summarizePrompt(text) {
  return typeof text === "string" ? summarize(text, limits.summaryLengthMax, "\u2026") : "";
}
function sessionFileOf(context) {
  const file = call(memberOf(context, "sessionManager"), "getSessionFile");
  return typeof file === "string" && file !== "" ? file : void 0;
}
function goalIn(context, nowMs) {
  const entries = listOf(call(memberOf(context, "sessionManager"), "getEntries"));
  const entry = entries.findLast((candidate) => textAt(candidate, "customType") === goalEntry);
  const data = memberOf(entry, "data");
  const goal = memberOf(data, "goal") ?? data;
  const summary = summarizePrompt(typeof goal === "string" ? goal : textAt(goal, "summary"));
  const { atMs = nowMs } = parseTimestamp(textAt(goal, "updated_at") ?? "");
  return summary === "" ? void 0 : { summary, atMs };
}
var questionTools = /* @__PURE__ */ new Set([
  "question",
  "questionnaire",
  "ask_user",
  "ask_user_question",
  "AskUserQuestion",
  "request_user_input"
]);
function questionOf(event) {
  const tool = textAt(event, "toolName")?.split("__").at(-1) ?? "";
  if (!questionTools.has(tool)) return void 0;
  const { args } = fieldsOf(event);
  const [first] = listOf(memberOf(args, "questions"));
  const asked = textAt(args, "question", "prompt") ?? textAt(first, "question", "prompt");
  return summarizePrompt(asked) || "Waiting for user input";
}
var refusedKey = /\b(?:401|403|authentication_error|invalid (?:x-)?api[ -]key)\b/i;
function endingOf(event) {
  const last = listOf(memberOf(event, "messages")).findLast(
    (message) => textAt(message, "role") === "assistant"
  );
  const text = summarizePrompt(memberOf(last, "errorMessage"));
  switch (textAt(last, "stopReason")) {
    case "aborted":
      return { state: "canceled", text: "" };
    case "error":
      return { state: refusedKey.test(text) ? "auth-required" : "failed", text };
    default:
      return void 0;
  }
}
function bridgeOf(payload) {
  const task2 = bridgeTaskOf(memberOf(payload, "task"));
  const meta = jsonObjectOf(memberOf(payload, "x_meta"));
  if (!task2 && !meta) return void 0;
  return { ...task2 ? { task: task2 } : {}, ...meta ? { meta } : {} };
}
function bridgeTaskOf(value) {
  const given = jsonObjectOf(value);
  if (!given) return void 0;
  const task2 = {
    ...given,
    ...typeof given["summary"] === "string" ? { summary: summarizePrompt(given["summary"]) } : {}
  };
  return isSound(task2) && Object.keys(task2).length > 0 ? task2 : void 0;
}
function isSound(task2) {
  const record = {
    schema_version: schemaVersion,
    agent_id: "any",
    agent_name: "any",
    runtime: { lifecycle: "running", updated_at: "2000-01-01T00:00:00Z" },
    task: task2
  };
  return validate(record).length === 0;
}
function jsonObjectOf(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return void 0;
  return attempt(() => {
    const text = JSON.stringify(value);
    if (text.length > limits3.bridgeCharactersMax) return void 0;
    const copy = JSON.parse(text);
    printJson(copy);
    return isObject2(copy) ? copy : void 0;
  });
}
function isObject2(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// src/emitters/pi/state.ts
var agentName = "pi";
function emptyState(nowMs) {
  return { prompts: 0, summary: "", isWorking: false, asking: /* @__PURE__ */ new Map(), sinceMs: nowMs };
}
function apply(state, told, nowMs) {
  const after = change(state, told, nowMs);
  const isSame = told.type !== "prompted" && taskOf(state)?.state === taskOf(after)?.state;
  return isSame ? after : { ...after, sinceMs: nowMs };
}
function taskOf(state) {
  const { bridge, asking, isWorking, summary, ending } = state;
  if (bridge?.task) return bridge.task;
  const [question] = asking.values();
  if (question !== void 0) return task("input-required", question);
  if (isWorking) return task("working", summary);
  return ending && task(ending.state, ending.text || summary);
}
function nowOf(state, sessionFile) {
  const { lastActivityMs, goal, sinceMs, bridge } = state;
  const task2 = taskOf(state);
  return { lastActivityMs, goal, task: task2, session: sessionFile, sinceMs, meta: bridge?.meta ?? {} };
}
function change(state, told, nowMs) {
  const moving = { ...state, lastActivityMs: nowMs };
  switch (told.type) {
    case "started": {
      const { prompts } = state;
      return { ...emptyState(nowMs), prompts, ...told.goal ? { goal: told.goal } : {} };
    }
    case "prompted": {
      const prompt = state.prompts + 1;
      const goal = state.goal ?? { summary: told.text, atMs: nowMs, prompt };
      return {
        ...begin(moving),
        prompts: prompt,
        summary: told.text,
        asking: /* @__PURE__ */ new Map(),
        // A blank prompt says nothing about what the session is for (TV-43).
        ...goal.summary === "" ? {} : { goal }
      };
    }
    case "summarized": {
      const isGoal = state.goal?.prompt === told.prompt;
      const goal = isGoal ? { goal: { ...state.goal, summary: told.text, atMs: nowMs } } : {};
      const isCurrent = state.prompts === told.prompt && state.isWorking;
      return { ...state, ...goal, ...isCurrent ? { summary: told.text } : {} };
    }
    case "working":
      return begin(moving);
    case "tool.started": {
      const { call: call2, question } = told;
      if (question === void 0 || state.asking.size >= limits3.blocksMax) return moving;
      return { ...moving, asking: new Map([...state.asking, [call2, question]]) };
    }
    case "tool.ended":
      return {
        ...moving,
        asking: new Map([...state.asking].filter(([other]) => other !== told.call))
      };
    case "ended":
      return {
        ...moving,
        isWorking: false,
        asking: /* @__PURE__ */ new Map(),
        ...told.ending && { ending: told.ending }
      };
    case "passed":
      return state.ending?.state === "auth-required" ? state : withoutEnding(state);
    case "bridged": {
      const { bridge: _, ...rest } = state;
      return told.bridge ? { ...rest, bridge: told.bridge } : rest;
    }
  }
}
function begin(state) {
  return { ...withoutEnding(state), isWorking: true };
}
function withoutEnding({ ending: _, ...rest }) {
  return rest;
}
function task(state, summary) {
  return { state, ...summary === "" ? {} : { summary } };
}

// src/emitters/pi/extension.ts
function openExtension(pi, surroundings) {
  if (surroundings.env["PI_SUBAGENT"] === "1") return;
  attempt(() => {
    if (typeof pi !== "object" || pi === null) return;
    const { taken } = sharedBy(agentName);
    if (taken.has(pi)) return;
    taken.add(pi);
    const emitter = new Emitter(pi, surroundings);
    const on = (name, handle) => {
      call(pi, "on", name, (event, context) => {
        attempt(() => handle(event, context));
      });
    };
    on("session_start", (_, context) => emitter.start(context));
    on("before_agent_start", (event, context) => emitter.prompt(event, context));
    on("agent_start", () => emitter.tell({ type: "working" }));
    on("tool_execution_start", (event) => {
      const question = questionOf(event);
      emitter.tell({
        type: "tool.started",
        call: textAt(event, "toolCallId") ?? "",
        ...question === void 0 ? {} : { question }
      });
    });
    on("tool_execution_end", (event) => {
      emitter.tell({ type: "tool.ended", call: textAt(event, "toolCallId") ?? "" });
    });
    on("agent_end", (event) => {
      emitter.lookAround();
      const ending = attempt(() => endingOf(event));
      emitter.tell({ type: "ended", ...ending && { ending } });
    });
    on("session_shutdown", () => emitter.end());
  });
}
function newAgentId() {
  return `${agentName}-${randomUUID()}`;
}
function sessionKeyOf(context, { pid, workingDirectory }) {
  const file = sessionFileOf(context);
  if (file !== void 0) return `session-file:${file}`;
  return `pid:${pid}:cwd:${resolve3(textAt(context, "cwd") ?? workingDirectory() ?? "/")}`;
}
var Emitter = class {
  #pi;
  #surroundings;
  #shared = sharedBy(agentName);
  #agentId = newAgentId();
  #state;
  /** Undefined while no session is ours. */
  #open;
  /** Of the time for which an ending is shown. */
  #passing = new AbortController();
  #looksLeft = 0;
  #stopListening = [];
  constructor(pi, surroundings) {
    this.#pi = pi;
    this.#surroundings = surroundings;
    this.#state = emptyState(surroundings.clock.nowMs());
  }
  start(context) {
    const { env, pid, clock: clock2 } = this.#surroundings;
    const { TMUX, TMUX_PANE } = env;
    const key = sessionKeyOf(context, this.#surroundings);
    const owner = this.#shared.owners.get(key);
    this.end();
    if (owner !== void 0 && owner !== this) return;
    const workspace = textAt(context, "cwd");
    const goal = attempt(() => goalIn(context, clock2.nowMs()));
    this.#state = apply(this.#state, { type: "started", ...goal ? { goal } : {} }, clock2.nowMs());
    this.#looksLeft = 2;
    const sessionFile = sessionFileOf(context);
    const about = {
      agentName,
      agentId: this.#agentId,
      pid,
      workspace: workspace === void 0 ? void 0 : resolve3(workspace),
      tmux: tmuxOf({ TMUX, TMUX_PANE })
    };
    const directory = absoluteStatusDirectory(this.#surroundings);
    this.#shared.owners.set(key, this);
    this.#shared.agentIds.add(this.#agentId);
    this.#listen();
    const snapshot = new Snapshot({
      directory,
      agentId: this.#agentId,
      clock: clock2,
      guard: this.#surroundings.guard,
      recordAt: (nowMs) => runningRecord(about, nowOf(this.#state, sessionFile), nowMs)
    });
    this.#open = { snapshot, sessionFile, directory };
  }
  prompt(event, context) {
    this.lookAround();
    if (!this.#open) return;
    const prompt = memberOf(event, "prompt");
    const hadGoal = this.#state.goal !== void 0;
    this.tell({ type: "prompted", text: summarizePrompt(prompt) });
    if (!hadGoal) this.#noteGoal();
    this.#improve(prompt, context).catch(() => {
    });
  }
  tell(told) {
    if (!this.#open) return;
    this.#state = apply(this.#state, told, this.#surroundings.clock.nowMs());
    this.#open.snapshot.show();
    if (told.type === "ended" && told.ending) this.#pass().catch(() => {
    });
  }
  /** AS-24: how a turn ended is to be seen for a moment. */
  async #pass() {
    const { clock: clock2 } = this.#surroundings;
    this.#passing.abort();
    this.#passing = new AbortController();
    await clock2.until(clock2.nowMs() + limits3.endingMs, this.#passing.signal);
    attempt(() => this.tell({ type: "passed" }));
  }
  /**
   * AS-94: whether another extension tells of this session. It says so during a turn, so we look as one
   * begins and as it ends, whoever of us is told first.
   */
  lookAround() {
    const { directory, sessionFile: session } = this.#open ?? {};
    if (this.#looksLeft === 0 || directory === void 0 || session === void 0) return;
    this.#looksLeft -= 1;
    const { pid, clock: clock2 } = this.#surroundings;
    const told = { name: agentName, metaKey: agentName, session, pid };
    const nowMs = clock2.nowMs();
    const isOurs = (id) => this.#shared.agentIds.has(id);
    if (attempt(() => hasOtherEmitter(recordsIn(directory), told, { nowMs, isOurs }))) this.end();
  }
  end() {
    this.#passing.abort();
    for (const stop of this.#stopListening.splice(0)) attempt(stop);
    const { owners, agentIds } = this.#shared;
    for (const [key, owner] of owners) if (owner === this) owners.delete(key);
    this.#open?.snapshot.end();
    this.#open = void 0;
    agentIds.delete(this.#agentId);
  }
  /** A terminal that is closed ends Pi without a word to its extensions. */
  #listen() {
    this.#stopListening.push(this.#surroundings.onExit(() => attempt(() => this.end())));
    const hear = (payload) => {
      attempt(() => {
        const bridge = bridgeOf(payload);
        this.tell({ type: "bridged", ...bridge ? { bridge } : {} });
      });
    };
    const stop = attempt(
      () => call(memberOf(this.#pi, "events"), "on", "agent-status:profile", hear)
    );
    if (typeof stop === "function")
      this.#stopListening.push(() => Reflect.apply(stop, void 0, []));
  }
  /** A summary that the user's own extension makes. We send nobody's words anywhere (AS-96). */
  async #improve(prompt, context) {
    const { prompts } = this.#state;
    const told = await call(context, "agentStatusSummarize", prompt, context);
    const text = summarizePrompt(told);
    if (text === "") return;
    const { goal } = this.#state;
    attempt(() => this.tell({ type: "summarized", prompt: prompts, text }));
    if (this.#state.goal !== goal) this.#noteGoal();
  }
  /** In the session itself, so that it is there again when the session is. */
  #noteGoal() {
    const { goal } = this.#state;
    if (!goal || !this.#open) return;
    const { summary, atMs } = goal;
    const data = { summary, updated_at: printTimestamp(atMs), source: goalSource };
    attempt(() => call(this.#pi, "appendEntry", goalEntry, data));
  }
};

// src/emitters/pi.ts
function extension(pi) {
  openExtension(pi, surroundingsOf(process));
}
var buildStatusPath = statusPathFor(agentName);
function sanitizeAgentId2(text) {
  return sanitizeAgentId(text, agentName);
}
function nowUtc() {
  return printTimestamp(Date.now());
}
function getSessionKey(context) {
  return sessionKeyOf(context, surroundingsOf(process));
}
function buildBaseRecord(about) {
  const { agentId, workspace, pid = process.pid, now = nowUtc() } = about;
  return {
    schema_version: schemaVersion,
    agent_id: agentId,
    agent_name: agentName,
    runtime: {
      lifecycle: "running",
      updated_at: now,
      pid,
      ...workspace === void 0 ? {} : { workspace: resolve4(workspace) }
    }
  };
}
function updateRuntime(record, change2, now = nowUtc()) {
  return { ...record, runtime: { ...record.runtime, ...change2, updated_at: now } };
}
function withGoal(record, goal) {
  const { goal: _, ...rest } = record;
  return goal ? { ...rest, goal } : rest;
}
function withTask(record, task2) {
  const { task: _, ...rest } = record;
  return task2 ? { ...rest, task: task2 } : rest;
}
export {
  schemaVersion as SCHEMA_VERSION,
  buildBaseRecord,
  buildStatusPath,
  buildTempPath,
  newAgentId as createSessionAgentId,
  extension as default,
  getSessionKey,
  getStatusDir,
  nowUtc,
  tmuxOf as parseTmuxEnvironment,
  sanitizeAgentId2 as sanitizeAgentId,
  summarizePrompt,
  updateRuntime,
  withGoal,
  withTask,
  writeStatusFile2 as writeStatusFile
};
