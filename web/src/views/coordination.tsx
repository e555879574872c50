/** Who holds what, who leads, and who may do what. */
import type { JSX } from "preact";
import { overview } from "../live.ts";
import { route } from "../route.ts";
import { number } from "../words/time.ts";
import { ElectionsPart } from "./elections.tsx";
import { LeasesPart } from "./leases.tsx";
import { PoliciesPart } from "./policies.tsx";

export function CoordinationView(): JSX.Element {
  const { rest } = route.value;
  const counts = overview.value?.counts;
  const parts = [
    { rest: "", title: "Leases", href: "/coordination", count: counts?.leases },
    {
      rest: "elections",
      title: "Elections",
      href: "/coordination/elections",
      count: counts?.elections,
    },
    {
      rest: "policies",
      title: "Policies",
      href: "/coordination/policies",
      count: counts?.policies,
    },
  ];
  const tabs = (
    <nav class="tabs" aria-label="Coordination">
      {parts.map((part) => (
        <a key={part.rest} href={part.href} aria-current={part.rest === rest ? "page" : undefined}>
          {part.title}
          {part.count !== undefined && <span class="count">{number(part.count)}</span>}
        </a>
      ))}
    </nav>
  );
  return (
    <main class="list-view">
      <h1 class="unseen">Coordination</h1>
      {rest === "elections" ? (
        <ElectionsPart tabs={tabs} />
      ) : rest === "policies" ? (
        <PoliciesPart tabs={tabs} />
      ) : (
        <LeasesPart tabs={tabs} />
      )}
    </main>
  );
}
