/** Series over time: small ones without words, and large ones that can be read. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { now } from "../clock.ts";
import { clockTime } from "../words/time.ts";

export type Values = readonly (number | null)[];

export function Sparkline({ values }: { readonly values: Values }): JSX.Element {
  const highest = top(values);
  // One point is no line.
  if (values.length < 2) return <span class="sparkline" />;
  return (
    <svg class="sparkline" viewBox="0 0 100 28" preserveAspectRatio="none" aria-hidden="true">
      <path class="area" d={areaOf(values, highest, { width: 100, height: 28 })} />
      <path class="line" d={lineOf(values, highest, { width: 100, height: 28 })} />
    </svg>
  );
}

export type Series = {
  readonly name: string;
  readonly values: Values;
  readonly look: "first" | "second";
};

const space = { top: 10, right: 12, bottom: 22, left: 62 };

export function Chart({
  title,
  series,
  startAtMs,
  stepMs,
  print,
}: {
  readonly title: string;
  readonly series: readonly Series[];
  readonly startAtMs: number;
  readonly stepMs: number;
  readonly print: (value: number) => string;
}): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const width = useSignal(600);
  const height = 190;
  const pointed = useSignal<number | undefined>(undefined);
  useEffect(() => {
    const { current } = frame;
    if (!current) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) width.value = Math.max(160, entry.contentRect.width);
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  const steps = series[0]?.values.length ?? 0;
  const size = {
    width: width.value - space.left - space.right,
    height: height - space.top - space.bottom,
  };
  const highest = roundUp(Math.max(...series.map(({ values }) => top(values))));
  const at = pointed.value ?? steps - 1;
  const xOf = (step: number): number => (steps > 1 ? (step / (steps - 1)) * size.width : 0);
  const hours = timesBetween(startAtMs, stepMs, steps);
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
        <p class="legend">
          <span class="soft">{clockTime(startAtMs + at * stepMs, now.peek())}</span>
          {series.map(({ name, values, look }) => {
            const value = values[at];
            return (
              <span key={name} data-look={look} class="series">
                {name} <b>{value === null || value === undefined ? "–" : print(value)}</b>
              </span>
            );
          })}
        </p>
      </figcaption>
      <div ref={frame}>
        <svg
          width={width.value}
          height={height}
          role="img"
          aria-label={title}
          onPointerMove={(event) => {
            const x = event.offsetX - space.left;
            const step = Math.round((x / size.width) * (steps - 1));
            pointed.value = Math.min(steps - 1, Math.max(0, step));
          }}
          onPointerLeave={() => {
            pointed.value = undefined;
          }}
        >
          <g transform={`translate(${space.left} ${space.top})`}>
            {[0, 0.5, 1].map((share) => (
              <g key={share} transform={`translate(0 ${size.height * (1 - share)})`}>
                <line class="grid" x2={size.width} />
                <text class="axis" x={-8} dy="0.32em" text-anchor="end">
                  {print(highest * share)}
                </text>
              </g>
            ))}
            {hours.map((time) => (
              <text
                key={time}
                class="axis"
                x={((time - startAtMs) / stepMs / (steps - 1)) * size.width}
                y={size.height + 16}
                text-anchor="middle"
              >
                {clockTime(time, now.peek())}
              </text>
            ))}
            {series.map(({ name, values, look }) => (
              <g key={name} data-look={look}>
                <path class="area" d={areaOf(values, highest, size)} />
                <path class="line" d={lineOf(values, highest, size)} />
              </g>
            ))}
            {pointed.value !== undefined && (
              <line class="pointer" x1={xOf(at)} x2={xOf(at)} y2={size.height} />
            )}
          </g>
        </svg>
      </div>
    </figure>
  );
}

function top(values: Values): number {
  return values.reduce<number>((highest, value) => Math.max(highest, value ?? 0), 0);
}

/** 1, 2 or 5 times a power of ten, so that the axis can be read. */
function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10;
  return step * power;
}

function timesBetween(startAtMs: number, stepMs: number, steps: number): number[] {
  const every = [60_000, 300_000, 600_000, 900_000, 3_600_000].find(
    (ms) => (stepMs * steps) / ms <= 7,
  );
  if (every === undefined) return [];
  const times: number[] = [];
  const end = startAtMs + stepMs * (steps - 1);
  for (let time = Math.ceil(startAtMs / every) * every; time <= end; time += every) {
    times.push(time);
  }
  return times;
}

type Size = { readonly width: number; readonly height: number };

/** Where there is no value, the line is interrupted. A value between two that are missing is a dot. */
function lineOf(values: Values, highest: number, size: Size): string {
  return runsOf(values, highest, size)
    .map((run) => `M${run.join("L")}${run.length === 1 ? "h0.01" : ""}`)
    .join("");
}

function areaOf(values: Values, highest: number, size: Size): string {
  return runsOf(values, highest, size)
    .map((run) => {
      const [first = "0 0"] = run;
      const last = run.at(-1) ?? first;
      const [firstX, lastX] = [first, last].map((point) => point.split(" ")[0]);
      return `M${firstX} ${size.height}L${run.join("L")}L${lastX} ${size.height}Z`;
    })
    .join("");
}

function runsOf(values: Values, highest: number, { width, height }: Size): string[][] {
  const runs: string[][] = [];
  let run: string[] = [];
  values.forEach((value, index) => {
    if (value === null) {
      if (run.length > 0) runs.push(run);
      run = [];
      return;
    }
    const x = values.length > 1 ? (index / (values.length - 1)) * width : 0;
    // Half a pixel is kept free, so that neither the top nor the ground cuts the line.
    const y = height - 1 - (highest > 0 ? (value / highest) * (height - 2) : 0);
    run.push(`${x.toFixed(1)} ${y.toFixed(1)}`);
  });
  if (run.length > 0) runs.push(run);
  return runs;
}
