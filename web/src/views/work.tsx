/** Jobs: what runs, how far it is, and what it has cost. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { call, type Job, type JobSort, type JobState } from "../api.ts";
import { ofTypes } from "../ask.ts";
import { now } from "../clock.ts";
import { limits } from "../limits.ts";
import { overview } from "../live.ts";
import { jobName, learnName, shortId } from "../names.ts";
import { Choices, SearchField, Select } from "../parts/field.tsx";
import { Progress, spentBy } from "../parts/gauge.tsx";
import { Said } from "../parts/said.tsx";
import { Dot, jobStanding, jobWords, StateWord } from "../parts/standing.tsx";
import { type Column, Found, RowTable } from "../parts/table.tsx";
import { Ago } from "../parts/time.tsx";
import { jobAddress, navigate, route, withQuery } from "../route.ts";
import { useRows } from "../rows.ts";
import { whyItWaits } from "../words/job.ts";
import { duration } from "../words/time.ts";
import { JobPanel } from "./job-panel.tsx";
import { WorkTabs } from "./work-tabs.tsx";

const sorts: readonly (readonly [JobSort, string])[] = [
  ["attention", "what runs first"],
  ["newest", "newest first"],
  ["oldest", "oldest first"],
];
const states: readonly JobState[] = [
  "waiting",
  "running",
  "pending",
  "error",
  "timed_out",
  "cancelled",
  "success",
];

export function WorkView(): JSX.Element {
  const { query, rest: openId } = route.value;
  const words = query.get("query") ?? "";
  const agent = query.get("agent") ?? "";
  const principal = query.get("principal") ?? "";
  const sort = sorts.find(([name]) => name === query.get("sort"))?.[0] ?? "attention";
  const state = states.find((one) => one === query.get("state"));
  const counts = useSignal<Readonly<Record<JobState, number>> | undefined>(undefined);
  const asked = {
    sort,
    ...(words === "" ? {} : { query: words }),
    ...(agent === "" ? {} : { agent }),
    ...(principal === "" ? {} : { principal }),
    ...(state === undefined ? {} : { state: [state] }),
  };
  const rows = useRows<Job>(JSON.stringify(asked), {
    fetch: async (range, signal) => {
      const page = await call("listJobs", { ...asked, ...range }, { signal });
      counts.value = page.counts;
      for (const job of page.rows) learnName(job.id, job.agent);
      return page;
    },
    keyOf: ({ id }) => id,
    freshness: { concerns: ofTypes("job."), everyMs: limits.workEveryMs },
  });
  rows.revision.value;
  const change = (changes: Readonly<Record<string, string>>): void =>
    navigate(withQuery(changes), { isReplacing: true });
  const isNarrowed = words !== "" || agent !== "" || principal !== "" || state !== undefined;
  const known = counts.value ?? overview.value?.counts.jobs;
  return (
    <main class="list-view work-view">
      <h1 class="unseen">Work</h1>
      <div class="list">
        <div class="toolbar">
          <WorkTabs />
          <SearchField
            value={words}
            label="Search jobs"
            onSearch={(text) => change({ query: text })}
          />
          <Choices
            label="State"
            chosen={state ?? "all"}
            onChoose={(name) => change({ state: name === "all" ? "" : name })}
            choices={[
              { name: "all", title: "all" },
              ...states.map((name) => ({ name, title: jobWords[name], count: known?.[name] })),
            ]}
          />
          <Select
            label="Sort"
            options={sorts}
            value={sort}
            onChange={(name) => change({ sort: name === "attention" ? "" : name })}
          />
          <Narrowing name="agent" value={agent} onClear={() => change({ agent: "" })} />
          <Narrowing name="asked by" value={principal} onClear={() => change({ principal: "" })} />
          <Found rows={rows} isNarrowed={isNarrowed} />
        </div>
        <RowTable
          label="Jobs"
          look="jobs"
          rows={rows}
          columns={columns}
          keyOf={({ id }) => id}
          isOpen={({ id }) => id === openId}
          isOver={({ state: now }) => now === "success" || now === "cancelled"}
          empty={isNarrowed ? <p>No job matches.</p> : <NoJobs />}
        />
      </div>
      {openId !== "" && <JobPanel key={openId} id={openId} />}
    </main>
  );
}

function NoJobs(): JSX.Element {
  return (
    <>
      <p>
        No jobs yet. A job is work that an agent is asked for: it reports as it goes, may do and
        spend only what it was granted, and can be cancelled here.
      </p>
      <pre class="content">
        tipstaff job submit echo '{"{"}"text": "hello"{"}"}'
      </pre>
    </>
  );
}

function Narrowing({
  name,
  value,
  onClear,
}: {
  readonly name: string;
  readonly value: string;
  readonly onClear: () => void;
}): JSX.Element | null {
  if (value === "") return null;
  return (
    <button type="button" class="chip" title="show all again" onClick={onClear}>
      {name} <Said text={value} lengthMax={40} /> ×
    </button>
  );
}

const columns: readonly Column<Job>[] = [
  {
    title: "Job",
    look: "job",
    cell: (job) => (
      <>
        <Indent job={job} />
        <Dot standing={jobStanding(job)} />
        <a class="name" href={withQuery({ part: "", kind: "" }, jobAddress(job.id))} data-row>
          <Said text={job.agent} lengthMax={60} />
        </a>{" "}
        <code class="soft" title={job.id}>
          {shortId(job.id)}
        </code>
      </>
    ),
  },
  { title: "State", look: "state", cell: (job) => <JobStateWord job={job} /> },
  { title: "Doing", look: "doing", cell: (job) => <WhatItDoes job={job} /> },
  {
    title: "Progress",
    look: "progress-cell",
    cell: ({ progress }) => progress && <Progress progress={progress} />,
  },
  {
    title: "Spent",
    look: "spent-cell",
    cell: (job) => spentBy(job)[0]?.[1],
  },
  { title: "Asked by", look: "for", cell: (job) => <AskedBy job={job} /> },
  {
    title: "Time",
    look: "age",
    cell: (job) =>
      job.endedAtMs === undefined ? (
        <Ago atMs={job.startedAtMs ?? job.createdAtMs} form="for" />
      ) : (
        <span title="from asked for to ended">{duration(job.endedAtMs - job.createdAtMs)}</span>
      ),
  },
];

/** What has not ended stands below the job that asked for it. */
function Indent({ job }: { readonly job: Job }): JSX.Element | null {
  const isBelow = job.depth > 0 && job.endedAtMs === undefined && !route.value.query.has("sort");
  return isBelow ? <span class="indent" style={{ width: `${job.depth * 14}px` }} /> : null;
}

export function JobStateWord({ job }: { readonly job: Job }): JSX.Element {
  const standing = jobStanding(job);
  return (
    <StateWord standing={standing}>
      {standing.kind === "job" && jobWords[standing.state]}
      {job.attempt > 1 && <span class="soft"> · try {job.attempt}</span>}
    </StateWord>
  );
}

function WhatItDoes({ job }: { readonly job: Job }): JSX.Element | null {
  const { failure, cancelling, doing, progress, orphanedUntilMs } = job;
  if (cancelling) return <Said text={cancelling.reason} lengthMax={200} />;
  if (orphanedUntilMs !== undefined) {
    return <>has {duration(Math.max(0, orphanedUntilMs - now.value))} to come back</>;
  }
  if (failure) return <Said text={failure.message} lengthMax={200} />;
  const words = whyItWaits(job) || (doing ?? progress?.message);
  return words === undefined ? null : <Said text={words} lengthMax={200} />;
}

/** A job of which it is a part, or the person or program that asked. */
function AskedBy({ job }: { readonly job: Job }): JSX.Element {
  const { parentId, principal } = job;
  if (parentId === undefined) {
    return (
      <a href={`/work?principal=${encodeURIComponent(principal)}`} class="soft">
        <Said text={principal} lengthMax={40} />
      </a>
    );
  }
  return (
    <span class="soft">
      ↳{" "}
      <a href={withQuery({}, jobAddress(parentId))}>
        <Said text={jobName(parentId)} lengthMax={40} />
      </a>
    </span>
  );
}
