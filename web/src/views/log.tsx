/** Every event, newest first, from wherever one likes. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { call, type Entry } from "../api.ts";
import { ofTypes, useAnswer } from "../ask.ts";
import { now } from "../clock.ts";
import { limits } from "../limits.ts";
import { epoch, listen, overview } from "../live.ts";
import { CopyButton } from "../parts/act.tsx";
import { Sentence } from "../parts/event.tsx";
import { Choices, Empty, SearchField } from "../parts/field.tsx";
import { EventIcon } from "../parts/icon.tsx";
import { Panel } from "../parts/panel.tsx";
import { Ago } from "../parts/time.tsx";
import { Refresh } from "../refresh.ts";
import { entryAddress, navigate, route, withQuery } from "../route.ts";
import { exactTime, number } from "../words/time.ts";

const kinds = [
  { name: "all", title: "all", types: [] },
  { name: "agents", title: "agents", types: ["agent."] },
  { name: "leases", title: "leases", types: ["lease."] },
  { name: "elections", title: "elections", types: ["leader.", "election."] },
  { name: "policies", title: "policies", types: ["policy."] },
  { name: "tasks", title: "tasks", types: ["task."] },
  { name: "jobs", title: "jobs", types: ["job."] },
] as const;

type Kind = (typeof kinds)[number]["name"];

export function LogView(): JSX.Element {
  const { query, rest } = route.value;
  const words = query.get("query") ?? "";
  const kind = kinds.find(({ name }) => name === query.get("kind")) ?? kinds[0];
  const at = Number.parseInt(query.get("at") ?? "", 10);
  const opened = Number.parseInt(rest, 10);
  const asked = {
    ...(words === "" ? {} : { query: words }),
    ...(kind.types.length > 0 ? { type: kind.types } : {}),
    ...(Number.isNaN(at) ? {} : { before: at + 1 }),
  };
  const change = (changes: Readonly<Record<string, string>>): void =>
    navigate(withQuery(changes), { isReplacing: true });
  return (
    <main class="list-view">
      <h1 class="unseen">Log</h1>
      <div class="list">
        <div class="toolbar">
          <SearchField
            value={words}
            label="Filter events"
            onSearch={(text) => change({ query: text })}
          />
          <Choices<Kind>
            label="Kind"
            chosen={kind.name}
            onChoose={(name) => change({ kind: name === "all" ? "" : name })}
            choices={kinds}
          />
          <form
            class="go-to"
            onSubmit={(event) => {
              event.preventDefault();
              const sequence = new FormData(event.currentTarget).get("sequence");
              change({ at: String(sequence ?? "").replaceAll(/\D/g, "") });
            }}
          >
            <label>
              <span>Go to</span>
              <input
                name="sequence"
                inputMode="numeric"
                autocomplete="off"
                aria-label="Go to a sequence"
                placeholder={overview.value ? `1 to ${overview.value.sequence}` : "sequence"}
                defaultValue={Number.isNaN(at) ? "" : String(at)}
              />
            </label>
          </form>
          {!Number.isNaN(at) && (
            <button type="button" onClick={() => change({ at: "" })}>
              Back to the newest
            </button>
          )}
        </div>
        <Entries
          key={JSON.stringify(asked)}
          asked={asked}
          isLive={Number.isNaN(at)}
          opened={opened}
          isNarrowed={words !== "" || kind.name !== "all"}
        />
      </div>
      {!Number.isNaN(opened) && <EntryPanel key={opened} sequence={opened} />}
    </main>
  );
}

type AskedEntries = {
  readonly query?: string;
  readonly type?: readonly string[];
  readonly before?: number;
};

const pageSize = 100;

function Entries({
  asked,
  isLive,
  opened,
  isNarrowed,
}: {
  readonly asked: AskedEntries;
  readonly isLive: boolean;
  readonly opened: number;
  readonly isNarrowed: boolean;
}): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  const isPointedAt = useRef(false);
  const rows = useSignal<readonly Entry[] | undefined>(undefined);
  /** Newer ones, not shown yet. */
  const waiting = useSignal<readonly Entry[]>([]);
  const next = useSignal<number | undefined>(undefined);
  const problem = useSignal("");
  const isHeld = (): boolean => isPointedAt.current || (list.current?.scrollTop ?? 0) > 8;

  const show = (): void => {
    if (waiting.value.length === 0) return;
    const all = [...waiting.value, ...(rows.value ?? [])];
    rows.value = all.slice(0, limits.rowsHeldMax);
    if (all.length > limits.rowsHeldMax) next.value = rows.value.at(-1)?.sequence;
    waiting.value = [];
  };
  const refresh = useMemo(
    () =>
      new Refresh(async () => {
        try {
          const page = await call("listEntries", { ...asked, limit: pageSize });
          problem.value = "";
          const newest = waiting.value[0]?.sequence ?? rows.value?.[0]?.sequence ?? 0;
          const fresh = page.rows.filter(({ sequence }) => sequence > newest);
          const hasGap = fresh.length === page.rows.length && page.next !== undefined;
          if (rows.value === undefined || page.sequence < newest || (hasGap && !isHeld())) {
            // The first look, another log, or more than a page was missed: begin anew.
            rows.value = page.rows;
            next.value = page.next;
            waiting.value = [];
            return;
          }
          waiting.value = [...fresh, ...waiting.value].slice(0, limits.rowsHeldMax);
          if (!isHeld()) show();
        } catch (fault) {
          if (rows.value === undefined && fault instanceof Error) problem.value = fault.message;
        }
      }),
    [],
  );
  useEffect(() => {
    refresh.request();
    const concerns = asked.type ? ofTypes(...asked.type) : () => true;
    const stopListening = listen((entries) => {
      if (isLive && entries.some(concerns)) refresh.request();
    });
    const stopEpoch = epoch.subscribe(() => refresh.request());
    return () => {
      stopListening();
      stopEpoch();
      refresh.close();
    };
  }, []);
  const older = async (): Promise<void> => {
    const before = next.value;
    if (before === undefined) return;
    try {
      const page = await call("listEntries", { ...asked, before, limit: pageSize });
      // Somebody who is quick has asked twice, and has these already.
      if (next.value !== before) return;
      const all = [...(rows.value ?? []), ...page.rows];
      // The newest make room: going further back has an end in memory, not in the log.
      rows.value = all.slice(-limits.rowsHeldMax);
      next.value = page.next;
    } catch (fault) {
      if (fault instanceof Error) problem.value = fault.message;
    }
  };
  const letGo = (): void => {
    if (!isHeld()) show();
  };
  return (
    <div
      ref={list}
      class="scroller"
      onScroll={letGo}
      onPointerEnter={() => {
        isPointedAt.current = true;
      }}
      onPointerLeave={() => {
        isPointedAt.current = false;
        letGo();
      }}
    >
      {waiting.value.length > 0 && (
        <button
          type="button"
          class="more floating"
          onClick={() => {
            show();
            list.current?.scrollTo({ top: 0 });
          }}
        >
          {number(waiting.value.length)} new
        </button>
      )}
      {problem.value !== "" && <Empty>{problem}</Empty>}
      {rows.value?.length === 0 && (
        <Empty>
          {isNarrowed
            ? "No event matches. Words are looked for in everything that an event says."
            : "Nothing has happened yet."}
        </Empty>
      )}
      <ol class="log-rows" aria-label="Events">
        {rows.value?.map((entry) => (
          <li key={entry.sequence} aria-current={entry.sequence === opened ? "true" : undefined}>
            <a class="sequence" href={withQuery({}, entryAddress(entry.sequence))} data-row>
              {entry.sequence}
            </a>
            <time dateTime={new Date(entry.atMs).toISOString()}>
              {exactTime(entry.atMs, now.peek())}
            </time>
            <EventIcon entry={entry} />
            <Sentence entry={entry} />
            <code class="type">{entry.type}</code>
          </li>
        ))}
      </ol>
      {rows.value !== undefined && rows.value.length > 0 && (
        <p class="end">
          {next.value === undefined ? (
            <span class="soft">This is where the log begins.</span>
          ) : (
            <button
              type="button"
              onClick={() => {
                void older();
              }}
            >
              Load older
            </button>
          )}{" "}
          <CopyButton
            label={`copy these ${number(rows.value.length)} as JSON`}
            text={() => JSON.stringify(rows.value, null, 2)}
          />
        </p>
      )}
    </div>
  );
}

function EntryPanel({ sequence }: { readonly sequence: number }): JSX.Element {
  const { value, problem } = useAnswer("listEntries", { before: sequence + 1, limit: 1 });
  const entry = value?.rows.find((one) => one.sequence === sequence);
  return (
    <Panel kind="event" title={String(sequence)} closeAddress={withQuery({}, "/log")}>
      {problem && <Empty>{problem.message}</Empty>}
      {value && !entry && <Empty>The log has no entry {sequence}.</Empty>}
      {entry && (
        <>
          <p class="standing">
            <Sentence entry={entry} />
          </p>
          <p class="soft">
            {exactTime(entry.atMs, now.peek())}, <Ago atMs={entry.atMs} />
          </p>
          <div class="content-bar">
            <CopyButton label="copy as JSON" text={() => JSON.stringify(entry, null, 2)} />
            <a href={`/log?at=${sequence}`}>show the log from here</a>
          </div>
          <pre class="content">
            <bdi>{JSON.stringify(entry, null, 2)}</bdi>
          </pre>
        </>
      )}
    </Panel>
  );
}
