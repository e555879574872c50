/** One event as a line: when, what kind, and what happened. */
import type { JSX } from "preact";
import type { Entry } from "../api.ts";
import { jobName, nameOf } from "../names.ts";
import { type Part, sentenceOf } from "../words/sentence.ts";
import { EventIcon } from "./icon.tsx";
import { Said } from "./said.tsx";
import { Ago } from "./time.tsx";

export function EventLine({ entry }: { readonly entry: Entry }): JSX.Element {
  return (
    <li class="event">
      <EventIcon entry={entry} />
      <Sentence entry={entry} />
      <Ago atMs={entry.atMs} form="for" />
    </li>
  );
}

export function Sentence({ entry }: { readonly entry: Entry }): JSX.Element {
  return <span class="sentence">{sentenceOf(entry).map(draw)}</span>;
}

/** Reading aloud what a sentence says, for searching and for titles. */
export function plainSentence(entry: Entry): string {
  return sentenceOf(entry)
    .map((part) => (typeof part === "string" ? part : textOf(part)))
    .join("");
}

function draw(part: Part): JSX.Element | string {
  if (typeof part === "string") return part;
  const said = <Said text={textOf(part)} />;
  return part.href === undefined ? (
    said
  ) : (
    <a class="thing" href={part.href}>
      {said}
    </a>
  );
}

function textOf(part: Exclude<Part, string>): string {
  if ("agentId" in part) return part.name ?? nameOf(part.agentId);
  return "jobId" in part ? (part.name ?? jobName(part.jobId)) : part.name;
}
