// @ts-check
/**
 * The dashboard. It loads one overview, then follows the log through one EventSource and folds every
 * event into the same rows. Events change the rows at once; the screen follows once per frame, and
 * once a second because time passes.
 *
 * Text that came from an agent reaches the document as text only: `textContent` and `title`.
 */

const rowsMax = 500;
const eventsMax = 300;
/** How many events from before it was opened the page shows. */
const historyMax = 100;
/** Where there are more rows than the page holds, totals are at most this old. */
const reloadMs = 5_000;
const retryMsMax = 5_000;
/** More than this while an overview is on its way, and it is better to begin anew. */
const missedMax = 20_000;
/** The strip of activity: so many bars of so many seconds. */
const barCount = 60;
const barMs = 2_000;

/** @typedef {Record<string, any>} Row */
/**
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: Row) => string} text
 * @property {string} [width] of the whole; what is left is shared by the others
 * @property {string} [look] classes of its cells
 * @property {(row: Row) => string} [hint] shown on pointing; the text itself if there is none
 * @property {(row: Row) => string} [mark] how the thing stands
 * @property {(row: Row) => number} [share] drawn as a bar, 0 to 1
 */

// ---------------------------------------------------------------- rows

class Section {
  /** @type {Map<string, Row>} */
  rows = new Map();
  total = 0;
  /** Whether these are all rows there are. If not, the totals come from the overview. */
  isComplete = true;

  /**
   * @param {object} parts
   * @param {string} parts.id
   * @param {string} parts.title
   * @param {string} parts.empty
   * @param {(row: Row) => string} parts.key
   * @param {(one: Row, other: Row) => number} parts.order
   * @param {(row: Row) => boolean} [parts.isOver]
   * @param {Column[]} parts.columns
   */
  constructor(parts) {
    this.parts = parts;
  }

  /** Rows are numbered as they come: of two that are alike in order, the later is shown first. */
  lastNumber = 0;

  /** @param {{ total: number, rows: Row[] }} list the newest first */
  load({ total, rows }) {
    this.rows = new Map();
    for (const row of rows.toReversed()) this.put(row);
    this.total = total;
    this.isComplete = rows.length >= total;
  }

  /** @param {Row} row */
  put(row) {
    const key = this.parts.key(row);
    this.rows.set(key, { ...row, number: this.rows.get(key)?.number ?? ++this.lastNumber });
    // Sorting is for when it pays: a fifth more than needed may wait.
    if (this.rows.size > rowsMax * 1.2) {
      this.rows = new Map(this.sorted().map((kept) => [this.parts.key(kept), kept]));
      this.isComplete = false;
    }
  }

  /** @param {string} key */
  delete(key) {
    this.rows.delete(key);
  }

  /** The rows to show. */
  sorted() {
    const { order } = this.parts;
    const rows = [...this.rows.values()];
    rows.sort((one, other) => order(one, other) || other.number - one.number);
    return rows.slice(0, rowsMax);
  }

  /** @param {(row: Row) => boolean} [wants] */
  count(wants) {
    if (!wants) return this.isComplete ? this.rows.size : this.total;
    let found = 0;
    for (const row of this.rows.values()) if (wants(row)) found += 1;
    return found;
  }
}

/** @type {(order: string[]) => (value: string) => number} */
const rankIn = (order) => (value) => order.indexOf(value);
const agentRank = rankIn(["unreachable", "alive", "dead"]);
const taskRank = rankIn(["dead", "claimed", "pending", "completed"]);

const agents = new Section({
  id: "agents",
  title: "Agents",
  empty: "No agents yet. Point an AgentKeeper SDK at localhost:7070.",
  key: (row) => row.id,
  order: (one, other) =>
    agentRank(one.liveness) - agentRank(other.liveness) ||
    (other.diedAtMs ?? other.registeredAtMs) - (one.diedAtMs ?? one.registeredAtMs),
  isOver: (row) => row.liveness === "dead",
  columns: [
    {
      title: "State",
      width: "11em",
      text: (row) => row.liveness,
      mark: (row) => (row.liveness === "unreachable" ? "alarm" : row.liveness),
    },
    {
      title: "Agent",
      width: "24%",
      look: "name",
      text: (row) => row.name || shortId(row.id),
      hint: (row) => [row.name, row.version, row.id, row.description].filter(Boolean).join("\n"),
    },
    { title: "Tools", look: "soft wide", text: (row) => row.tools.join(", ") },
    { title: "Holds", look: "soft", text: (row) => holdings.get(row.id)?.join(", ") ?? "" },
    {
      title: "Age",
      width: "5em",
      look: "soft number wide",
      text: (row) => duration((row.diedAtMs ?? now()) - row.registeredAtMs),
    },
    {
      title: "Last heard",
      width: "9em",
      text: (row) =>
        row.liveness === "alive" ? `within ${duration(row.ttlMs)}` : ago(row.lastHeartbeatAtMs),
      look: "soft number",
    },
  ],
});

const leases = new Section({
  id: "leases",
  title: "Leases",
  empty: "Nothing is held. An agent takes a lease, so that no other works on the same task.",
  key: (row) => row.taskId,
  order: (one, other) => other.acquiredAtMs - one.acquiredAtMs,
  columns: [
    { title: "Task", look: "name", text: (row) => row.taskId },
    { title: "Holder", text: (row) => nameOf(row.holder), hint: (row) => row.holder },
    { title: "Token", width: "12.3em", look: "soft number token wide", text: (row) => row.token },
    {
      title: "Time left",
      width: "28%",
      text: (row) => duration(row.expiresAtMs - now()),
      share: (row) => (row.expiresAtMs - now()) / row.ttlMs,
    },
  ],
});

const elections = new Section({
  id: "elections",
  title: "Elections",
  empty: "No groups yet. The first agent to campaign in a group leads it.",
  key: (row) => row.group,
  order: (one, other) => other.changedAtMs - one.changedAtMs,
  columns: [
    { title: "Group", look: "name", text: (row) => row.group },
    {
      title: "Leader",
      text: (row) => (row.leader ? nameOf(row.leader) : "nobody"),
      hint: (row) => row.leader ?? "",
    },
    { title: "Term", width: "4.5em", look: "number", text: (row) => row.term },
    {
      title: "Candidates",
      width: "7em",
      look: "soft number",
      text: (row) => number(row.candidateCount),
      hint: (row) => row.candidates.map(nameOf).join("\n"),
    },
    {
      title: "Since",
      width: "5.5em",
      look: "soft number",
      text: (row) => duration(now() - row.changedAtMs),
    },
  ],
});

const tasks = new Section({
  id: "tasks",
  title: "Tasks",
  empty: "No tasks. Create one, and the first agent with the right tools can claim it.",
  key: (row) => row.id,
  order: (one, other) =>
    taskRank(one.state) - taskRank(other.state) || other.createdAtMs - one.createdAtMs,
  isOver: (row) => row.state === "completed",
  columns: [
    {
      title: "State",
      width: "11em",
      text: (row) => row.state,
      mark: (row) => (row.state === "dead" ? "alarm" : row.state),
    },
    { title: "Type", width: "18%", look: "name", text: (row) => row.type },
    { title: "Task", width: "17%", look: "id wide", text: (row) => row.id },
    { title: "Agent", width: "16%", text: (row) => (row.claimant ? nameOf(row.claimant) : "") },
    { title: "Last failure", look: "soft wide", text: (row) => row.failureReason },
    {
      title: "Tries",
      width: "5em",
      look: "soft number",
      text: (row) => `${row.retryCount + (row.state === "pending" ? 0 : 1)}/${row.maxRetries + 1}`,
    },
    {
      title: "Age",
      width: "5.5em",
      look: "soft number",
      text: (row) => duration(now() - row.createdAtMs),
    },
  ],
});

const policies = new Section({
  id: "policies",
  title: "Policies",
  empty: "No policies, so every check is answered with no. Set one to allow something.",
  key: (row) => row.id,
  order: () => 0,
  columns: [
    { title: "Effect", width: "11em", text: (row) => row.effect, mark: (row) => row.effect },
    { title: "Subject", look: "name", text: (row) => row.subject },
    { title: "Action", text: (row) => row.action },
    { title: "Resource", text: (row) => row.resource },
    { title: "Policy", width: "20%", look: "id wide", text: (row) => row.id },
  ],
});

const sections = [agents, leases, elections, tasks, policies];

/** The overview as it was last loaded. @type {Row | undefined} */
let overview;
let sequence = 0;
/** What is added to the clock of this machine to read the times of that one. */
let clockOffsetMs = 0;
/** What each agent holds and leads. @type {Map<string, string[]>} */
let holdings = new Map();
/** The newest last. @type {Row[]} */
let events = [];
/** When the recent events happened, for the strip of activity. @type {Map<number, number>} */
const eventsPerBar = new Map();

/** @param {Row} loaded */
function loadOverview(loaded) {
  overview = loaded;
  sequence = loaded.sequence;
  clockOffsetMs = loaded.nowMs - Date.now();
  for (const section of sections) section.load(loaded[section.parts.id]);
  if (loaded.grpcAddress) {
    agents.parts.empty = `No agents yet. Point an AgentKeeper SDK at ${loaded.grpcAddress}.`;
  }
}

/** Folds one event into the rows. Each carries the whole record as it is after it. @param {Row} event */
function fold(event) {
  switch (event.type) {
    case "agent.registered":
    case "agent.unreachable":
    case "agent.recovered":
    case "agent.died": {
      const { card, ...agent } = event.agent;
      const { name, version, description, tools } = card;
      const { lastHeartbeatAtMs } = event;
      return agents.put({ ...agent, name, version, description, tools, lastHeartbeatAtMs });
    }
    case "agent.forgotten":
      return agents.delete(event.agentId);
    case "lease.acquired":
    case "lease.renewed":
      return leases.put(event.lease);
    case "lease.released":
    case "lease.expired":
      return leases.delete(event.lease.taskId);
    case "election.joined":
    case "election.left":
    case "leader.changed":
      return elections.put(foldElection(event));
    case "policy.changed":
      return policies.put(event.policy);
    case "policy.deleted":
      return policies.delete(event.policy.id);
    case "task.created":
    case "task.claimed":
    case "task.completed":
    case "task.failed":
    case "task.requeued":
    case "task.dead":
      return tasks.put(event.task);
    case "task.forgotten":
      return tasks.delete(event.taskId);
    case "plane.opened":
      // The daemon was started again: its version, or what it heard of agents, may have changed.
      return reloadSoon(0);
  }
}

/** @param {Row} event */
function foldElection(event) {
  const { group } = event;
  const before = elections.rows.get(group) ?? {
    group,
    term: "0",
    candidateCount: 0,
    candidates: [],
    changedAtMs: event.atMs,
  };
  switch (event.type) {
    case "election.joined":
      return {
        ...before,
        candidateCount: before.candidateCount + 1,
        candidates: [...before.candidates, event.agentId].slice(0, 20),
      };
    case "election.left":
      return {
        ...before,
        candidateCount: before.candidateCount - 1,
        candidates: before.candidates.filter((/** @type {string} */ id) => id !== event.agentId),
      };
    default:
      return { ...before, term: event.term, leader: event.leader, changedAtMs: event.changedAtMs };
  }
}

// ---------------------------------------------------------------- the connection

/** @type {EventSource | undefined} */
let source;
/** Events that came while an overview was on its way. @type {Row[] | undefined} */
let sinceReload;
let reloadTimer = 0;
let retryMs = 1_000;

/** Begins anew: an overview, then what happened since. */
async function start({ history = historyMax } = {}) {
  source?.close();
  source = undefined;
  window.clearTimeout(reloadTimer);
  reloadTimer = 0;
  sinceReload = undefined;
  try {
    loadOverview(await fetchOverview());
  } catch {
    return startAgainLater();
  }
  events = [];
  eventsPerBar.clear();
  drawSoon();
  follow(Math.max(0, sequence - history));
}

function startAgainLater() {
  source?.close();
  show("lost");
  window.setTimeout(start, retryMs);
  retryMs = Math.min(retryMs * 2, retryMsMax);
}

async function fetchOverview() {
  const response = await fetch("/api/v1/overview", { signal: AbortSignal.timeout(10_000) });
  if (!response.ok) throw new Error(`the overview was refused: ${response.status}`);
  return response.json();
}

/** @param {number} after */
function follow(after) {
  const stream = new EventSource(`/api/v1/events?after=${after}`);
  source = stream;
  stream.addEventListener("hello", (message) => {
    // After a restart in memory, the same address serves another log.
    if (JSON.parse(message.data).planeId !== overview?.planeId) return start();
    retryMs = 1_000;
    show("live");
  });
  // We asked for more than the log has, most likely for history.
  stream.addEventListener("reset", () => start({ history: 0 }));
  stream.addEventListener("message", (message) => receive(JSON.parse(message.data)));
  stream.addEventListener("error", () => {
    if (stream !== source) return;
    show("lost");
    // Otherwise the browser comes back by itself, and goes on where it was.
    if (stream.readyState === EventSource.CLOSED) startAgainLater();
  });
}

/** @param {Row} event */
function receive(event) {
  events.push(event);
  if (events.length > 2 * eventsMax) events = events.slice(-eventsMax);
  const bar = Math.floor(event.atMs / barMs);
  eventsPerBar.set(bar, (eventsPerBar.get(bar) ?? 0) + 1);
  if (eventsPerBar.size > 2 * barCount) forgetOldBars();
  if (sinceReload && sinceReload.push(event) > missedMax) return start();
  if (event.sequence > sequence) {
    sequence = event.sequence;
    fold(event);
    if (sections.some((section) => !section.isComplete)) reloadSoon(reloadMs);
  }
  drawSoon();
}

/** @param {number} afterMs */
function reloadSoon(afterMs) {
  reloadTimer ||= window.setTimeout(reload, afterMs);
}

/** Loads the overview again while events keep coming; those it does not cover are folded after it. */
async function reload() {
  const stream = source;
  /** @type {Row[]} */
  const missed = [];
  sinceReload = missed;
  try {
    const loaded = await fetchOverview();
    if (stream !== source) return;
    loadOverview(loaded);
    for (const event of missed) {
      if (event.sequence <= sequence) continue;
      sequence = event.sequence;
      if (event.type !== "plane.opened") fold(event);
    }
  } catch {
    // The stream notices a lost connection by itself.
  } finally {
    if (stream === source) {
      sinceReload = undefined;
      reloadTimer = 0;
      drawSoon();
    }
  }
}

// ---------------------------------------------------------------- the screen

let isDrawing = false;

function drawSoon() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    draw();
  });
}

function draw() {
  if (!overview) return;
  holdings = whoHoldsWhat();
  for (const section of sections) drawSection(section);
  drawTotals();
  drawNeeds();
  drawEvents();
  drawActivity();
  const { version, startedAtMs, isKept, dataDirectory } = overview;
  setText(find("#version"), version);
  const kept = isKept ? (dataDirectory ?? "kept") : "in memory, gone when it stops";
  const parts = [`sequence ${number(sequence)}`, `up ${duration(now() - startedAtMs)}`, kept];
  setText(find("#where"), parts.join("  ·  "));
}

function whoHoldsWhat() {
  /** @type {Map<string, string[]>} */
  const held = new Map();
  const add = (/** @type {string} */ agent, /** @type {string} */ thing) => {
    const things = held.get(agent);
    if (things) things.push(thing);
    else held.set(agent, [thing]);
  };
  for (const row of elections.rows.values()) if (row.leader) add(row.leader, `leads ${row.group}`);
  for (const row of leases.rows.values()) add(row.holder, row.taskId);
  return held;
}

/** The elements of a section, made once. @type {Map<Section, { body: Element, scroll: HTMLElement, empty: HTMLElement, title: Element }>} */
const tables = new Map();
/** The row of a table that shows a row of a section, by its key. @type {Map<Section, Map<string, HTMLTableRowElement>>} */
const shown = new Map();

for (const section of sections) {
  const { id, title, columns } = section.parts;
  const table = make("table");
  const head = make("tr");
  for (const { title, width, look } of columns) {
    const cell = make(
      "th",
      look
        ?.split(" ")
        .filter((name) => name === "number" || name === "wide")
        .join(" "),
      title,
    );
    cell.setAttribute("scope", "col");
    if (width) cell.style.width = width;
    head.append(cell);
  }
  const header = make("thead");
  header.append(head);
  const body = make("tbody");
  table.append(header, body);
  const scroll = make("div", "scroll");
  scroll.append(table);
  const heading = make("h2", "", title);
  const count = make("small");
  heading.append(count);
  const empty = make("p", "empty");
  find(`#${id}`).append(heading, empty, scroll);
  tables.set(section, { body, scroll, empty, title: count });
  shown.set(section, new Map());
}

/** @param {Section} section */
function drawSection(section) {
  const frame = tables.get(section);
  const before = shown.get(section);
  if (!frame || !before) return;
  const rows = section.sorted();
  const { key, columns, isOver, empty } = section.parts;

  const after = new Map();
  let place = frame.body.firstElementChild;
  for (const row of rows) {
    const line = before.get(key(row)) ?? makeLine(columns);
    after.set(key(row), line);
    drawLine(line, row, columns);
    line.classList.toggle("over", isOver?.(row) ?? false);
    if (line === place) place = place.nextElementSibling;
    else frame.body.insertBefore(line, place);
  }
  for (const [name, line] of before) if (!after.has(name)) line.remove();
  shown.set(section, after);

  setText(frame.empty, empty);
  frame.empty.hidden = rows.length > 0;
  frame.scroll.hidden = rows.length === 0;
  const total = section.count();
  const isCut = total > rows.length;
  setText(
    frame.title,
    isCut ? `first ${number(rows.length)} of ${number(total)}` : total > 0 ? number(total) : "",
  );
}

/** @param {Column[]} columns */
function makeLine(columns) {
  const line = make("tr");
  for (const { look, share } of columns) {
    const cell = make("td", look);
    if (share) {
      const bar = make("span", "bar");
      bar.append(make("i", "fill"));
      cell.append(bar);
    }
    cell.append("");
    line.append(cell);
  }
  return line;
}

/** Only what differs is written: a screen that stands still costs nothing. */
/** @param {HTMLTableRowElement} line @param {Row} row @param {Column[]} columns */
function drawLine(line, row, columns) {
  columns.forEach((column, index) => {
    const cell = /** @type {HTMLElement} */ (line.children[index]);
    const text = column.text(row);
    const hint = column.hint ? column.hint(row) : text;
    if (cell.lastChild && cell.lastChild.textContent !== text) cell.lastChild.textContent = text;
    if (cell.title !== hint) cell.title = hint;
    const mark = column.mark?.(row);
    if (mark !== undefined && cell.dataset.mark !== mark) cell.dataset.mark = mark;
    if (column.share) {
      const share = Math.min(1, Math.max(0, column.share(row)));
      const bar = /** @type {HTMLElement} */ (cell.firstElementChild?.firstElementChild);
      bar.style.transform = `scaleX(${share.toFixed(3)})`;
    }
  });
}

function drawTotals() {
  const counts = overview?.counts;
  const live = (/** @type {string} */ state) =>
    agents.isComplete ? agents.count((row) => row.liveness === state) : counts.agents[state];
  const work = (/** @type {string} */ state) =>
    tasks.isComplete ? tasks.count((row) => row.state === state) : counts.tasks[state];
  const totals = [
    ["agents alive", live("alive")],
    ["agents unreachable", live("unreachable"), "alarm"],
    ["leases held", leases.count()],
    ["groups", elections.count()],
    ["policies", policies.count()],
    ["tasks pending", work("pending")],
    ["tasks claimed", work("claimed")],
    ["tasks completed", work("completed")],
    ["tasks dead", work("dead"), "alarm"],
  ];
  const list = find("#totals");
  totals.forEach(([label, value, alarm], index) => {
    const tile = list.children[index] ?? list.appendChild(makeTile(label));
    setText(tile.children[1], number(value));
    tile.className = value === 0 ? "none" : (alarm ?? "");
  });
}

/** @param {string} label */
function makeTile(label) {
  const tile = make("div");
  tile.append(make("dt", "", label), make("dd"));
  return tile;
}

/** What a person should look at: agents nobody hears, and tasks nobody will try again. */
function drawNeeds() {
  const lost = agents.sorted().filter((row) => row.liveness === "unreachable");
  const given = tasks.sorted().filter((row) => row.state === "dead");
  const lines = [
    ...lost.map((row) => {
      const held = holdings.get(row.id);
      const holding = held
        ? `; it still holds ${held.length === 1 ? held[0] : `${held.length} things`}`
        : "";
      return `${nameOf(row.id)} was last heard ${ago(row.lastHeartbeatAtMs)}${holding}`;
    }),
    ...given.map(
      (row) =>
        `task ${row.type || shortId(row.id)} was given up: ${row.failureReason || "no reason given"}`,
    ),
  ];
  const section = find("#needs");
  section.hidden = lines.length === 0;
  const few =
    lines.length > 5 ? [...lines.slice(0, 4), `and ${number(lines.length - 4)} more`] : lines;
  const list = /** @type {Element} */ (section.querySelector("ul"));
  while (list.children.length > few.length) list.lastElementChild?.remove();
  few.forEach((line, index) => {
    setText(list.children[index] ?? list.appendChild(make("li")), line);
  });
  document.title = lines.length > 0 ? `(${lines.length}) Tipstaff` : "Tipstaff";
}

/** The last event on the screen. @type {Row | undefined} */
let lastDrawn;
let isPointedAt = false;

/** Nothing moves under the pointer: while it is over the list, new events wait. */
function drawEvents() {
  const from = lastDrawn ? events.indexOf(lastDrawn) + 1 : 0;
  const fresh = events.slice(Math.max(from, events.length - eventsMax));
  setText(find("#held"), isPointedAt && fresh.length > 0 ? `${number(fresh.length)} new` : "");
  find("#events .empty").hidden = events.length > 0;
  if (isPointedAt) return;
  const list = find("#events ol");
  if (from === 0) list.replaceChildren();
  list.prepend(...fresh.map(makeEvent).reverse());
  while (list.children.length > eventsMax) list.lastElementChild?.remove();
  lastDrawn = events.at(-1);
}

/** @param {Row} event */
function makeEvent(event) {
  const isAlarm = event.type === "agent.unreachable" || event.type === "task.dead";
  const line = make("li", isAlarm ? "event alarm" : "event");
  const time = make("time", "", new Date(event.atMs - clockOffsetMs).toTimeString().slice(0, 8));
  const text = make("span");
  text.append(...sentence(event));
  line.append(time, text);
  line.title = `${text.textContent}\n#${event.sequence}  ${event.type}  by ${event.actor}`;
  return line;
}

/** What happened, as a person would say it. @param {Row} event @returns {(string | Node)[]} */
function sentence(event) {
  const { agent, lease, task, policy, group } = event;
  const who = agent && (agent.card.name || shortId(agent.id));
  const what = task && (task.type || shortId(task.id));
  const rule = policy && `${policy.effect} ${policy.subject} ${policy.action} ${policy.resource}`;
  switch (event.type) {
    case "agent.registered":
      return say`${who} registered`;
    case "agent.unreachable":
      return say`${who} is unreachable`;
    case "agent.recovered":
      return say`${who} is back`;
    case "agent.died":
      return say`${who} died`;
    case "lease.acquired":
      return say`${nameOf(lease.holder)} took ${lease.taskId}`;
    case "lease.renewed":
      return say`${nameOf(lease.holder)} keeps ${lease.taskId}`;
    case "lease.released":
      return say`${nameOf(lease.holder)} released ${lease.taskId}`;
    case "lease.expired":
      return say`${lease.taskId} expired for ${nameOf(lease.holder)}`;
    case "election.joined":
      return say`${nameOf(event.agentId)} campaigns in ${group}`;
    case "election.left":
      return say`${nameOf(event.agentId)} left ${group}`;
    case "leader.changed":
      return event.leader
        ? say`${nameOf(event.leader)} leads ${group}`
        : say`${group} has no leader`;
    case "policy.changed":
      return say`policy: ${rule}`;
    case "policy.deleted":
      return say`no longer: ${rule}`;
    case "task.created":
      return say`task ${what} created`;
    case "task.claimed":
      return say`${nameOf(task.claimant)} claimed ${what}`;
    case "task.completed":
      return say`${nameOf(task.claimant)} completed ${what}`;
    case "task.failed":
      return say`task ${what} failed, will be tried again`;
    case "task.requeued":
      return say`task ${what} is pending again`;
    case "task.dead":
      return say`task ${what} failed for good`;
    case "plane.opened":
      return say`the daemon started`;
    case "plane.resumed":
      return say`the daemon was asleep and is back`;
    default:
      return [event.type];
  }
}

/** A sentence whose values stand out. @param {TemplateStringsArray} words @param {string[]} values */
function say(words, ...values) {
  return words.flatMap((word, index) =>
    index < values.length ? [word, make("b", "", values[index])] : [word],
  );
}

function drawActivity() {
  const last = Math.floor(now() / barMs);
  const first = last - barCount + 1;
  forgetOldBars();
  const counts = Array.from(
    { length: barCount },
    (_, index) => eventsPerBar.get(first + index) ?? 0,
  );
  const most = Math.max(8, ...counts);
  const strip = find("#activity");
  counts.forEach((count, index) => {
    const bar = /** @type {HTMLElement} */ (
      strip.children[index] ?? strip.appendChild(make("i", "beat"))
    );
    bar.style.transform = `scaleY(${(count / most).toFixed(3)})`;
  });
  const inLastMinute = counts.slice(-60_000 / barMs).reduce((sum, count) => sum + count, 0);
  setText(find("#pace"), `${number(inLastMinute)} ${inLastMinute === 1 ? "event" : "events"}/min`);
}

function forgetOldBars() {
  const first = Math.floor(now() / barMs) - barCount + 1;
  for (const bar of eventsPerBar.keys()) if (bar < first) eventsPerBar.delete(bar);
}

/** @param {"live" | "lost"} state */
function show(state) {
  const element = find("#connection");
  element.dataset.state = state;
  setText(element, state === "live" ? "live" : "connection lost, retrying");
}

// ---------------------------------------------------------------- words and elements

function now() {
  return Date.now() + clockOffsetMs;
}

/** @param {number} ms */
function duration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 100) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** @param {number} atMs */
function ago(atMs) {
  return `${duration(now() - atMs)} ago`;
}

/** @param {string} id */
function nameOf(id) {
  return agents.rows.get(id)?.name || shortId(id);
}

/** @param {string} id */
function shortId(id) {
  return id.length > 12 ? id.slice(0, 8) : id;
}

/** @param {number | bigint} value */
function number(value) {
  return value.toLocaleString("en").replaceAll(",", "\u202f");
}

/** @param {string} selector @returns {HTMLElement} */
function find(selector) {
  const element = document.querySelector(selector);
  if (!(element instanceof HTMLElement)) throw new Error(`the page has no ${selector}`);
  return element;
}

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name @param {string} [look] @param {string} [text]
 */
function make(name, look = "", text = "") {
  const element = document.createElement(name);
  if (look) element.className = look;
  if (text) element.textContent = text;
  return element;
}

/** @param {Element} element @param {string} text */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const list = find("#events ol");
list.addEventListener("pointerenter", () => {
  isPointedAt = true;
});
list.addEventListener("pointerleave", () => {
  isPointedAt = false;
  drawSoon();
});

window.setInterval(drawSoon, 1_000);
await start();
