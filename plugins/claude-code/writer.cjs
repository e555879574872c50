"use strict";
var __defProp = Object.defineProperty;
var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __hasOwnProp = Object.prototype.hasOwnProperty;
var __knownSymbol = (name, symbol) => (symbol = Symbol[name]) ? symbol : /* @__PURE__ */ Symbol.for("Symbol." + name);
var __typeError = (msg) => {
  throw TypeError(msg);
};
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};
var __copyProps = (to, from, except, desc) => {
  if (from && typeof from === "object" || typeof from === "function") {
    for (let key of __getOwnPropNames(from))
      if (!__hasOwnProp.call(to, key) && key !== except)
        __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
  }
  return to;
};
var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: true }), mod);
var __using = (stack, value, async) => {
  if (value != null) {
    if (typeof value !== "object" && typeof value !== "function") __typeError("Object expected");
    var dispose, inner;
    if (async) dispose = value[__knownSymbol("asyncDispose")];
    if (dispose === void 0) {
      dispose = value[__knownSymbol("dispose")];
      if (async) inner = dispose;
    }
    if (typeof dispose !== "function") __typeError("Object not disposable");
    if (inner) dispose = function() {
      try {
        inner.call(this);
      } catch (e) {
        return Promise.reject(e);
      }
    };
    stack.push([async, dispose, value]);
  } else if (async) {
    stack.push([async]);
  }
  return value;
};
var __callDispose = (stack, error, hasError) => {
  var E = typeof SuppressedError === "function" ? SuppressedError : function(e, s, m, _) {
    return _ = Error(m), _.name = "SuppressedError", _.error = e, _.suppressed = s, _;
  };
  var fail2 = (e) => error = hasError ? new E(e, error, "An error was suppressed during disposal") : (hasError = true, e);
  var next = (it) => {
    while (it = stack.pop()) {
      try {
        var result = it[1] && it[1].call(it[2]);
        if (it[0]) return Promise.resolve(result).then(next, (e) => (fail2(e), next()));
      } catch (e) {
        fail2(e);
      }
    }
    if (hasError) throw error;
  };
  return next();
};

// src/cli/writer.ts
var writer_exports = {};
__export(writer_exports, {
  writer: () => writer
});
module.exports = __toCommonJS(writer_exports);
var import_node_os2 = require("node:os");
var import_node_path7 = require("node:path");

// src/emitters/writer/places.ts
var import_node_fs = require("node:fs");
var import_node_path = require("node:path");
function emittersDirectory(options) {
  const { env, home } = options;
  const state = env["XDG_STATE_HOME"] || (0, import_node_path.join)(home, ".local", "state");
  const isHome = state === "~" || state.startsWith("~/");
  return (0, import_node_path.join)(isHome ? (0, import_node_path.join)(home, state.slice(1)) : state, "tipstaff", "emitters");
}
function placesIn(directory) {
  return {
    directory,
    queue: (0, import_node_path.join)(directory, "queue"),
    sessions: (0, import_node_path.join)(directory, "sessions"),
    goals: (0, import_node_path.join)(directory, "goals"),
    lock: (0, import_node_path.join)(directory, "writer"),
    starting: (0, import_node_path.join)(directory, "starting")
  };
}
function makePlaces({ queue, sessions, goals }) {
  for (const path of [queue, sessions, goals]) (0, import_node_fs.mkdirSync)(path, { recursive: true, mode: 448 });
}

// src/emitters/writer/writer.ts
var import_node_fs13 = require("node:fs");

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
  const { runtime, task } = record;
  if (nowMs - updatedAtMs(record) > staleAfterMs) return "stale";
  const hasTask = task !== void 0 && task !== null && Object.keys(task).length > 0;
  if (runtime.lifecycle === "running" && !hasTask) return "idle";
  return task?.state ?? runtime.lifecycle;
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
function sortBy(items, keyOf2, compare) {
  const keyed = items.map((item) => ({ item, key: keyOf2(item) }));
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
    const start2 = this.#at;
    this.#at++;
    for (; ; ) {
      this.#skip(inString);
      if (this.#take('"')) return;
      if (this.#at === this.#text.length) this.#stop("string without an end", start2);
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
function judgeTask(errors, task) {
  const { state } = task;
  if (state !== void 0 && state !== null) {
    if (typeof state !== "string" || state === "") {
      errors.push("task.state must be non-empty string");
    } else if (!isOneOf(taskStates, state)) {
      errors.push(`invalid task.state: ${state}`);
    }
  }
  judgeText(errors, task, "id", "task.id");
  judgeText(errors, task, "context_id", "task.context_id");
  judgeText(errors, task, "summary", "task.summary");
  judgeTimestamp(errors, task, "status_timestamp", "task.status_timestamp");
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
  const read2 = readJson(bytes, options);
  if (read2.problem) return read2;
  const value = withUsualPid(read2.value);
  const errors = validate(value);
  if (errors.length > 0) return { problem: { kind: "invalid-status", errors } };
  return { record: value };
}
function readJson(bytes, { fileBytesMax = limits.fileBytesMax } = {}) {
  if (bytes.length > fileBytesMax) return unreadable("too large");
  const text = decode(bytes);
  if (text === void 0) return unreadable("not valid UTF-8");
  const read2 = parse(text);
  if (read2.problem) return read2;
  return isTooDeep(read2.value, text) ? unreadable("too deeply nested") : read2;
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
var encoder = new TextEncoder();
function bytesOf(text) {
  return encoder.encode(text).length;
}

// src/wire/status-file/running.ts
function runningRecord(agent, doing, nowMs) {
  const { agentName, agentId, pid, workspace, tmux } = agent;
  const { lastActivityMs, goal, task, session, sinceMs = nowMs } = doing;
  const { tmux_socket: _, tmux_pane: __, ...rest } = doing.meta;
  const meta = { ...rest, ...tmux };
  return {
    schema_version: schemaVersion,
    agent_id: agentId,
    agent_name: agentName,
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
    ...task && {
      task: {
        ...session !== void 0 && { context_id: session },
        status_timestamp: printTimestamp(sinceMs),
        ...task
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

// src/emitters/writer/files.ts
var import_node_fs5 = require("node:fs");
var import_node_path3 = require("node:path");

// src/status-files/directory.ts
var import_node_fs2 = require("node:fs");
var import_node_os = require("node:os");

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
  const homeOf = () => home ?? (env["HOME"] || (0, import_node_os.homedir)());
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
    const home = homeIn((0, import_node_fs2.readFileSync)("/etc/passwd", "utf8"), user);
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
var import_node_fs3 = require("node:fs");

// src/status-files/slices.ts
function runAtOnce(steps2) {
  for (; ; ) {
    const step = steps2.next();
    if (step.done) return step.value;
  }
}
async function runInSlices(steps2) {
  for (; ; ) {
    const endMs2 = performance.now() + limits2.sliceMs;
    do {
      const step = steps2.next();
      if (step.done) return step.value;
    } while (performance.now() < endMs2);
    await new Promise(setImmediate);
  }
}

// src/status-files/read.ts
async function readDirectoryInTurns(directory, options = {}) {
  return await runInSlices(readSome(directory, options));
}
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
  const opened = (0, import_node_fs3.opendirSync)(directory, { bufferSize: limits2.entriesPerRead });
  try {
    for (let entry = opened.readSync(); entry; entry = opened.readSync()) {
      if (isDoubtful(entry.name)) hasOthers = true;
      else yield entry.name;
    }
  } finally {
    opened.closeSync();
  }
  if (!hasOthers) return;
  for (const name of (0, import_node_fs3.readdirSync)(directory, { encoding: "buffer" })) {
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
function judge(path, read2) {
  if ("problem" in read2) return { warning: { path, ...read2.problem } };
  const { record } = read2;
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
    descriptor = (0, import_node_fs3.openSync)(systemPath(path), import_node_fs3.constants.O_RDONLY | nonBlocking);
  } catch (error) {
    return notOpened(path, codeOf(error));
  }
  try {
    const stats = (0, import_node_fs3.fstatSync)(descriptor);
    const stamp = stampOf(stats);
    if (!stats.isFile()) return found(unreadable2("not a regular file"), stamp);
    if (stats.size > fileBytesMax) return found(unreadable2("too large"), stamp);
    const bytes = readAll(descriptor, stats.size, fileBytesMax);
    return found(bytes ? readRecord(bytes, options) : unreadable2("too large"), stamp);
  } catch (error) {
    return found(unreadable2(reasonOf(codeOf(error))), noStamp);
  } finally {
    (0, import_node_fs3.closeSync)(descriptor);
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
var nonBlocking = (import_node_fs3.constants.O_NONBLOCK ?? 0) | (import_node_fs3.constants.O_NOCTTY ?? 0);
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
    const read2 = (0, import_node_fs3.readSync)(descriptor, buffer, length, wanted - length, null);
    length += read2;
    if (read2 === 0 || length >= size && length < wanted) return buffer.subarray(0, length);
    if (length > bytesMax) return void 0;
  }
}
function notOpened(path, code) {
  let stamp = noStamp;
  try {
    const stats = (0, import_node_fs3.lstatSync)(systemPath(path));
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
function found(read2, stamp) {
  return { isGone: false, read: read2, stamp };
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
var import_node_fs4 = require("node:fs");
var import_node_path2 = require("node:path");
var import_node_util = require("node:util");
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
    (0, import_node_fs4.unlinkSync)(systemPath(path));
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}
function isTemporaryName(name) {
  return /^\..+\.json\.[A-Za-z0-9_-]+\.tmp$/s.test(name);
}
var synchronize = (0, import_node_util.promisify)(import_node_fs4.fsync);
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
    (0, import_node_fs4.fchmodSync)(temporary.descriptor, 384);
    (0, import_node_fs4.writeFileSync)(temporary.descriptor, bytes);
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
      return { path, descriptor: (0, import_node_fs4.openSync)(systemPath(path), exclusive, 384), isOpen: true };
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
  const above = (0, import_node_path2.dirname)(directory);
  if (!makeOne(directory, 448)) {
    makeAbove(above);
    (0, import_node_fs4.mkdirSync)(directory, 448);
  }
}
function makeAbove(directory) {
  if (makeOne(directory)) return;
  const above = (0, import_node_path2.dirname)(directory);
  if (above !== directory) makeAbove(above);
  (0, import_node_fs4.mkdirSync)(directory);
}
function makeOne(directory, mode) {
  try {
    (0, import_node_fs4.mkdirSync)(directory, mode);
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return false;
    if (code === "EEXIST") return true;
    throw error;
  }
}
var exclusive = import_node_fs4.constants.O_WRONLY | import_node_fs4.constants.O_CREAT | import_node_fs4.constants.O_EXCL | (import_node_fs4.constants.O_NOFOLLOW ?? 0);
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
      (0, import_node_fs4.renameSync)(systemPath(temporary.path), systemPath(target));
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
  (0, import_node_fs4.closeSync)(temporary.descriptor);
}
function discard(temporary) {
  try {
    close(temporary);
  } catch {
  }
  try {
    (0, import_node_fs4.unlinkSync)(systemPath(temporary.path));
  } catch {
  }
}

// src/emitters/writer/limits.ts
var limits3 = {
  /**
   * How often it is asked whether the hosts live: a state must be right a second after a host was killed, and
   * Node cannot be told of the death of a process that is not its child. Twice a second, one small file of
   * the system for each session, and only while there is a session.
   */
  lookMs: 500,
  /** How long the writer stays without a session: clearing ends one and begins the next 0.2 s later. */
  lingerMs: 3e3,
  /** The lock says until when it is good. Several heartbeats, because one may come late. */
  leaseMs: 6e4,
  /** How often who wants the lock looks whether it is free: soon when it was asked for, else rarely. */
  handOverMs: 25,
  handOverMsMax: 3e3,
  waitMs: 5e3,
  /** Events that are heard in one go, the oldest. */
  queueFilesMax: 1e4,
  /** What a hook hands over beside the event. */
  headBytesMax: 65536,
  /** Of one event. Longer ones are thrown away unread. */
  eventBytesMax: 67108864,
  /** In which it is read. Short, so that what is made of it is soon forgotten. */
  partBytes: 16384,
  /** Files of the system say that they are empty, and are about as long as this. */
  systemFileBytes: 4096,
  /** A hook that did not finish in this time was killed. */
  unfinishedMs: 6e4,
  sessionsMax: 1e3,
  /** Of the part of a session's id that is in the name of its file, which has 255 bytes with all of it. */
  nameLengthMax: 150,
  sessionBytesMax: 1048576,
  /** Goals that are kept in case their session is resumed. */
  goalsMax: 1e3,
  goalAgeMsMax: 2592e6,
  /** Of a transcript: as much of its end as may have come since the last look. */
  transcriptBytesMax: 262144,
  /** Claude Code's file about a process has less than a kilobyte. */
  reportBytesMax: 65536,
  /** Of `/proc/<pid>/environ` and its like. */
  processBytesMax: 1048576,
  /** A host runs a shell, perhaps in a sandbox, and that the command: nobody looks deeper than so many of them. */
  generationsMax: 4,
  /** By so much a process may seem to have started before the question that let it: clocks are coarse. */
  startSlackMs: 500
};

// src/emitters/writer/files.ts
var flags = import_node_fs5.constants.O_RDONLY | import_node_fs5.constants.O_NONBLOCK;
function readPart(path, from, bytesMax) {
  let file;
  try {
    file = (0, import_node_fs5.openSync)(path, flags);
    const stats = (0, import_node_fs5.fstatSync)(file);
    if (!stats.isFile()) return void 0;
    return { bytes: readFrom(file, from, { bytesMax, size: stats.size }), size: stats.size };
  } catch {
    return void 0;
  } finally {
    if (file !== void 0) (0, import_node_fs5.closeSync)(file);
  }
}
function readWhole(path, bytesMax) {
  const { bytes } = readPart(path, 0, bytesMax + 1) ?? {};
  return bytes === void 0 || bytes.length > bytesMax ? void 0 : bytes;
}
var scratch;
function* partsOf(path) {
  const file = (0, import_node_fs5.openSync)(path, flags);
  try {
    if (!(0, import_node_fs5.fstatSync)(file).isFile()) return;
    scratch ??= Buffer.allocUnsafeSlow(limits3.partBytes);
    const part = scratch;
    for (let length = 0; length <= limits3.eventBytesMax; ) {
      const read2 = (0, import_node_fs5.readSync)(file, part, 0, part.length, null);
      if (read2 === 0) return;
      yield part.subarray(0, read2);
      length += read2;
    }
    throw new Error(`${path} is too long`);
  } finally {
    (0, import_node_fs5.closeSync)(file);
  }
}
function readFrom(file, from, { bytesMax, size }) {
  const chunks = [];
  for (let length = 0; length < bytesMax; ) {
    const left = Math.max(limits3.systemFileBytes, size - from - length);
    const chunk = Buffer.allocUnsafe(Math.min(bytesMax - length, left));
    const read2 = (0, import_node_fs5.readSync)(file, chunk, 0, chunk.length, from + length);
    if (read2 === 0) break;
    chunks.push(chunk.subarray(0, read2));
    length += read2;
  }
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
}
var unfinished = ".tmp";
function layDown(path, text) {
  const temporary = `${path}${unfinished}`;
  try {
    (0, import_node_fs5.writeFileSync)(temporary, text, { mode: 384 });
    (0, import_node_fs5.renameSync)(temporary, path);
  } catch (error) {
    removeFile2(temporary);
    throw error;
  }
}
function wholeNamesIn(directory) {
  return namesIn(directory).filter((name) => {
    const isWhole = !name.endsWith(unfinished);
    if (!isWhole) removeFile2((0, import_node_path3.join)(directory, name));
    return isWhole;
  });
}
function sweepTemporaries(directory, agentId) {
  for (const name of namesIn(directory)) {
    const isOurs = name.startsWith(`.${agentId}.json.`) && isTemporaryName(name);
    if (isOurs) removeFile2((0, import_node_path3.join)(directory, name));
  }
}
function removeFile2(path) {
  try {
    (0, import_node_fs5.unlinkSync)(path);
  } catch {
  }
}
function namesIn(directory) {
  try {
    return (0, import_node_fs5.readdirSync)(directory);
  } catch {
    return [];
  }
}
function randomHex(count) {
  const bytes = Buffer.alloc(count);
  const file = (0, import_node_fs5.openSync)("/dev/urandom", "r");
  try {
    (0, import_node_fs5.readSync)(file, bytes);
  } finally {
    (0, import_node_fs5.closeSync)(file);
  }
  return bytes.toString("hex");
}

// src/emitters/writer/keeper.ts
var import_node_fs10 = require("node:fs");
var import_node_path5 = require("node:path");

// src/wire/host-events/limits.ts
var limits4 = {
  /** Of one member of an event. A tool's answer may be megabytes; all that we use is far shorter. */
  memberBytesMax: 262144,
  /** What is kept of either end of a text that is longer: enough for its first words, and for its last. */
  textBytesMax: 4096,
  /** Of the end of last words: as much as the line with the question may have. A summary has 120. */
  lastLineLengthMax: 2e3,
  /** Of ids and names that hosts give: longer ones are not theirs. */
  idLengthMax: 512,
  /** Calls of tools that are under way at once. */
  callsMax: 256,
  /** Agents that work for the session. */
  subagentsMax: 1024,
  /**
   * `failed`, `canceled` and `rejected` must not outlive the turn (AS-24), but hosts tell of them when it ends:
   * long enough to be seen by who looks every two seconds, then idle. Inside of hosts it is as long.
   */
  endingMs: 5e3,
  /** What a host still says of itself so long after the last event is not merely late. */
  lastingMs: 1500
};

// src/wire/host-events/members.ts
function readMembers(parts) {
  const reader = new MemberReader();
  try {
    for (const part of parts) reader.push(part);
    return reader.end();
  } catch {
    return void 0;
  }
}
var bytewise = new TextDecoder("latin1");
var utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
var inText = /[^"\\]*(?:\\.[^"\\]*)*/sy;
var inNest = /[^"[\]{}]*/y;
var inWord = /[^\s,}]*/y;
var blanks2 = /[ \t\r\n]*/y;
var scratch2;
var MemberReader = class {
  #members = /* @__PURE__ */ new Map();
  #kept;
  #length = 0;
  #place = "before";
  /** Undefined if it was too long to be one that we know: its value is skipped. */
  #key;
  #depth = 0;
  /** In a key, in a text, or in a text that is inside of a list or an object. */
  #isInText = false;
  /** The last part ended with a backslash that escapes what follows. */
  #isEscaped = false;
  constructor() {
    scratch2 ??= new Uint8Array(limits4.memberBytesMax);
    this.#kept = scratch2;
  }
  push(part) {
    const text = bytewise.decode(part);
    for (let at = 0; at < text.length; ) {
      const to = this.#advance(text, at);
      if (this.#isKept()) this.#keep(part.subarray(at, to));
      at = to;
      if (at < text.length) at = this.#turn(text, at, part);
    }
  }
  end() {
    if (this.#place !== "after") throw new SyntaxError("ends too early");
    return this.#members;
  }
  #isKept() {
    return this.#isInText || this.#place === "in nest" || this.#place === "in word";
  }
  /** Over all that changes nothing. */
  #advance(text, at) {
    if (!this.#isInText) {
      const pattern = this.#place === "in nest" ? inNest : this.#place === "in word" ? inWord : blanks2;
      return skip(pattern, text, at);
    }
    const from = this.#isEscaped ? at + 1 : at;
    const to = skip(inText, text, from);
    this.#isEscaped = to < text.length && text[to] === "\\";
    return this.#isEscaped ? text.length : to;
  }
  /** What the character there changes. Answers where to go on. */
  #turn(text, at, part) {
    const character = text[at] ?? "";
    const one = part.subarray(at, at + 1);
    if (this.#isInText) {
      this.#keep(one);
      this.#isInText = false;
      if (this.#place !== "in nest") this.#finish();
      return at + 1;
    }
    if (this.#place === "in nest") {
      this.#keep(one);
      this.#descend(character);
      return at + 1;
    }
    if (this.#place === "in word") {
      this.#finish();
      return at;
    }
    this.#step(character);
    if (this.#isKept()) this.#keep(one);
    return at + 1;
  }
  /** Between the parts of which an object is made. */
  #step(character) {
    switch (this.#place) {
      case "before":
        this.#place = expect(character, "{", "first");
        return;
      case "first":
        if (character === "}") this.#place = "after";
        else this.#begin(expect(character, '"', "in key"));
        return;
      case "key":
        this.#begin(expect(character, '"', "in key"));
        return;
      case "colon":
        this.#place = expect(character, ":", "value");
        return;
      case "value":
        if (character === '"') this.#begin("in text");
        else if (character === "{" || character === "[") this.#begin("in nest");
        else if (/[-\w]/.test(character)) this.#begin("in word");
        else throw new SyntaxError("a value is expected");
        return;
      case "comma":
        this.#place = character === "}" ? "after" : expect(character, ",", "key");
        return;
      default:
        throw new SyntaxError("goes on behind its end");
    }
  }
  #begin(place) {
    this.#isInText = place === "in key" || place === "in text";
    this.#length = 0;
    this.#depth = 1;
    this.#place = place;
  }
  #descend(character) {
    if (character === '"') this.#isInText = true;
    else if (character === "{" || character === "[") this.#depth += 1;
    else this.#depth -= 1;
    if (this.#depth === 0) this.#finish();
  }
  #keep(bytes) {
    const room = Math.max(0, this.#kept.length - this.#length);
    if (room > 0) this.#kept.set(bytes.subarray(0, room), this.#length);
    this.#length += bytes.length;
    if (bytes.length > room && this.#place === "in text") this.#keepLast(bytes.subarray(room));
  }
  /** Of a text that is too long: the last that was kept makes way. */
  #keepLast(bytes) {
    const end = this.#kept.subarray(-limits4.textBytesMax);
    const last = bytes.subarray(-end.length);
    end.copyWithin(0, last.length);
    end.set(last, end.length - last.length);
  }
  #finish() {
    const value = this.#value();
    if (this.#place === "in key") {
      this.#key = typeof value === "string" ? value : void 0;
      this.#place = "colon";
      return;
    }
    if (value !== void 0 && this.#key !== void 0) this.#members.set(this.#key, value);
    this.#place = "comma";
  }
  #value() {
    if (this.#length <= this.#kept.length) {
      return JSON.parse(utf8.decode(this.#kept.subarray(0, this.#length)));
    }
    if (this.#place !== "in text") return void 0;
    const head = utf8.decode(this.#kept.subarray(0, limits4.textBytesMax));
    const tail = utf8.decode(this.#kept.subarray(-limits4.textBytesMax));
    const first = parseCut((cut2) => `${head.slice(0, head.length - cut2)}"`);
    const last = parseCut((cut2) => `"${tail.slice(cut2)}`);
    return first === void 0 || last === void 0 ? void 0 : `${first}
\u2026
${last}`;
  }
};
function parseCut(cutBy) {
  for (let cut2 = 0; cut2 < 6; cut2 += 1) {
    try {
      return JSON.parse(cutBy(cut2));
    } catch {
    }
  }
  return void 0;
}
function skip(pattern, text, from) {
  pattern.lastIndex = from;
  pattern.test(text);
  return Math.max(from, pattern.lastIndex);
}
function expect(character, expected, next) {
  if (character !== expected) throw new SyntaxError("something else is expected");
  return next;
}

// src/wire/host-events/event.ts
function readEvent(parts) {
  const members = readMembers(parts);
  if (!members) return void 0;
  const name = idIn(members, "hook_event_name");
  const sessionId = idIn(members, "session_id");
  return name === void 0 || sessionId === void 0 ? void 0 : { name, sessionId, members };
}
function textIn(members, key) {
  const value = members.get(key);
  return typeof value === "string" && value !== "" ? value : void 0;
}
function idIn(members, key) {
  const text = textIn(members, key);
  return text !== void 0 && text.length <= limits4.idLengthMax ? text.toWellFormed() : void 0;
}
function listIn(members, key) {
  const value = members.get(key);
  return Array.isArray(value) ? value : [];
}
function isFromSubagent({ members }) {
  return [members.get("agent_id"), members.get("agent_transcript_path")].some(Boolean);
}
function isSynthetic({ members }) {
  const source = textIn(members, "source") ?? "user";
  const prompt2 = textIn(members, "prompt") ?? "";
  return source !== "user" && source !== "sdk" || prompt2.startsWith("<task-notification>");
}

// src/wire/host-events/questions.ts
var questionTools = /* @__PURE__ */ new Set(["request_user_input", "AskUserQuestion", "ExitPlanMode"]);
function isQuestionTool(tool) {
  const server2 = tool.lastIndexOf("__");
  const own = server2 < 0 ? tool : tool.slice(server2 + 2);
  return questionTools.has(tool) || own === "question";
}
function askedIn(members) {
  const tool = members.get("tool_name");
  const input = fieldsOf(members.get("tool_input"));
  const [first] = Array.isArray(input["questions"]) ? input["questions"] : [];
  const question = fieldsOf(first)["question"] ?? input["question"];
  if (typeof question === "string") return summarize(question) || void 0;
  if (typeof tool !== "string" || isQuestionTool(tool)) return void 0;
  const what = ["command", "file_path", "path", "url", "query"].map((name) => input[name]);
  const told = what.find((value) => typeof value === "string" || Array.isArray(value));
  const text = Array.isArray(told) ? told.filter(isText).join(" ") : told ?? "";
  return summarize(text === "" ? tool : `${tool}: ${text}`);
}
function lastLineOf(text) {
  const lines = text.trimEnd().slice(-limits4.lastLineLengthMax).split("\n");
  return summarize(lines.at(-1) ?? "") || void 0;
}
function fieldsOf(value) {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
function isText(value) {
  return typeof value === "string";
}
var closing = /* @__PURE__ */ new Set(['"', "'", "\u2019", "\u201D", "*", "_", "`", "]", ")", "}"]);
function endsInQuestion(text) {
  let end = text.trimEnd().length;
  while (end > 0 && closing.has(text.charAt(end - 1))) end -= 1;
  return text.charAt(end - 1) === "?";
}

// src/wire/host-events/apply.ts
var steps = /* @__PURE__ */ new Map([
  ["UserPromptSubmit", prompt],
  ["PreToolUse", beginCall],
  ["PermissionRequest", askPermission],
  ["PermissionDenied", endCall],
  ["PostToolUse", endCall],
  ["PostToolUseFailure", failCall],
  ["Elicitation", (session, event, atMs) => ask(session, event, atMs, anybody("question"))],
  ["ElicitationResult", (session, event, atMs) => goOn(session, event, atMs)],
  ["Notification", hearNotification],
  ["Stop", stop],
  [
    "StopFailure",
    (session, event, atMs) => fail(session, idIn(event.members, "error") ?? "unknown", { event, atMs })
  ],
  ["Interrupt", (session, _event, atMs) => interrupt(session, atMs)]
]);
function apply(session, event, circumstances) {
  if (event.sessionId !== session.sessionId) return session;
  const { atMs, nowMs } = circumstances;
  if (isFromSubagent(event)) return countSubagents(session, event, nowMs);
  if (event.name === "SessionEnd") return void 0;
  if (event.name === "SessionStart")
    return start(heard(session, event, circumstances), event, circumstances);
  const step = steps.get(event.name);
  if (!step) return session;
  const noted = { ...heard(session, event, circumstances), lastActivityAtMs: atMs };
  return step(noted, event, atMs);
}
function heard(session, { members }, told) {
  return {
    ...session,
    workspace: told.workspace ?? textIn(members, "cwd") ?? session.workspace,
    model: idIn(members, "model") ?? session.model,
    permissionMode: idIn(members, "permission_mode") ?? session.permissionMode,
    rests: void 0,
    updatedAtMs: told.nowMs,
    heardAtMs: Math.max(session.heardAtMs, told.atMs)
  };
}
function start(session, { members }, { storedGoal }) {
  const started = { ...session, hasStarted: true };
  switch (textIn(members, "source")) {
    case "clear":
      return { ...idle(started), goal: void 0, mayFindGoal: true, lastPrompt: void 0 };
    case "resume":
      return { ...started, goal: storedGoal, mayFindGoal: storedGoal !== void 0 };
    case "compact":
      return { ...started, goal: session.goal ?? storedGoal };
    default:
      return session.hasStarted ? started : { ...idle(started), goal: void 0 };
  }
}
function prompt(session, event, atMs) {
  const text = isSynthetic(event) ? "" : summarize(textIn(event.members, "prompt") ?? "");
  const isFirst = text !== "" && !session.goal && session.mayFindGoal;
  return turnTo(
    {
      ...session,
      asking: [],
      goal: isFirst ? { summary: text, atMs } : session.goal,
      lastPrompt: text === "" ? session.lastPrompt : text,
      lastError: void 0
    },
    { state: "working", event, atMs, ...text === "" ? {} : { summary: text } }
  );
}
function beginCall(session, event, atMs) {
  const tool = idIn(event.members, "tool_name") ?? "";
  const id = idIn(event.members, "tool_use_id");
  const calls = id === void 0 ? session.calls : [...session.calls, { id, tool }];
  const begun = { ...session, calls: calls.slice(-limits4.callsMax) };
  if (isQuestionTool(tool)) return ask(begun, event, atMs, { what: "question", callId: id });
  return goOnUnless(begun, event, atMs, waitingCalls(begun));
}
function askPermission(session, event, atMs) {
  const tool = idIn(event.members, "tool_name");
  const known = idIn(event.members, "tool_use_id");
  const meant = session.calls.filter(({ id, tool: own }) => known ? id === known : own === tool);
  const isWaiting = ({ id }) => session.asking.some(({ callId: callId2 }) => callId2 === id);
  if (meant.length > 0 && meant.every(isWaiting)) {
    return turnTo(session, { state: "input-required", event, atMs });
  }
  const callId = known ?? meant.findLast((call) => !isWaiting(call))?.id;
  return ask(session, event, atMs, { what: "permission", callId });
}
function endCall(session, event, atMs) {
  const id = idIn(event.members, "tool_use_id");
  const isKnown = session.calls.some((call) => call.id === id);
  const ended = { ...session, calls: session.calls.filter((call) => call.id !== id) };
  const others = waitingCalls(session).filter(({ callId }) => callId !== id);
  return goOnUnless(ended, event, atMs, isKnown ? others : []);
}
function waitingCalls({ asking }) {
  return asking.filter(({ callId }) => callId !== void 0);
}
function goOnUnless(session, event, atMs, asking) {
  if (asking.length === 0) return goOn(session, event, atMs);
  return turnTo({ ...session, asking }, { state: "input-required", event, atMs });
}
function failCall(session, event, atMs) {
  const isInterrupt = event.members.get("is_interrupt") === true;
  return isInterrupt ? interrupt(session, atMs) : endCall(session, event, atMs);
}
var asksPerson = /* @__PURE__ */ new Set([
  "permission_prompt",
  "worker_permission_prompt",
  "agent_needs_input",
  "elicitation_dialog"
]);
var answered = /* @__PURE__ */ new Set(["elicitation_complete", "elicitation_response"]);
function hearNotification(session, event, atMs) {
  const kind = textIn(event.members, "notification_type") ?? "";
  if (!isOpen(session)) return session;
  if (asksPerson.has(kind)) return ask(session, event, atMs, anybody("permission"));
  if (answered.has(kind)) return goOn(session, event, atMs);
  return kind === "idle_prompt" ? idle(session) : session;
}
function stop(session, event, atMs) {
  const { members } = event;
  const background = [
    ...listIn(members, "active_background_tasks"),
    ...listIn(members, "background_tasks")
  ];
  const over = { ...idle(session), turn: session.turn, subagents: subagentsIn(background) };
  const lastWords = textIn(members, "last_assistant_message") ?? "";
  if (endsInQuestion(lastWords)) {
    return turnTo(over, { state: "input-required", event, atMs, asks: lastLineOf(lastWords) });
  }
  if (background.length > 0) return turnTo(over, { state: "submitted", event, atMs });
  return { ...over, turn: void 0 };
}
var wantsCredentials = /* @__PURE__ */ new Set([
  "authentication_failed",
  "oauth_org_not_allowed",
  "verification_required",
  "cloud_credential_error",
  "unauthorized"
]);
function fail(session, error, towards) {
  const over = { ...idle(session), turn: session.turn, lastError: error };
  const state = wantsCredentials.has(error) ? "auth-required" : "failed";
  return turnTo(over, { state, ...towards });
}
function interrupt(session, atMs) {
  const { turn } = session;
  if (!turn || !isOpen(session)) return session;
  const isDenied = session.asking.some(({ what }) => what === "permission");
  const over = { ...idle(session), subagents: [], lastActivityAtMs: atMs };
  const state = isDenied ? "rejected" : "canceled";
  return { ...over, turn: { ...turn, state, asks: void 0, sinceMs: atMs } };
}
function isOpen({ turn, asking }) {
  return turn?.state === "working" || asking.length > 0;
}
function settle(session, nowMs) {
  const { turn } = session;
  if (!turn || !isEnding(turn.state) || nowMs < turn.sinceMs + limits4.endingMs) return session;
  return { ...session, turn: void 0, updatedAtMs: nowMs };
}
function isEnding(state) {
  return state === "failed" || state === "canceled" || state === "rejected";
}
function anybody(what) {
  return { what, callId: void 0 };
}
function ask(session, event, atMs, asking) {
  const asked = { ...session, asking: [...session.asking, asking].slice(-limits4.callsMax) };
  return turnTo(asked, { state: "input-required", event, atMs, asks: askedIn(event.members) });
}
function goOn(session, event, atMs) {
  return turnTo({ ...session, asking: [] }, { state: "working", event, atMs });
}
function idle(session) {
  return { ...session, turn: void 0, asking: [], calls: [], lastError: void 0 };
}
function turnTo(session, { state, atMs, event, summary, asks }) {
  const { turn: before } = session;
  const named = event && (idIn(event.members, "turn_id") ?? idIn(event.members, "prompt_id"));
  const id = named ?? before?.id;
  const isSame2 = before?.state === state && before.id === id;
  return {
    ...session,
    turn: {
      id,
      state,
      summary: summary ?? before?.summary ?? session.lastPrompt,
      asks: state === "input-required" ? asks ?? before?.asks : void 0,
      sinceMs: isSame2 ? before.sinceMs : atMs
    }
  };
}
function countSubagents(session, { name, members }, nowMs) {
  const id = idIn(members, "agent_id");
  if (id === void 0 || name !== "SubagentStart" && name !== "SubagentStop") return session;
  const others = session.subagents.filter((each) => each !== id);
  const subagents = name === "SubagentStart" ? [...others, id] : others;
  if (subagents.length === session.subagents.length) return session;
  return { ...session, subagents: subagents.slice(-limits4.subagentsMax), updatedAtMs: nowMs };
}
function subagentsIn(background) {
  return background.flatMap((task) => {
    if (typeof task !== "object" || task === null) return [];
    const { type, id } = task;
    return type === "subagent" && typeof id === "string" ? [id] : [];
  });
}

// src/wire/host-events/evidence.ts
function witness(session, evidence, nowMs) {
  if (!session.hasStarted) return session;
  const atMs = evidence.kind === "is" ? evidence.sinceMs : evidence.atMs;
  const isLasting = evidence.kind === "is" && nowMs - session.heardAtMs > limits4.lastingMs;
  if (atMs <= session.heardAtMs && !(isLasting && isOpen(session))) return session;
  const seen = see(session, evidence, Math.max(atMs, session.heardAtMs));
  return seen === session ? session : { ...seen, updatedAtMs: nowMs };
}
function see(session, evidence, atMs) {
  if (evidence.kind === "interrupted") return interrupt(session, atMs);
  if (evidence.kind === "over") {
    if (!isOpen(session)) return session;
    const over = { ...session, lastActivityAtMs: atMs };
    return evidence.error === void 0 ? idle(over) : fail(over, evidence.error, { atMs });
  }
  switch (evidence.status) {
    case "idle":
      if (session.rests === void 0) return interrupt(session, atMs);
      return {
        ...session,
        turn: session.rests ?? void 0,
        rests: void 0,
        asking: [],
        lastActivityAtMs: atMs
      };
    case "waiting": {
      const isAtWork = isOpen(session) || session.turn?.state === "submitted";
      if (!isAtWork || session.asking.length > 0) return session;
      const asked = { ...departed(session), asking: [anybody("permission")] };
      return turnTo(asked, { state: "input-required", atMs });
    }
    case "busy":
      if (session.turn?.state === "working") return session;
      return turnTo(
        { ...departed(session), asking: [], lastActivityAtMs: atMs },
        { state: "working", atMs }
      );
  }
}
function departed(session) {
  if (isOpen(session) || session.rests !== void 0) return session;
  const { turn } = session;
  return { ...session, rests: turn && !isEnding(turn.state) ? turn : null };
}
function selfReportPath(transcriptPath, pid) {
  const [, folder] = /^(.+)\/projects\/[^/]+\/[^/]+\.jsonl$/.exec(transcriptPath) ?? [];
  return folder === void 0 ? void 0 : `${folder}/sessions/${pid}.json`;
}
function readSelfReport(text, sessionId) {
  const report = objectIn(text);
  const { status, statusUpdatedAt: sinceMs } = report ?? {};
  if (report?.["sessionId"] !== sessionId || typeof sinceMs !== "number") return void 0;
  if (status !== "idle" && status !== "busy" && status !== "waiting") return void 0;
  return { kind: "is", status, sinceMs };
}
var interrupted = /^\[Request interrupted by user[^\]]*\]/;
function readTranscript(host, lines) {
  const read2 = host === "codex" ? readRollout : readClaude;
  for (const line of lines.toReversed()) {
    const hint = host === "codex" ? /"(?:turn_aborted|task_complete)"/ : /\[Request interrupted/;
    if (line.length > limits4.memberBytesMax || !hint.test(line)) continue;
    const entry = objectIn(line);
    const atMs = Date.parse(String(entry?.["timestamp"]));
    const evidence = entry && !Number.isNaN(atMs) ? read2(entry, atMs) : void 0;
    if (evidence) return evidence;
  }
  return void 0;
}
function readClaude(entry, atMs) {
  if (entry["type"] !== "user" || entry["isSidechain"] === true) return void 0;
  const { content } = asObject(entry["message"]);
  const parts = Array.isArray(content) ? content : [{ text: content }];
  const isMarked = parts.some((part) => interrupted.test(String(asObject(part)["text"])));
  return isMarked ? { kind: "interrupted", atMs } : void 0;
}
function readRollout(entry, atMs) {
  const { type, error } = entry["type"] === "event_msg" ? asObject(entry["payload"]) : {};
  if (type === "turn_aborted") return { kind: "interrupted", atMs };
  if (type !== "task_complete") return void 0;
  if (error === void 0 || error === null) return { kind: "over", atMs };
  return { kind: "over", atMs, error: nameOf2(asObject(error)["codex_error_info"]) };
}
function nameOf2(info) {
  if (typeof info === "string") return info;
  const [[name, details] = ["unknown", void 0]] = Object.entries(asObject(info));
  const { http_status_code: status } = asObject(details);
  return status === 401 || status === 403 ? "unauthorized" : name;
}
function objectIn(text) {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return void 0;
  }
}
function asObject(value) {
  return typeof value === "object" && value !== null ? value : {};
}

// src/wire/host-events/hosts.ts
var hostNames = ["claude-code", "codex"];
var metaKeys = {
  "claude-code": "claude_code",
  codex: "codex"
};
function hostOf(env) {
  if (env["PLUGIN_ROOT"] || env["PLUGIN_DATA"]) return "codex";
  return env["CLAUDE_PLUGIN_ROOT"] || env["CLAUDE_PLUGIN_DATA"] ? "claude-code" : "codex";
}
function isHostName(text) {
  return hostNames.some((name) => name === text);
}

// src/wire/host-events/session.ts
function newSession(beginning, nowMs) {
  return {
    ...beginning,
    hasStarted: false,
    mayFindGoal: true,
    workspace: void 0,
    model: void 0,
    permissionMode: void 0,
    goal: void 0,
    turn: void 0,
    rests: void 0,
    asking: [],
    calls: [],
    subagents: [],
    lastPrompt: void 0,
    lastError: void 0,
    updatedAtMs: nowMs,
    lastActivityAtMs: void 0,
    heardAtMs: 0
  };
}
function beat(session, nowMs) {
  return { ...session, updatedAtMs: nowMs };
}
function recordOf(session) {
  if (!session.hasStarted) return void 0;
  const { host, sessionId, turn, subagents } = session;
  const own = given({
    session_id: sessionId,
    model: session.model,
    permission_mode: session.permissionMode,
    subagents: subagents.length === 0 ? void 0 : subagents.length,
    last_error: session.lastError,
    asks: turn?.asks
  });
  return runningRecord(
    { ...session, agentName: host },
    {
      lastActivityMs: session.lastActivityAtMs,
      goal: session.goal,
      task: turn && { ...given({ id: turn.id, summary: turn.summary }), state: turn.state },
      session: sessionId,
      sinceMs: turn?.sinceMs,
      meta: { [metaKeys[host]]: own }
    },
    session.updatedAtMs
  );
}
function given(fields) {
  const present = Object.entries(fields).filter(([, value]) => value !== void 0);
  return Object.fromEntries(present);
}

// src/emitters/background-file.ts
var import_node_fs6 = require("node:fs");
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
      if (path !== void 0) (0, import_node_fs6.unlinkSync)(path);
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

// src/emitters/fields.ts
function fieldsOf2(value) {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
function textAt(value, ...keys) {
  const fields = fieldsOf2(value);
  for (const key of keys) {
    const text = fields[key];
    if (typeof text === "string" && text.trim() !== "") return text;
  }
  return void 0;
}

// src/emitters/limits.ts
var limits5 = {
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
  return readFirst(directory, limits5.recordsAtOnceMax).files.map(({ record }) => record);
}
function sessionIn(record, { name, metaKey }) {
  const { agent_name: own, x_meta, task } = record;
  const context = own === name ? task?.context_id : void 0;
  return textAt(x_meta?.[metaKey], "session_id") ?? context;
}

// src/emitters/writer/processes.ts
var import_node_fs7 = require("node:fs");

// src/wire/procfs/stat.ts
function statOf(text) {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state = "", parent = "", startTicks = ""] = [fields[0], fields[1], fields[19]];
  if (state === "" || !/^\d+$/.test(parent) || !/^\d+$/.test(startTicks)) return void 0;
  return { state, parent: Number(parent), startTicks };
}

// src/emitters/writer/processes.ts
function identify(pid) {
  if (!Number.isSafeInteger(pid) || pid <= 0) return void 0;
  if (!hasProc()) return answersTo(pid) ? { pid, start: "" } : void 0;
  const { state, startTicks: start2 } = statOf(textOf(pid, "stat")) ?? {};
  return start2 === void 0 || state === "Z" || state === "X" ? void 0 : { pid, start: start2 };
}
function isAlive({ pid, start: start2 }) {
  return identify(pid)?.start === start2;
}
function isSame(one, other) {
  return one.pid === other.pid && one.start === other.start;
}
function environmentOf(pid) {
  const text = textOf(pid, "environ");
  return Object.fromEntries(
    text.split("\0").map((entry) => {
      const at = entry.indexOf("=");
      return [entry.slice(0, Math.max(0, at)), entry.slice(at + 1)];
    })
  );
}
function commandOf(pid) {
  return textOf(pid, "cmdline").split("\0").slice(0, -1);
}
function terminalsOf(server2, workspace) {
  const { CODEX_HOME: home } = environmentOf(server2.pid);
  return namesIn("/proc").flatMap((name) => {
    const pid = /^\d+$/.test(name) ? Number(name) : 0;
    if (pid === 0 || pid === server2.pid || textOf(pid, "comm").trim() !== "codex") return [];
    if (workingDirectoryOf(pid) !== workspace || isServer(pid)) return [];
    const found2 = environmentOf(pid)["CODEX_HOME"] === home ? identify(pid) : void 0;
    return found2 ? [found2] : [];
  });
}
var serving = /* @__PURE__ */ new Set(["app-server", "mcp-server", "exec-server"]);
function isServer(pid) {
  return commandOf(pid).some((word) => serving.has(word));
}
function isRunning(command, { ancestor, sinceMs }, depth = limits3.generationsMax) {
  return namesIn(`/proc/${ancestor}/task`).flatMap((thread) => textOf(ancestor, `task/${thread}/children`).split(" ")).some((child) => {
    const pid = Number(child);
    if (!pid) return false;
    const words2 = commandOf(pid);
    const isIt = words2.includes(command) || endsWith(bare(command), bare(words2.join(" ")));
    if (isIt && startedAtMs(pid) >= sinceMs - limits3.startSlackMs) return true;
    return depth > 1 && isRunning(command, { ancestor: pid, sinceMs }, depth - 1);
  });
}
function startedAtMs(pid) {
  const upMs = Number.parseFloat(readWhole("/proc/uptime", 64)?.toString() ?? "") * 1e3;
  const start2 = Number(identify(pid)?.start) * 10;
  return Date.now() - upMs + start2;
}
function endsWith(line, command) {
  const before = line.slice(0, -command.length);
  return command !== "" && line.endsWith(command) && /(^|[\s;&|(])$/.test(before);
}
function bare(command) {
  return command.replaceAll(/["'\\]/g, "").replaceAll(/\s+/g, " ").trim();
}
function workingDirectoryOf(pid) {
  try {
    return (0, import_node_fs7.readlinkSync)(`/proc/${pid}/cwd`);
  } catch {
    return void 0;
  }
}
function textOf(pid, name) {
  return readWhole(`/proc/${pid}/${name}`, limits3.processBytesMax)?.toString() ?? "";
}
var isProcThere;
function hasProc() {
  isProcThere ??= readWhole("/proc/self/stat", limits3.processBytesMax) !== void 0;
  return isProcThere;
}
function answersTo(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

// src/emitters/writer/store.ts
var import_node_fs8 = require("node:fs");
var import_node_path4 = require("node:path");
function keyOf({ host, sessionId }) {
  const plain2 = sessionId.replaceAll(/[^A-Za-z0-9._-]/g, "_").slice(0, limits3.nameLengthMax);
  return plain2 === sessionId ? `${host}-${plain2}` : `${host}-${plain2}=${sumOf(sessionId)}`;
}
function sumOf(text) {
  let sum = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text)) {
    sum = BigInt.asUintN(64, (sum ^ BigInt(byte)) * 0x100000001b3n);
  }
  return sum.toString(16).padStart(16, "0");
}
function keepSession({ sessions }, kept) {
  layDown(pathOf(sessions, keyOf(kept.session)), JSON.stringify({ format: 1, ...kept }));
}
function forgetSession({ sessions }, session) {
  removeFile2(pathOf(sessions, keyOf(session)));
}
function readSessions({ sessions }) {
  return wholeNamesIn(sessions).flatMap((name) => {
    const path = (0, import_node_path4.join)(sessions, name);
    const kept = readKept(readWhole(path, limits3.sessionBytesMax));
    if (!kept) removeFile2(path);
    return kept ? [kept] : [];
  });
}
function readKept(bytes) {
  const value = parse2(bytes);
  if (value?.["format"] !== 1) return void 0;
  const { session, host, terminals, statusDirectory: statusDirectory2, transcriptPath, isReplaced } = value;
  if (!isObject2(session) || typeof statusDirectory2 !== "string" || !isIdentity(host))
    return void 0;
  const { host: name, agentId, sessionId, pid, tmux, ...rest } = session;
  if (typeof name !== "string" || !isHostName(name) || typeof sessionId !== "string")
    return void 0;
  if (typeof agentId !== "string" || !isSafeAgentId(agentId)) return void 0;
  const lists = [rest["asking"], rest["calls"], rest["subagents"]];
  if (!lists.every((list) => list === void 0 || Array.isArray(list))) return void 0;
  const beginning = newSession(
    { host: name, agentId, sessionId, pid: host.pid, tmux: void 0 },
    0
  );
  return {
    // We wrote it, in this format; JSON has only left out what was undefined.
    session: {
      ...beginning,
      ...rest,
      ...isObject2(tmux) && { tmux }
    },
    host,
    terminals: Array.isArray(terminals) ? terminals.filter(isIdentity) : [],
    statusDirectory: statusDirectory2,
    transcriptPath: typeof transcriptPath === "string" ? transcriptPath : void 0,
    isReplaced: isReplaced === true
  };
}
function keepGoal({ goals }, session) {
  const path = pathOf(goals, keyOf(session));
  if (session.goal) layDown(path, JSON.stringify(session.goal));
  else removeFile2(path);
}
function findGoal({ goals }, session) {
  const path = pathOf(goals, keyOf(session));
  const { summary, atMs } = parse2(readWhole(path, limits3.sessionBytesMax)) ?? {};
  if (typeof summary !== "string" || summary === "" || typeof atMs !== "number") return void 0;
  return { summary, atMs };
}
function sweepGoals({ goals }, nowMs) {
  const found2 = wholeNamesIn(goals).map((name) => {
    const path = (0, import_node_path4.join)(goals, name);
    return { path, atMs: (0, import_node_fs8.statSync)(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs };
  });
  const newestFirst = found2.sort((one, other) => other.atMs - one.atMs);
  for (const [index, { path, atMs }] of newestFirst.entries()) {
    if (index >= limits3.goalsMax || nowMs - atMs > limits3.goalAgeMsMax) removeFile2(path);
  }
}
function pathOf(directory, key) {
  return (0, import_node_path4.join)(directory, `${key}.json`);
}
function parse2(bytes) {
  try {
    const value = bytes && JSON.parse(bytes.toString());
    return isObject2(value) ? value : void 0;
  } catch {
    return void 0;
  }
}
function isObject2(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function isIdentity(value) {
  return isObject2(value) && typeof value["pid"] === "number" && typeof value["start"] === "string";
}

// src/emitters/writer/traces.ts
var import_node_fs9 = require("node:fs");
var Traces = class {
  #seen;
  #report;
  #offset = 0;
  /** Undefined if there is no such file; then the transcript is all there is. */
  readReport(session, transcriptPath) {
    const { host, pid, sessionId } = session;
    if (host !== "claude-code" || pid === void 0) return void 0;
    const path = selfReportPath(transcriptPath, pid);
    const stats = path === void 0 ? void 0 : (0, import_node_fs9.statSync)(path, { throwIfNoEntry: false });
    if (path === void 0 || !stats) return void 0;
    const seen = `${sessionId} ${stats.mtimeMs} ${stats.size}`;
    if (seen !== this.#seen) {
      const text = readWhole(path, limits3.reportBytesMax)?.toString() ?? "";
      this.#report = readSelfReport(text, sessionId);
      this.#seen = this.#report ? seen : void 0;
    }
    return this.#report;
  }
  readTranscript({ host }, path) {
    const { size } = (0, import_node_fs9.statSync)(path, { throwIfNoEntry: false }) ?? { size: 0 };
    if (size < this.#offset) this.#offset = 0;
    const from = Math.max(this.#offset, size - limits3.transcriptBytesMax);
    if (size === from) return void 0;
    const { bytes } = readPart(path, from, limits3.transcriptBytesMax) ?? {};
    const end = bytes?.lastIndexOf("\n") ?? -1;
    if (!bytes || end < 0) return void 0;
    this.#offset = from + end + 1;
    return readTranscript(host, bytes.toString("utf8", 0, end).split("\n"));
  }
};

// src/emitters/writer/keeper.ts
var Keeper = class {
  #options;
  #held = /* @__PURE__ */ new Map();
  /** Files that are being removed, by the agent. */
  #leaving = /* @__PURE__ */ new Map();
  /** A look at who else writes. */
  #looking;
  constructor(options) {
    this.#options = options;
  }
  get isEmpty() {
    return this.#held.size === 0 && this.#leaving.size === 0;
  }
  /** Takes up what an earlier writer laid down. Sessions whose host died meanwhile end now. */
  adopt(nowMs) {
    const found2 = /* @__PURE__ */ new Map();
    for (const kept of readSessions(this.#options.places)) {
      try {
        const { statusDirectory: directory } = kept;
        const records = found2.get(directory) ?? recordsIn(directory);
        found2.set(directory, records);
        this.#takeUp(kept, records, nowMs);
      } catch {
        this.#held.delete(keyOf(kept.session));
        forgetSession(this.#options.places, kept.session);
      }
    }
  }
  hear(queued, nowMs) {
    const { host, event, atMs } = queued;
    const isStart = event.name === "SessionStart";
    const known = this.#held.get(keyOf({ host, sessionId: event.sessionId }));
    const kept = isStart ? this.#place(queued, known?.kept, nowMs) : known?.kept;
    if (!kept) return;
    const session = apply(kept.session, event, {
      atMs,
      nowMs,
      workspace: workspaceOf(queued),
      storedGoal: isStart ? findGoal(this.#options.places, kept.session) : void 0
    });
    if (!session) {
      if (known) this.#end(known);
      return;
    }
    if (!session.hasStarted) return;
    const held = known ?? this.#begin(kept, nowMs);
    if (event.name === "PermissionRequest")
      held.askedCommand = commandIn(event.members.get("tool_input"));
    const transcriptPath = textIn(event.members, "transcript_path") ?? kept.transcriptPath;
    if (isStart) this.#replaceOthers(kept);
    held.kept = { ...kept, transcriptPath };
    this.#change(held, session);
  }
  /** Whether the hosts live, what they show beside their events, and whether an ending was shown long enough. */
  look(nowMs) {
    for (const held of [...this.#held.values()]) {
      if (isOver(held.kept)) {
        this.#end(held);
        continue;
      }
      const session = settle(this.#witness(held, nowMs), nowMs);
      if (session !== held.kept.session) this.#change(held, session);
    }
  }
  beat(nowMs) {
    for (const held of this.#held.values()) this.#publish(held, beat(held.kept.session, nowMs));
    this.#looking ??= this.#lookForOthers(nowMs).finally(() => {
      this.#looking = void 0;
    });
  }
  /** Until all that was published is in its file. */
  async flush() {
    await this.#looking;
    await Promise.all([...this.#held.values()].map(({ file }) => file.flush()));
    await Promise.all(this.#leaving.values());
  }
  /** Where a session is that starts, or starts again: its process, and who looks at it. */
  #place(queued, known, nowMs) {
    const host = identify(queued.pid);
    if (!host) return known;
    if (known && isSame(known.host, host) && known.terminals.length === 0) {
      return { ...known, isReplaced: false };
    }
    const workspace = workspaceOf(queued);
    const terminals = isServer(host.pid) && workspace ? terminalsOf(host, workspace) : [];
    const [terminal] = terminals.length === 1 ? terminals : [];
    const tmux = tmuxAt(queued, terminal ?? host, isServer(host.pid));
    const pid = (terminal ?? host).pid;
    if (known)
      return {
        ...known,
        host,
        terminals,
        session: { ...known.session, pid, tmux },
        isReplaced: false
      };
    const agentId = `${queued.host}-${randomHex(16)}`;
    const beginning = { host: queued.host, agentId, sessionId: queued.event.sessionId, pid, tmux };
    return {
      session: newSession(beginning, nowMs),
      host,
      terminals,
      statusDirectory: this.#directoryOf(queued),
      transcriptPath: void 0,
      isReplaced: false
    };
  }
  #takeUp(kept, records, nowMs) {
    const held = this.#hold(kept, records, nowMs);
    sweepTemporaries(kept.statusDirectory, kept.session.agentId);
    if (isAlive(kept.host)) this.#publish(held, beat(kept.session, nowMs));
    else this.#end(held);
  }
  #begin(kept, nowMs) {
    const held = this.#hold(kept, recordsIn(kept.statusDirectory), nowMs);
    const [oldest] = this.#held.values();
    if (this.#held.size > limits3.sessionsMax && oldest) this.#end(oldest);
    return held;
  }
  #hold(kept, records, nowMs) {
    const held = {
      kept,
      file: new BackgroundFile(kept.statusDirectory, kept.session.agentId),
      traces: new Traces(),
      standsBack: false,
      askedCommand: void 0
    };
    this.#held.set(keyOf(kept.session), held);
    this.#giveWay(held, records, nowMs);
    return held;
  }
  /** In turns: a directory may be long, and a daemon has other things to do. */
  async #lookForOthers(nowMs) {
    const directories = [...this.#held.values()].map(({ kept }) => kept.statusDirectory);
    for (const directory of new Set(directories)) {
      const { files } = await readDirectoryInTurns(directory);
      const records = files.map(({ record }) => record);
      for (const held of this.#held.values()) {
        if (held.kept.statusDirectory === directory) this.#giveWay(held, records, nowMs);
      }
    }
  }
  /** AS-94: another emitter may come after us; and when it is gone, there is nobody else. */
  #giveWay(held, records, nowMs) {
    const { session } = held.kept;
    const { host: name, sessionId, agentId } = session;
    const told = { name, metaKey: metaKeys[name], session: sessionId };
    const isOurs = (id) => id === agentId || this.#leaving.has(id);
    const isTold = hasOtherEmitter(records, told, { nowMs, isOurs });
    if (isTold === held.standsBack) return;
    held.standsBack = isTold;
    if (isTold) held.file.remove();
    else this.#publish(held, session);
  }
  /** A process shows one session at a time. Not every host says that one has ended when it shows the next. */
  #replaceOthers({ session, host, terminals }) {
    for (const held of this.#held.values()) {
      const { kept } = held;
      if (kept.session.sessionId === session.sessionId || !isSame(kept.host, host)) continue;
      const isShownThere = isServer(host.pid) ? terminals.length === 1 && kept.session.pid === session.pid && kept.terminals.length === 1 : true;
      if (isShownThere) held.kept = { ...kept, isReplaced: true };
    }
  }
  #witness({ kept, traces, askedCommand }, nowMs) {
    const { session, transcriptPath: path, host } = kept;
    try {
      const report = path === void 0 ? void 0 : traces.readReport(session, path);
      if (report) return witness(session, report, nowMs);
      if (!isOpen(session)) return session;
      const isAllowed = askedCommand !== void 0 && session.asking.some(({ what }) => what === "permission") && isRunning(askedCommand, {
        ancestor: host.pid,
        sinceMs: session.turn?.sinceMs ?? session.heardAtMs
      });
      if (isAllowed) return witness(session, { kind: "is", status: "busy", sinceMs: nowMs }, nowMs);
      const told = path === void 0 ? void 0 : traces.readTranscript(session, path);
      return told ? witness(session, told, nowMs) : session;
    } catch {
      return session;
    }
  }
  #change(held, session) {
    const { places } = this.#options;
    const before = held.kept.session;
    held.kept = { ...held.kept, session };
    try {
      if (session.goal !== before.goal) keepGoal(places, session);
      keepSession(places, held.kept);
    } catch {
    }
    this.#publish(held, session);
  }
  #publish(held, session) {
    held.kept = { ...held.kept, session };
    const record = recordOf(session);
    if (record && !held.standsBack) held.file.publish(record);
  }
  #end(held) {
    const { session } = held.kept;
    const key = keyOf(session);
    this.#held.delete(key);
    held.file.remove();
    const leaving = held.file.flush().finally(() => {
      if (!this.#held.has(key)) forgetSession(this.#options.places, session);
      this.#leaving.delete(session.agentId);
    });
    this.#leaving.set(session.agentId, leaving);
  }
  /** AS-3: emitters make it absolute. */
  #directoryOf({ env, workingDirectory }) {
    const { AGENT_STATUS_DIR: own } = env;
    if (own === "") return this.#options.statusDirectory;
    try {
      return (0, import_node_path5.resolve)(workingDirectory, statusDirectory({ flag: own, env: {} }));
    } catch {
      return this.#options.statusDirectory;
    }
  }
};
function isOver({ session, host, terminals, isReplaced }) {
  if (!isAlive(host)) return true;
  if (isOpen(session)) return false;
  return isReplaced || terminals.length > 0 && !terminals.some(isAlive);
}
function tmuxAt({ env }, { pid }, isInServer) {
  return (isInServer ? void 0 : tmuxOf(env)) ?? tmuxOf(environmentOf(pid));
}
function workspaceOf({ event, workingDirectory }) {
  const cwd = textIn(event.members, "cwd");
  if (cwd === void 0) return void 0;
  const path = (0, import_node_path5.resolve)(workingDirectory, cwd);
  try {
    return (0, import_node_fs10.realpathSync)(path);
  } catch {
    return path;
  }
}
function commandIn(input) {
  if (typeof input !== "object" || input === null || !("command" in input)) return void 0;
  return typeof input.command === "string" && input.command !== "" ? input.command : void 0;
}

// src/emitters/writer/lock.ts
var import_node_fs11 = require("node:fs");
var Lock = class {
  #path;
  #line;
  constructor(path, kind) {
    this.#path = path;
    const { pid, start: start2 } = identify(process.pid) ?? { pid: process.pid, start: "" };
    this.#line = `${pid} ${start2 || "-"} ${kind}
`;
  }
  /** Whether it is ours now. Throws what the system says if the directory is not to be written to. */
  tryTake() {
    if (this.isOurs() || create(this.#path, this.#line)) {
      this.renew();
      return true;
    }
    if (this.holder()) return false;
    this.#bury();
    if (!create(this.#path, this.#line)) return false;
    this.renew();
    return true;
  }
  /** Who holds it and lives; undefined if nobody does. */
  holder() {
    return readHolder(this.#path);
  }
  isOurs() {
    return read(this.#path) === this.#line;
  }
  renew() {
    try {
      const untilS = (Date.now() + limits3.leaseMs) / 1e3;
      (0, import_node_fs11.utimesSync)(this.#path, untilS, untilS);
    } catch {
    }
  }
  release() {
    if (this.isOurs()) removeFile2(this.#path);
  }
  /** Takes the dead holder's file away, and puts it back should it not be his any more. */
  #bury() {
    const grave = `${this.#path}.${process.pid}.dead`;
    try {
      (0, import_node_fs11.renameSync)(this.#path, grave);
      if (readHolder(grave)) (0, import_node_fs11.linkSync)(grave, this.#path);
    } catch {
    }
    removeFile2(grave);
  }
};
function readHolder(path) {
  const [, pid, start2, kind] = /^(\d+) (\S+) (daemon|shared)\n$/.exec(read(path)) ?? [];
  if (pid === void 0 || start2 === void 0) return void 0;
  const identity = { pid: Number(pid), start: start2 === "-" ? "" : start2 };
  if (!isAlive(identity) || start2 === "-" && !isGood(path)) return void 0;
  return { ...identity, kind: kind === "daemon" ? "daemon" : "shared" };
}
function isGood(path) {
  return ((0, import_node_fs11.statSync)(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= Date.now();
}
function read(path) {
  return readWhole(path, limits3.headBytesMax)?.toString() ?? "";
}
function create(path, text) {
  const own = `${path}.${process.pid}`;
  try {
    (0, import_node_fs11.writeFileSync)(own, text, { mode: 384 });
    (0, import_node_fs11.linkSync)(own, path);
    return true;
  } catch (error) {
    const code = codeOf2(error);
    if (code === "EEXIST") return false;
    if (code === "ENOSPC" || code === "EDQUOT") throw error;
  } finally {
    removeFile2(own);
  }
  try {
    (0, import_node_fs11.writeFileSync)(path, text, { mode: 384, flag: "wx" });
    return true;
  } catch (error) {
    if (codeOf2(error) === "EEXIST") return false;
    throw error;
  }
}
function codeOf2(error) {
  return error instanceof Error && "code" in error ? error.code : void 0;
}

// src/emitters/writer/queue.ts
var import_node_fs12 = require("node:fs");
var import_node_path6 = require("node:path");
function drain(directory, hear) {
  for (const entry of entriesIn(directory)) {
    const bytes = readWhole(`${entry.path}.head`, limits3.headBytesMax);
    if (!bytes) remove(entry.path);
    const head = bytes?.toString().split("\0") ?? [];
    if (head.at(-2) !== ".") continue;
    const queued = readQueued(head, entry);
    try {
      if (queued) hear(queued);
    } finally {
      remove(entry.path);
    }
  }
}
function isEmpty(directory) {
  return !namesIn(directory).some((name) => name.endsWith(".head"));
}
function sweep(directory, nowMs) {
  for (const name of namesIn(directory)) {
    const path = (0, import_node_path6.join)(directory, name);
    const { mtimeMs = nowMs } = (0, import_node_fs12.statSync)(path, { throwIfNoEntry: false }) ?? {};
    if (nowMs - mtimeMs > limits3.unfinishedMs) removeFile2(path);
  }
}
function entriesIn(directory) {
  return namesIn(directory).filter((name) => name.endsWith(".head")).flatMap((name) => {
    const path = (0, import_node_path6.join)(directory, name.slice(0, -".head".length));
    const stats = (0, import_node_fs12.statSync)(`${path}.head`, { throwIfNoEntry: false });
    return stats ? [{ path, atMs: stats.mtimeMs, order: Number.parseInt(name, 10) }] : [];
  }).sort((one, other) => one.atMs - other.atMs || one.order - other.order).slice(0, limits3.queueFilesMax);
}
function readQueued(head, { path, atMs }) {
  const [version, name = "", pid, tmux, pane2, statusDirectory2, workingDirectory, ...plugin] = head;
  const event = version === "1" ? readEvent(partsOf(`${path}.body`)) : void 0;
  if (!event) return void 0;
  const [root, data, claudeRoot, claudeData] = plugin;
  const found2 = hostOf({
    PLUGIN_ROOT: root,
    PLUGIN_DATA: data,
    CLAUDE_PLUGIN_ROOT: claudeRoot,
    CLAUDE_PLUGIN_DATA: claudeData
  });
  return {
    host: isHostName(name) ? name : found2,
    event,
    atMs,
    pid: Number(pid),
    env: { TMUX: tmux ?? "", TMUX_PANE: pane2 ?? "", AGENT_STATUS_DIR: statusDirectory2 ?? "" },
    workingDirectory: workingDirectory || "/"
  };
}
function remove(path) {
  removeFile2(`${path}.body`);
  removeFile2(`${path}.head`);
}

// src/emitters/writer/writer.ts
async function runWriter(options) {
  const places = placesIn(options.stateDirectory);
  makePlaces(places);
  const lock = new Lock(places.lock, "shared");
  const { signal = new AbortController().signal } = options;
  while (!signal.aborted && lock.tryTake()) {
    removeFile2(places.starting);
    await holding(lock, async () => {
      var _stack = [];
      try {
        const work = __using(_stack, await Work.open(options, places, lock), true);
        await work.untilIdle(signal);
      } catch (_) {
        var _error = _, _hasError = true;
      } finally {
        var _promise = __callDispose(_stack, _error, _hasError);
        _promise && await _promise;
      }
    });
    sweep(places.queue, Date.now());
    if (isEmpty(places.queue)) return;
  }
}
async function holding(lock, work) {
  try {
    await work();
  } finally {
    lock.release();
  }
}
var Work = class _Work {
  #places;
  #lock;
  #keeper;
  #heart;
  #eyes;
  #idle;
  #watcher;
  #watched;
  #isAwake = false;
  /** Aborted when there has been no session for a while. */
  #ended = new AbortController();
  /** Aborted when the lock is lost. */
  #gone = new AbortController();
  constructor({ statusDirectory: statusDirectory2 }, places, lock) {
    this.#places = places;
    this.#lock = lock;
    this.#keeper = new Keeper({ places, statusDirectory: statusDirectory2 });
    this.#heart = setInterval(() => this.#beat(), limits.heartbeatMs);
  }
  static async open(options, places, lock) {
    const work = new _Work(options, places, lock);
    try {
      work.#begin();
      return work;
    } catch (cause) {
      await work[Symbol.asyncDispose]();
      throw cause;
    }
  }
  #begin() {
    this.#watch();
    this.#keeper.adopt(Date.now());
    this.#drain();
  }
  /** Until there has been no session for a while, the signal, or the loss of the lock. */
  async untilIdle(signal) {
    await aborted(AbortSignal.any([this.#ended.signal, this.#gone.signal, signal]));
  }
  async untilStopped(signal) {
    await aborted(AbortSignal.any([this.#gone.signal, signal]));
  }
  /** What is under way stays where the next writer finds it. */
  async [Symbol.asyncDispose]() {
    this.#watcher?.close();
    clearInterval(this.#heart);
    clearInterval(this.#eyes);
    clearTimeout(this.#idle);
    await this.#keeper.flush();
  }
  #watch() {
    const { queue } = this.#places;
    try {
      makePlaces(this.#places);
      const { ino } = (0, import_node_fs13.statSync)(queue);
      if (ino === this.#watched) return;
      this.#watcher?.close();
      this.#watcher = (0, import_node_fs13.watch)(queue, () => this.#wake());
      this.#watcher.on("error", () => {
        this.#watched = void 0;
      });
      this.#watched = ino;
    } catch {
      this.#watched = void 0;
    }
  }
  /** One look for all that happens in one turn of the loop. */
  #wake() {
    if (this.#isAwake) return;
    this.#isAwake = true;
    setImmediate(() => {
      this.#isAwake = false;
      this.#drain();
    });
  }
  #drain() {
    try {
      drain(this.#places.queue, (queued) => this.#keeper.hear(queued, Date.now()));
    } catch {
      this.#wake();
    }
    this.#rest();
  }
  #look() {
    this.#drain();
    try {
      this.#keeper.look(Date.now());
    } catch {
    }
    this.#rest();
  }
  #beat() {
    if (!this.#lock.isOurs()) {
      this.#gone.abort();
      return;
    }
    this.#lock.renew();
    this.#watch();
    this.#drain();
    try {
      const nowMs = Date.now();
      this.#keeper.beat(nowMs);
      sweep(this.#places.queue, nowMs);
      sweepGoals(this.#places, nowMs);
    } catch {
    }
  }
  /** The clock ticks only while somebody has to be looked at. */
  #rest() {
    const { isEmpty: isEmpty2 } = this.#keeper;
    if (isEmpty2) {
      clearInterval(this.#eyes);
      this.#eyes = void 0;
      this.#idle ??= setTimeout(() => this.#ended.abort(), limits3.lingerMs);
    } else {
      clearTimeout(this.#idle);
      this.#idle = void 0;
      this.#eyes ??= setInterval(() => this.#look(), limits3.lookMs);
    }
  }
};
async function aborted(signal) {
  if (signal.aborted) return;
  await new Promise((resolve3) => {
    signal.addEventListener("abort", () => resolve3(), { once: true });
  });
}

// src/cli/exits.ts
var exits = {
  ok: 0,
  /** Failure, or the answer is no. */
  no: 1,
  /** Usage error. */
  usage: 2,
  /** No daemon answers. */
  unreachable: 3,
  /** The log could not be written; everything acknowledged before is in it. */
  cannotWrite: 4,
  /** A fault of ours. */
  fault: 5,
  /** Told to stop by who started it, before it was done. */
  interrupted: 130
};

// src/cli/writer.ts
async function writer([stateDirectory]) {
  const stopped = new AbortController();
  process.on("SIGTERM", () => stopped.abort());
  for (const signal of ["SIGINT", "SIGHUP"]) process.on(signal, () => {
  });
  try {
    const { AGENT_STATUS_DIR: _own, ...env } = process.env;
    const home = (0, import_node_os2.homedir)();
    const options = {
      stateDirectory: (0, import_node_path7.resolve)(stateDirectory ?? emittersDirectory({ env, home })),
      // Each host says for itself where its file goes; this is for those that do not.
      statusDirectory: (0, import_node_path7.resolve)(statusDirectory({ env, home })),
      signal: stopped.signal
    };
    process.chdir("/");
    await runWriter(options);
  } catch {
  }
  return exits.ok;
}
// Annotate the CommonJS export names for ESM import in node:
0 && (module.exports = {
  writer
});
module.exports.writer(process.argv.slice(2));
