/** Small drawings, one stroke wide. */
import type { JSX } from "preact";
import type { Entry } from "../api.ts";
import { kindOf } from "../words/sentence.ts";

const paths = {
  agent: "M8 7.5a2.6 2.6 0 1 0 0-5.2 2.6 2.6 0 0 0 0 5.2ZM3 13.5c.5-2.6 2.4-4 5-4s4.5 1.4 5 4",
  lease: "M6.2 6.8 12.5 13m-2-2 1.6-1.6M7.2 4.9a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0Z",
  leader: "M4 14V2.5m0 .5h7.5L9.5 5.8l2 2.7H4",
  policy: "M8 2 3 4v3.6c0 3 2 5.2 5 6.4 3-1.2 5-3.4 5-6.4V4L8 2Z",
  task: "M3 3h10v10H3zM5.5 6.5h5M5.5 9.5h3",
  job: "M2.5 8h2.2l1.6-4.5 3 9 1.7-4.5h2.5",
  created: "M3 3h10v10H3zM8 5.5v5M5.5 8h5",
  completed: "M3 3h10v10H3zM5.5 8l1.8 1.8L10.7 6",
  failed: "M3 3h10v10H3zM8 5.3v3.2M8 10.6v.1",
  dead: "M3 3h10v10H3zm3 3 4 4m0-4-4 4",
  stuck: "M4 2.5h8M4 13.5h8M5 2.5c0 3.2 3 4 3 5.5s-3 2.3-3 5.5m6-11c0 3.2-3 4-3 5.5s3 2.3 3 5.5",
  plane: "M8 2v5.5M4.8 4.2a5 5 0 1 0 6.4 0",
  search: "m10.6 10.6 3 3M11.7 7a4.7 4.7 0 1 1-9.4 0 4.7 4.7 0 0 1 9.4 0Z",
  close: "m4 4 8 8m0-8-8 8",
  question: "M6 6a2 2 0 1 1 2.8 1.9c-.5.2-.8.6-.8 1.1v.5M8 12v.1",
  silent: "M8 4.5V8l2 1.6M13.5 8A5.5 5.5 0 1 1 8 2.5",
  lost: "M2.5 8h2.2M11.3 8h2.2M6 5.5 4.7 8 6 10.5M10 5.5 11.3 8 10 10.5M8 4v8",
  system: "M8 2.5v11M13.5 8A5.5 5.5 0 1 1 8 2.5 5.5 5.5 0 0 1 13.5 8Z",
  light:
    "M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6ZM8 1.5v1m0 11v1M1.5 8h1m11 0h1M3.4 3.4l.7.7m7.8 7.8.7.7m0-9.2-.7.7m-7.8 7.8-.7.7",
  dark: "M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8 5.6 5.6 0 1 0 13.2 9.6Z",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1 1.2H3L4 11ZM6.8 14.2h2.4",
  bellOff: "M4 11V7a4 4 0 0 1 8 0v4l1 1.2H3L4 11ZM6.8 14.2h2.4M2.5 2.5l11 11",
  copy: "M6 6h7.5v7.5H6zM10 6V2.5H2.5V10H6",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

/** What an event is about, by its colour; what became of a task, by the drawing. */
export function EventIcon({ entry }: { readonly entry: Entry }): JSX.Element {
  return (
    <span class="kind" data-kind={kindOf(entry)}>
      <Icon name={iconOf(entry)} />
    </span>
  );
}

function iconOf(entry: Entry): IconName {
  switch (entry.type) {
    case "task.created":
      return "created";
    case "task.completed":
      return "completed";
    case "task.failed":
      return "failed";
    case "task.cancelled":
    case "task.dead":
      return "dead";
    default:
      return kindOf(entry);
  }
}

/** The staff. */
export function Mark(): JSX.Element {
  return (
    <svg class="mark" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M8 6v9" />
      <circle cx="8" cy="3.6" r="2.6" />
    </svg>
  );
}
