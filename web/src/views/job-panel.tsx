/** One job: how it stands, what it costs, who belongs to it, and what it says. */
import type { JSX } from "preact";
import { call, type Entry, type Job, type JobDetail } from "../api.ts";
import { useAnswer } from "../ask.ts";
import { type JobFeed, useJobFeed } from "../job-feed.ts";
import { limits } from "../limits.ts";
import { shortId } from "../names.ts";
import { ActionButton, CopyButton, ReadOnlyHint } from "../parts/act.tsx";
import { Empty, Fact, Facts } from "../parts/field.tsx";
import { Progress, spentBy } from "../parts/gauge.tsx";
import { Panel } from "../parts/panel.tsx";
import { Said } from "../parts/said.tsx";
import { Dot, jobStanding } from "../parts/standing.tsx";
import { Ago, Since, TimeLeft } from "../parts/time.tsx";
import { jobAddress, route, withQuery } from "../route.ts";
import { textOfChunk, whyItWaits } from "../words/job.ts";
import { bytes, duration, number } from "../words/time.ts";
import { JobEvents } from "./job-events.tsx";
import { QuestionBox } from "./question.tsx";
import { JobStateWord } from "./work.tsx";

const parts = ["events", "result", "input", "grant"] as const;
type Part = (typeof parts)[number];

export function JobPanel({ id }: { readonly id: string }): JSX.Element {
  const feed = useJobFeed(id);
  const concerns = (entry: Entry): boolean => "id" in entry && entry.type.startsWith("job.");
  const { value: job, problem } = useAnswer(
    "getJob",
    { jobId: id },
    { concerns, everyMs: limits.workEveryMs },
  );
  const closeAddress = withQuery({ part: "", kind: "" }, "/work");
  if (!job) {
    return (
      <Panel kind="job" title={id} closeAddress={closeAddress}>
        {problem && <Empty>{problem.message}</Empty>}
      </Panel>
    );
  }
  const spent = spentBy(job, { isLong: true });
  const part = parts.find((one) => one === route.value.query.get("part")) ?? "events";
  return (
    <Panel kind="job" title={job.agent} closeAddress={closeAddress}>
      <div class="job-summary">
        <Standing job={job} />
        {job.progress && <Progress progress={job.progress} />}
        {job.progress?.message !== undefined && (
          <p class="soft">
            <Said text={job.progress.message} lengthMax={300} />
          </p>
        )}
        {spent.length > 0 && (
          <ul class="budget" aria-label="Spent">
            {spent.map(([currency, shown]) => (
              <li key={currency}>{shown}</li>
            ))}
          </ul>
        )}
        {job.tree.length > 1 && <Tree job={job} />}
      </div>
      <nav class="tabs" aria-label="Of this job">
        {parts.map((name) => (
          <a
            key={name}
            href={withQuery({ part: name === "events" ? "" : name })}
            aria-current={name === part ? "page" : undefined}
          >
            {titles[name]}
            {name === "events" && <span class="count">{number(job.eventCount)}</span>}
          </a>
        ))}
      </nav>
      <PartOf part={part} job={job} feed={feed} />
      <footer class="actions">
        <ReadOnlyHint />
        <CancelJob job={job} />
      </footer>
    </Panel>
  );
}

const titles: Readonly<Record<Part, string>> = {
  events: "Events",
  result: "Result",
  input: "Input",
  grant: "Grant",
};

function PartOf({
  part,
  job,
  feed,
}: {
  readonly part: Part;
  readonly job: JobDetail;
  readonly feed: JobFeed;
}): JSX.Element {
  switch (part) {
    case "events":
      return <JobEvents feed={feed} />;
    case "result":
      return <Result job={job} feed={feed} />;
    case "input":
      return <Content value={job.input} none="What it was given is no longer kept." />;
    case "grant":
      return <Granted job={job} />;
  }
}

function Standing({ job }: { readonly job: JobDetail }): JSX.Element {
  const { startedAtMs, createdAtMs, endedAtMs, cancelling, orphanedUntilMs, failure } = job;
  return (
    <>
      <p class="standing">
        <Dot standing={jobStanding(job)} /> <JobStateWord job={job} />{" "}
        {endedAtMs === undefined ? (
          <>
            for <Ago atMs={startedAtMs ?? createdAtMs} form="for" />
          </>
        ) : (
          <span class="soft">
            after {duration(endedAtMs - createdAtMs)}, <Ago atMs={endedAtMs} />
          </span>
        )}
        <code class="soft job-id">{job.id}</code>
      </p>
      {job.waiting && (
        <p class="description">
          waits for <Said text={job.agent} lengthMax={60} />; {whyItWaits(job)}
        </p>
      )}
      {job.question && <QuestionBox key={job.question.id} questionId={job.question.id} shown="" />}
      {job.doing !== undefined && !job.question && (
        <p class="description">
          <Said text={job.doing} lengthMax={300} />
        </p>
      )}
      {failure && (
        <p class="job-failure" data-state={job.state}>
          <code>{failure.code}</code> <Said text={failure.message} lengthMax={1_000} />
        </p>
      )}
      {cancelling && (
        <p class="job-failure" data-state="cancelling">
          asked to end{cancelling.reason !== "" && ": "}
          <Said text={cancelling.reason} lengthMax={300} />{" "}
          <TimeLeft expiresAtMs={cancelling.untilMs} ttlMs={limits.cancelGraceMs} />
        </p>
      )}
      {orphanedUntilMs !== undefined && (
        <p class="job-failure" data-state="orphaned">
          its worker is away <TimeLeft expiresAtMs={orphanedUntilMs} ttlMs={limits.workerGraceMs} />
        </p>
      )}
    </>
  );
}

/** All that belong together, this one marked. */
function Tree({ job }: { readonly job: JobDetail }): JSX.Element {
  const [root] = job.tree;
  const depth = root?.depth ?? 0;
  return (
    <ol class="tree" aria-label="Delegation">
      {job.tree.map((one) => (
        <li
          key={one.id}
          aria-current={one.id === job.id ? "true" : undefined}
          style={{ paddingInlineStart: `${8 + (one.depth - depth) * 18}px` }}
        >
          {one.depth > depth && <span class="branch" aria-hidden="true" />}
          <Dot standing={jobStanding(one)} />
          <a class="name" href={withQuery({}, jobAddress(one.id))}>
            <Said text={one.agent} lengthMax={40} />
          </a>
          <code class="soft">{shortId(one.id)}</code>
          <Brief job={one} />
        </li>
      ))}
    </ol>
  );
}

/** The one thing that tells most of it. */
function Brief({ job }: { readonly job: Job }): JSX.Element {
  return (
    <>
      <span class="brief soft">
        {job.failure ? (
          <Said text={job.failure.message} lengthMax={60} />
        ) : job.progress ? (
          <Progress progress={job.progress} />
        ) : (
          whyItWaits(job) || <JobStateWord job={job} />
        )}
      </span>
      {spentBy(job)[0]?.[1]}
    </>
  );
}

function Result({ job, feed }: { readonly job: JobDetail; readonly feed: JobFeed }): JSX.Element {
  const pieces = (feed.entries.value ?? [])
    .filter(({ kind }) => kind === "result_chunk")
    .toReversed();
  if (job.streamed !== undefined || pieces.length > 0) {
    const text = pieces.map(({ body }) => textOfChunk(body)).join("");
    const shown = text.slice(-limits.previewLengthMax);
    const isOver = job.endedAtMs !== undefined;
    const isCut = shown.length < text.length || feed.next.value !== undefined;
    return (
      <div class="job-part">
        <p class="content-bar soft">
          {isOver ? "streamed" : "being streamed"}
          {job.streamed && `, ${bytes(job.streamed.bytes)}`}
          {isCut && "; the end of it"}
          <CopyButton label="copy" text={() => text} />
        </p>
        <pre class="content" data-live={!isOver}>
          <bdi>{shown}</bdi>
        </pre>
      </div>
    );
  }
  const none = job.endedAtMs === undefined ? "It has not ended yet." : "It came to no result.";
  return (
    <>
      {job.summary !== undefined && (
        <p class="description">
          <Said text={job.summary} lengthMax={2_000} />
        </p>
      )}
      <Content value={job.result} none={none} />
    </>
  );
}

function Content({ value, none }: { readonly value: unknown; readonly none: string }): JSX.Element {
  if (value === undefined) return <Empty>{none}</Empty>;
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return (
    <div class="job-part">
      <p class="content-bar soft">
        {bytes(new TextEncoder().encode(text).length)}
        <CopyButton label="copy" text={() => text} />
      </p>
      <pre class="content">
        <bdi>{text.slice(0, limits.previewLengthMax)}</bdi>
      </pre>
      {text.length > limits.previewLengthMax && <p class="soft">only the beginning is shown</p>}
    </div>
  );
}

function Granted({ job }: { readonly job: JobDetail }): JSX.Element {
  const { capabilities, expiresAtMs } = job.grant;
  return (
    <div class="job-part">
      <Facts>
        {Object.entries(capabilities).map(([name, patterns]) => (
          <Fact key={name} name={name}>
            {patterns.map((pattern) => (
              <code class="chip" key={pattern}>
                <Said text={pattern} lengthMax={80} />
              </code>
            ))}
          </Fact>
        ))}
        {Object.keys(capabilities).length === 0 && (
          <Fact name="may do">nothing that is asked for</Fact>
        )}
        {expiresAtMs !== undefined && (
          <Fact name="expires">
            <TimeLeft
              expiresAtMs={expiresAtMs}
              ttlMs={Math.max(1, expiresAtMs - job.createdAtMs)}
            />
          </Fact>
        )}
        {job.runMsMax !== undefined && <Fact name="may take">{duration(job.runMsMax)}</Fact>}
        <Fact name="asked by">
          <a href={`/work?principal=${encodeURIComponent(job.principal)}`}>
            <Said text={job.principal} />
          </a>
        </Fact>
        {job.worker && (
          <Fact name="worker">
            <Said text={job.worker.id} /> {job.worker.isRemote ? "elsewhere" : "in the daemon"}
          </Fact>
        )}
        <Fact name="asked for">
          <Since atMs={job.createdAtMs} />
        </Fact>
        <Fact name="started">{job.attempt === 0 ? "not yet" : `${job.attempt} ×`}</Fact>
        <Fact name="if lost">{job.isRepeatable ? "it is run again" : "it fails"}</Fact>
        {job.delegateId !== undefined && (
          <Fact name="its parent says">
            <Said text={job.delegateId} />
          </Fact>
        )}
        <Fact name="trace">
          <code>{job.traceId}</code>
        </Fact>
      </Facts>
    </div>
  );
}

function CancelJob({ job }: { readonly job: JobDetail }): JSX.Element | null {
  if (job.endedAtMs !== undefined || job.cancelling) return null;
  const name = job.agent;
  const below = job.tree.filter(
    (one) => one.depth > job.depth && one.endedAtMs === undefined,
  ).length;
  const follows = below > 0 && job.childCount > 0 ? " What it delegated is asked to end too." : "";
  return (
    <ActionButton
      action={{
        verb: `Cancel ${name}`,
        question: `Cancel ${name}?`,
        consequence:
          job.state === "pending"
            ? "It ends now; nobody works on it yet."
            : `It is asked to end, and has ${duration(limits.cancelGraceMs)} to leave things tidy.${follows}`,
        done: `${name} is asked to end.`,
        word: "Why (the agent is told)",
        run: (reason) =>
          call("cancelJob", { jobId: job.id, reason: reason || "cancelled from the dashboard" }),
      }}
    />
  );
}
