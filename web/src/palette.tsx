/** Jumps anywhere: views, agents, jobs, leases, tasks, groups, policies. */
import { signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { call } from "./api.ts";
import { limits } from "./limits.ts";
import { Icon, type IconName } from "./parts/icon.tsx";
import { Said } from "./parts/said.tsx";
import { jobWords } from "./parts/standing.tsx";
import {
  agentAddress,
  groupAddress,
  jobAddress,
  leaseAddress,
  navigate,
  policyAddress,
  taskAddress,
  views,
} from "./route.ts";
import { mayWrite } from "./session.ts";

type Target = {
  readonly kind: string;
  readonly icon: IconName;
  readonly name: string;
  readonly more: string;
  readonly href: string;
};

const isOpen = signal(false);

export function openPalette(): void {
  isOpen.value = true;
}

export function Palette(): JSX.Element | null {
  return isOpen.value ? <OpenPalette /> : null;
}

const foundOfEach = 5;

function OpenPalette(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const words = useSignal("");
  const found = useSignal<readonly Target[]>(viewsFor(""));
  const chosen = useSignal(0);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  useEffect(() => {
    const gone = new AbortController();
    found.value = viewsFor(words.value);
    chosen.value = 0;
    const timer = setTimeout(() => {
      search(words.value, gone.signal)
        .then((targets) => {
          found.value = targets;
        })
        // Typed on, or not reachable: then views are all there is to jump to.
        .catch(() => undefined);
    }, limits.typingMs);
    return () => {
      clearTimeout(timer);
      gone.abort();
    };
  }, [words.value]);
  const go = (target: Target | undefined): void => {
    if (!target) return;
    dialog.current?.close();
    navigate(target.href);
  };
  const at = Math.min(chosen.value, found.value.length - 1);
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Jump to"
      onClose={() => {
        isOpen.value = false;
      }}
    >
      <label class="search">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-label="Jump to an agent, job, lease, task, group, policy or view"
          aria-expanded="true"
          aria-controls="palette-found"
          aria-activedescendant={`palette-${at}`}
          placeholder="Jump to an agent, job, lease, task, group, policy or view"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => {
            words.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
            if (step !== 0) {
              event.preventDefault();
              chosen.value = (at + step + found.value.length) % Math.max(1, found.value.length);
            } else if (event.key === "Enter") {
              event.preventDefault();
              go(found.value[at]);
            }
          }}
        />
      </label>
      <div id="palette-found" role="listbox" aria-label="Found">
        {found.value.map((target, index) => (
          <button
            type="button"
            key={target.href}
            id={`palette-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onPointerMove={() => {
              chosen.value = index;
            }}
            onClick={() => go(target)}
          >
            <Icon name={target.icon} />
            <span class="name">
              <Said text={target.name} lengthMax={60} />
            </span>
            <span class="soft">
              <Said text={target.more} lengthMax={60} />
            </span>
            <span class="soft kind-word">{target.kind}</span>
          </button>
        ))}
        {found.value.length === 0 && <p class="soft">Nothing is called that.</p>}
      </div>
    </dialog>
  );
}

function viewsFor(words: string): readonly Target[] {
  return views
    .filter(({ title }) => title.toLowerCase().includes(words.toLowerCase()))
    .map(({ title, path, key }) => ({
      kind: "view",
      icon: "plane",
      name: title,
      more: `g ${key}`,
      href: path,
    }));
}

async function search(words: string, signal: AbortSignal): Promise<readonly Target[]> {
  const query = { limit: foundOfEach, ...(words === "" ? {} : { query: words }) };
  const [agents, jobs, leases, tasks, groups, policies] = await Promise.all([
    call("listAgents", query, { signal }),
    mayWrite.value ? call("listJobs", query, { signal }) : { rows: [] },
    call("listLeases", query, { signal }),
    call("listTasks", query, { signal }),
    call("listElections", query, { signal }),
    call("listPolicies", query, { signal }),
  ]);
  return [
    ...(words === "" ? viewsFor("") : []),
    ...agents.rows.map(({ id, card, liveness, hasLeft }) => ({
      kind: "agent",
      icon: "agent" as const,
      name: card.name || id,
      more: hasLeft ? "left" : liveness === "dead" ? "died" : liveness,
      href: agentAddress(id),
    })),
    ...jobs.rows.map(({ id, agent, state }) => ({
      kind: "job",
      icon: "job" as const,
      name: agent,
      more: `${jobWords[state]} ${id}`,
      href: jobAddress(id),
    })),
    ...leases.rows.map(({ taskId, holderName }) => ({
      kind: "lease",
      icon: "lease" as const,
      name: taskId,
      more: `held by ${holderName}`,
      href: leaseAddress(taskId),
    })),
    ...tasks.rows.map(({ id, type, state }) => ({
      kind: "task",
      icon: "task" as const,
      name: type || id,
      more: `${state} ${id}`,
      href: taskAddress(id),
    })),
    ...groups.rows.map(({ group, leaderName }) => ({
      kind: "group",
      icon: "leader" as const,
      name: group,
      more: leaderName === undefined ? "no leader" : `led by ${leaderName}`,
      href: groupAddress(group),
    })),
    ...policies.rows.map(({ id, effect, subject }) => ({
      kind: "policy",
      icon: "policy" as const,
      name: id,
      more: `${effect} ${subject}`,
      href: policyAddress(id),
    })),
    ...(words === "" ? [] : viewsFor(words)),
  ];
}
