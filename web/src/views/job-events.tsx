/** What a job says, live: what belongs together on one line, to be opened. */
import type { ComponentChildren, JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { now } from "../clock.ts";
import type { JobFeed } from "../job-feed.ts";
import { limits } from "../limits.ts";
import { plainSentence } from "../parts/event.tsx";
import { Choices, Empty } from "../parts/field.tsx";
import { Progress } from "../parts/gauge.tsx";
import { Said } from "../parts/said.tsx";
import { jobAddress, navigate, route, withQuery } from "../route.ts";
import { inline, type Line, linesOf, type ToolResult } from "../words/job.ts";
import { bytes, count, duration, exactTime, milliseconds, number } from "../words/time.ts";

const choices = [
  { name: "all", title: "all", kinds: [] },
  {
    name: "words",
    title: "words",
    kinds: ["log", "problem", "thought", "status", "question", "lifecycle"],
  },
  { name: "tools", title: "tools", kinds: ["tool", "delegate"] },
  { name: "figures", title: "figures", kinds: ["metric", "progress"] },
  { name: "made", title: "made", kinds: ["artifact", "writing", "chunks"] },
] as const;
type Choice = (typeof choices)[number]["name"];

export function JobEvents({ feed }: { readonly feed: JobFeed }): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  const isPointedAt = useRef(false);
  const entries = feed.entries.value;
  const lines = useMemo(() => linesOf(entries ?? []), [entries]);
  const chosen = choices.find(({ name }) => name === route.value.query.get("kind")) ?? choices[0];
  const kinds: readonly string[] = chosen.kinds;
  const shown = kinds.length === 0 ? lines : lines.filter(({ kind }) => kinds.includes(kind));
  const settle = (): void => {
    feed.hold(isPointedAt.current || (list.current?.scrollTop ?? 0) > 8);
  };
  const waiting = feed.waiting.value.length;
  return (
    <>
      <Choices<Choice>
        label="Kind"
        chosen={chosen.name}
        onChoose={(name) =>
          navigate(withQuery({ kind: name === "all" ? "" : name }), { isReplacing: true })
        }
        choices={choices}
      />
      <div
        ref={list}
        class="job-events"
        onScroll={settle}
        onPointerEnter={() => {
          isPointedAt.current = true;
          settle();
        }}
        onPointerLeave={() => {
          isPointedAt.current = false;
          settle();
        }}
      >
        {waiting > 0 && entries && (
          <button type="button" class="more floating" onClick={() => feed.show()}>
            {number(waiting)} new
          </button>
        )}
        {feed.problem.value !== "" && <Empty>{feed.problem.value}</Empty>}
        {entries && shown.length === 0 && <Empty>Nothing of that kind yet.</Empty>}
        <ol class="lines">
          {shown.map((line) => (
            <li key={line.key} data-kind={line.kind} data-tone={toneOf(line)}>
              <time title={exactTime(line.atMs, now.peek())}>
                {exactTime(line.atMs, line.atMs)}
              </time>
              <div class="said">
                <Told line={line} />
              </div>
            </li>
          ))}
        </ol>
        {feed.olderProblem.value !== "" && <Empty>{feed.olderProblem.value}</Empty>}
        {feed.next.value !== undefined && (
          <button type="button" class="more" onClick={() => void feed.older()}>
            older
          </button>
        )}
      </div>
    </>
  );
}

function toneOf(line: Line): string | undefined {
  if (line.kind === "tool") return line.result?.error ? "red" : line.result ? undefined : "busy";
  if (line.kind === "log") {
    if (line.level === "error" || line.level === "critical") return "red";
    return line.level.startsWith("warn") ? "amber" : undefined;
  }
  if (line.kind === "problem") return "red";
  if (line.kind !== "lifecycle") return undefined;
  const { state } = line.entry;
  return state === "error" || state === "timed_out" ? "red" : undefined;
}

function Told({ line }: { readonly line: Line }): JSX.Element {
  switch (line.kind) {
    case "lifecycle":
      return <span class="turn">{sentence(line.entry)}</span>;
    case "log":
      return (
        <Foldable detail={line.more}>
          <Said text={line.text} lengthMax={400} />
        </Foldable>
      );
    case "thought":
      return (
        <span class="thought">
          <Said text={line.text} lengthMax={600} />
        </span>
      );
    case "status":
      return (
        <>
          <span class="label">{line.phase}</span> <Said text={line.text} lengthMax={300} />
        </>
      );
    case "progress":
      return (
        <>
          <Progress progress={line.progress} />
          {line.progress.message !== undefined && (
            <span class="soft">
              <Said text={line.progress.message} lengthMax={160} />
            </span>
          )}
        </>
      );
    case "metric":
      return (
        <>
          <span class="label">
            <Said text={line.name} lengthMax={60} />
          </span>{" "}
          <b class="figure">{line.text}</b>
        </>
      );
    case "tool":
      return <Tool tool={line.tool} args={line.args} result={line.result} atMs={line.atMs} />;
    case "delegate":
      return (
        <>
          <span class="label">delegates</span>{" "}
          <a class="thing" href={withQuery({}, jobAddress(line.childId))}>
            <Said text={line.agent} />
          </a>
        </>
      );
    case "question":
      return (
        <>
          <span class="label">{line.word}</span> <Said text={line.text} lengthMax={400} />
        </>
      );
    case "problem":
      return (
        <>
          <Said text={line.text || "error"} lengthMax={400} />
          {line.code !== "" && (
            <span class="soft">
              {" "}
              <Said text={line.code} lengthMax={60} />
            </span>
          )}
        </>
      );
    case "writing":
      return (
        <>
          <span class="label">writes</span>{" "}
          <Said text={line.text.slice(-limits.valueShownMax)} lengthMax={limits.valueShownMax} />
        </>
      );
    case "artifact":
      return <Artifact line={line} />;
    case "chunks":
      return (
        <>
          <span class="label">{line.isOver ? "streamed" : "streams"}</span>{" "}
          {count(line.count, "piece", "pieces")}, {bytes(line.bytes)}{" "}
          <a class="tail" href={withQuery({ part: "result" })}>
            <Said text={line.end.slice(-limits.valueShownMax)} lengthMax={limits.valueShownMax} />
          </a>
        </>
      );
    case "other":
      return (
        <Foldable detail={line.body}>
          <span class="label">{line.name}</span>{" "}
          <Said text={inline(line.body)} lengthMax={limits.valueShownMax} />
        </Foldable>
      );
  }
}

/** Without the name of the job: it stands above. */
function sentence(entry: Parameters<typeof plainSentence>[0]): string {
  const [, rest = ""] = /^job \S+ (.*)$/s.exec(plainSentence(entry)) ?? [];
  return rest;
}

/** A call and what came of it: on one line, and all of it when it is opened. */
function Tool({
  tool,
  args,
  result,
  atMs,
}: {
  readonly tool: string;
  readonly args: unknown;
  readonly result: ToolResult | undefined;
  readonly atMs: number;
}): JSX.Element {
  return (
    <details class="tool">
      <summary>
        <code class="call">
          <b>{tool}</b>
          <span class="soft"> {argumentsOf(args)}</span>
        </code>
        <span class="outcome">
          {result === undefined ? (
            <span class="soft">{duration(now.value - atMs)}…</span>
          ) : (
            <>
              {result.error ? (
                <Said text={result.error.message || result.error.code} lengthMax={90} />
              ) : (
                <span class="soft">
                  <Said text={inline(result.value)} lengthMax={60} />
                </span>
              )}
              <span class="soft"> {milliseconds(result.atMs - atMs)}</span>
            </>
          )}
        </span>
      </summary>
      <Value title="called with" value={args} />
      {result &&
        (result.error ? (
          <Value title="failed" value={result.error} />
        ) : (
          <Value title="came to" value={result.value} />
        ))}
    </details>
  );
}

function argumentsOf(args: unknown): string {
  const text =
    typeof args === "object" && args !== null && !Array.isArray(args)
      ? Object.entries(args)
          .map(([name, value]) => `${name}: ${inline(value)}`)
          .join(", ")
      : inline(args);
  return text.slice(0, limits.valueShownMax);
}

function Value({
  title,
  value,
}: {
  readonly title: string;
  readonly value: unknown;
}): JSX.Element | null {
  if (value === undefined) return null;
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return (
    <>
      <h4 class="soft">{title}</h4>
      <pre class="content">
        <bdi>{text.slice(0, limits.previewLengthMax)}</bdi>
      </pre>
    </>
  );
}

function Foldable({
  detail,
  children,
}: {
  readonly detail: unknown;
  readonly children: ComponentChildren;
}): JSX.Element {
  if (detail === undefined || detail === null) return <>{children}</>;
  return (
    <details>
      <summary>{children}</summary>
      <Value title="" value={detail} />
    </details>
  );
}

/** An address from outside is a link only where it leads to a page. */
function Artifact({ line }: { readonly line: Line & { readonly kind: "artifact" } }): JSX.Element {
  const isPage = /^https?:\/\//i.test(line.uri);
  const name = <Said text={line.uri} lengthMax={120} />;
  return (
    <>
      <span class="label">made</span>{" "}
      {line.name !== "" && (
        <>
          <Said text={line.name} lengthMax={80} />{" "}
        </>
      )}
      {isPage ? (
        <a class="thing" href={line.uri} target="_blank" rel="noreferrer noopener">
          {name}
        </a>
      ) : (
        <code>{name}</code>
      )}{" "}
      <span class="soft">
        {line.type} {line.bytes !== undefined && bytes(line.bytes)}
      </span>
    </>
  );
}
