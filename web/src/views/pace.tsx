/** How much is going on and how long it takes, over the last hour. */
import type { JSX } from "preact";
import type { Timeline } from "../api.ts";
import { useAnswer } from "../ask.ts";
import { limits } from "../limits.ts";
import { overview } from "../live.ts";
import { Chart } from "../parts/chart.tsx";
import { Empty, Fact, Facts } from "../parts/field.tsx";
import { Since } from "../parts/time.tsx";
import { bytes, duration, figure, milliseconds, number } from "../words/time.ts";
import { paceOf } from "../words/timeline.ts";

export function PaceView(): JSX.Element {
  const { value, problem } = useAnswer("getTimeline", {}, { everyMs: limits.timelineEveryMs });
  return (
    <main class="pace">
      <h1 class="unseen">Pace</h1>
      {problem && !value && <Empty>{problem.message}</Empty>}
      {value && <Charts timeline={value} />}
      <Daemon />
    </main>
  );
}

function Charts({ timeline }: { readonly timeline: Timeline }): JSX.Element {
  const { startAtMs, stepMs, ...pace } = paceOf(timeline);
  const times = { startAtMs, stepMs };
  if (pace.eventsPerMinute.length < 2) {
    return <Empty>There is nothing to draw yet: the daemon has only just started.</Empty>;
  }
  return (
    <>
      <Chart
        title="Events and calls a minute"
        {...times}
        print={figure}
        series={[
          { name: "events", look: "first", values: pace.eventsPerMinute },
          { name: "calls", look: "second", values: pace.callsPerMinute },
        ]}
      />
      <Chart
        title="How long calls take"
        {...times}
        print={milliseconds}
        series={[
          { name: "99 of 100 within", look: "second", values: pace.p99Ms },
          { name: "half within", look: "first", values: pace.p50Ms },
        ]}
      />
      <Chart
        title="How long a commit to the log takes"
        {...times}
        print={milliseconds}
        series={[{ name: "99 of 100 within", look: "first", values: pace.commitP99Ms }]}
      />
    </>
  );
}

function Daemon(): JSX.Element | null {
  const seen = overview.value;
  if (!seen) return null;
  const { retained } = seen;
  return (
    <section class="card daemon" aria-labelledby="daemon-title">
      <h2 id="daemon-title">The daemon</h2>
      <Facts>
        <Fact name="version">{seen.version}</Fact>
        <Fact name="running">
          <Since atMs={seen.startedAtMs} /> <span class="soft">as process {seen.pid}</span>
        </Fact>
        <Fact name="keeps">
          {seen.isKept ? (
            <code>{seen.dataDirectory ?? "on disk"}</code>
          ) : (
            "nothing: it is in memory"
          )}
        </Fact>
        <Fact name="log">
          entries {number(retained.oldestSequence)} to {number(seen.sequence)},{" "}
          {bytes(retained.bytes)}
          <span class="soft">
            {retained.keepMs !== undefined && `, kept ${duration(retained.keepMs)}`}
            {retained.keepBytes !== undefined && `, at most ${bytes(retained.keepBytes)}`}
            {retained.keepEntries !== undefined && `, the last ${number(retained.keepEntries)}`}
          </span>
        </Fact>
        {seen.grpcAddress !== undefined && (
          <Fact name="gRPC">
            <code>{seen.grpcAddress}</code>
          </Fact>
        )}
        <Fact name="watchers">{number(seen.counts.watchers)}</Fact>
        <Fact name="find">
          ranked by {seen.find.ranking === "model" ? "the model" : "the table that comes with it"}
          {seen.find.reason !== undefined && <span class="soft">: {seen.find.reason}</span>}
        </Fact>
      </Facts>
    </section>
  );
}
