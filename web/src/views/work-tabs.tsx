/** Two kinds of work: jobs, which a worker executes, and tasks, which agents claim. */
import type { JSX } from "preact";
import { overview } from "../live.ts";
import { route } from "../route.ts";
import { number } from "../words/time.ts";

export function WorkTabs(): JSX.Element {
  const { view } = route.value;
  const counts = overview.value?.counts;
  const parts = [
    {
      view: "work",
      title: "Jobs",
      href: "/work",
      count: counts && counts.jobs.waiting + counts.jobs.pending + counts.jobs.running,
    },
    {
      view: "tasks",
      title: "Tasks",
      href: "/tasks",
      count: counts && counts.tasks.pending + counts.tasks.claimed + counts.tasks.delayed,
    },
  ];
  return (
    <nav class="tabs" aria-label="Work">
      {parts.map((part) => (
        <a key={part.view} href={part.href} aria-current={part.view === view ? "page" : undefined}>
          {part.title}
          {part.count !== undefined && (
            <span class="count" title="not ended yet">
              {number(part.count)}
            </span>
          )}
        </a>
      ))}
    </nav>
  );
}
