/** Policies, and a tester that says who may do something and why. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { call, type Policy, type PolicyCheck, type Who } from "../api.ts";
import { ofTypes, useAnswer } from "../ask.ts";
import { notify } from "../notices.ts";
import { ActionButton, Ask, ReadOnlyHint } from "../parts/act.tsx";
import { SearchField } from "../parts/field.tsx";
import { Panel } from "../parts/panel.tsx";
import { AgentLink, Said } from "../parts/said.tsx";
import { type Column, Found, RowTable } from "../parts/table.tsx";
import { navigate, route, withQuery } from "../route.ts";
import { useRows } from "../rows.ts";
import { mayWrite } from "../session.ts";
import { count, number } from "../words/time.ts";

const ofPolicies = ofTypes("policy.");

export function PoliciesPart({ tabs }: { readonly tabs: JSX.Element }): JSX.Element {
  const { query } = route.value;
  const words = query.get("query") ?? "";
  const openId = query.get("policy") ?? "";
  const edited = useSignal<Policy | undefined>(undefined);
  const asked = words === "" ? {} : { query: words };
  const rows = useRows<Policy>(JSON.stringify(asked), {
    fetch: (range, signal) => call("listPolicies", { ...asked, ...range }, { signal }),
    keyOf: ({ id }) => id,
    freshness: { concerns: ofPolicies },
  });
  rows.revision.value;
  return (
    <>
      <div class="list">
        <div class="toolbar">
          {tabs}
          <SearchField
            value={words}
            label="Search policies"
            onSearch={(text) => navigate(withQuery({ query: text }), { isReplacing: true })}
          />
          {mayWrite.value && (
            <button
              type="button"
              onClick={() => {
                edited.value = { id: "", subject: "", action: "", resource: "", effect: "allow" };
              }}
            >
              Add a policy
            </button>
          )}
          <Found rows={rows} isNarrowed={words !== ""} />
        </div>
        <Tester />
        <RowTable
          label="Policies"
          look="policies"
          rows={rows}
          columns={columns}
          keyOf={({ id }) => id}
          isOpen={({ id }) => id === openId}
          empty={
            words === "" ? (
              <p>No policies, so every check is answered with no. Add one to allow something.</p>
            ) : (
              <p>No policy matches.</p>
            )
          }
        />
      </div>
      {openId !== "" && (
        <PolicyPanel
          key={openId}
          id={openId}
          onEdit={(policy) => {
            edited.value = policy;
          }}
        />
      )}
      {edited.value && (
        <PolicyForm
          policy={edited.value}
          onClose={() => {
            edited.value = undefined;
          }}
        />
      )}
    </>
  );
}

const columns: readonly Column<Policy>[] = [
  {
    title: "Policy",
    look: "task",
    cell: ({ id }) => (
      <a class="name" href={withQuery({ policy: id })} data-row>
        <Said text={id} lengthMax={120} />
      </a>
    ),
  },
  { title: "Effect", look: "says", cell: ({ effect }) => <Effect effect={effect} /> },
  { title: "Subject", look: "pattern", cell: ({ subject }) => <Said text={subject} /> },
  { title: "Action", look: "pattern", cell: ({ action }) => <Said text={action} /> },
  { title: "Resource", look: "pattern", cell: ({ resource }) => <Said text={resource} /> },
];

function Effect({ effect }: { readonly effect: Policy["effect"] }): JSX.Element {
  return (
    <span class="effect" data-effect={effect}>
      {effect}
    </span>
  );
}

function PolicySentence({ policy }: { readonly policy: Policy }): JSX.Element {
  return (
    <>
      <Said text={policy.subject} /> <b>{policy.effect === "allow" ? "may" : "may not"}</b>{" "}
      <Said text={policy.action} /> <Said text={policy.resource} />
    </>
  );
}

/** "Who may do this?" Without a subject, everyone who is here is asked about. */
function Tester(): JSX.Element {
  const { query } = route.value;
  const [subject, action, resource] = ["subject", "action", "resource"].map(
    (name) => query.get(name) ?? "",
  ) as [string, string, string];
  const isAsked = action !== "" && resource !== "";
  const { value: check, problem } = useAnswer(
    "checkPolicy",
    isAsked && subject !== "" ? { subject, action, resource, explain: true } : undefined,
    { concerns: ofPolicies },
  );
  const { value: who } = useAnswer(
    "whoMay",
    isAsked && subject === "" ? { action, resource } : undefined,
    { concerns: ofTypes("policy.", "agent.registered", "agent.died") },
  );
  return (
    <section class="tester" aria-labelledby="tester-title">
      <h2 id="tester-title">Who may do this?</h2>
      <form
        onInput={(event) => {
          const form = new FormData(event.currentTarget);
          const changes = Object.fromEntries(
            ["subject", "action", "resource"].map((name) => [name, String(form.get(name) ?? "")]),
          );
          navigate(withQuery(changes), { isReplacing: true });
        }}
        onSubmit={(event) => event.preventDefault()}
      >
        <label>
          Subject
          <input name="subject" defaultValue={subject} placeholder="anyone" autocomplete="off" />
        </label>
        <label>
          Action
          <input name="action" defaultValue={action} placeholder="read" autocomplete="off" />
        </label>
        <label>
          Resource
          <input
            name="resource"
            defaultValue={resource}
            placeholder="invoices/42"
            autocomplete="off"
          />
        </label>
      </form>
      <div class="verdict" aria-live="polite">
        {!isAsked && (
          <p class="soft">
            Name an action and a resource. Without a subject, all agents that are here are checked.
          </p>
        )}
        {problem && <p>{problem.message}</p>}
        {check && isAsked && subject !== "" && <Verdict check={check} />}
        {who && isAsked && subject === "" && <Everyone who={who} />}
      </div>
    </section>
  );
}

function Verdict({ check }: { readonly check: PolicyCheck }): JSX.Element {
  const { allowed, reason, matches = [], moreMatches = 0 } = check;
  return (
    <>
      <p class="answer" data-allowed={allowed}>
        <b>{allowed ? "Yes" : "No"}</b> <Said text={reason} lengthMax={300} />
      </p>
      {matches.length > 0 && (
        <ol class="things">
          {matches.map((policy, index) => (
            <li key={policy.id}>
              <Effect effect={policy.effect} />
              <a class="name" href={withQuery({ policy: policy.id })}>
                <Said text={policy.id} />
              </a>
              <span>
                <PolicySentence policy={policy} />
              </span>
              <span class="soft">{index === 0 ? "decides" : "also matches"}</span>
            </li>
          ))}
        </ol>
      )}
      {moreMatches > 0 && <p class="soft">and {count(moreMatches, "other", "others")}</p>}
    </>
  );
}

const peopleShown = 60;

function Everyone({ who }: { readonly who: Who }): JSX.Element {
  const allowed = who.agents.filter((agent) => agent.allowed).length;
  const allowedFirst = who.agents.toSorted(
    (one, other) => Number(other.allowed) - Number(one.allowed),
  );
  return (
    <>
      <p class="answer">
        <b>
          {number(allowed)} of {number(who.agents.length)}
        </b>{" "}
        agents may
        {who.total > who.agents.length && (
          <span class="soft"> ({number(who.total)} are here; the first are checked)</span>
        )}
      </p>
      <ul class="people">
        {allowedFirst.slice(0, peopleShown).map(({ agentId, name, allowed, decidedBy }) => (
          <li key={agentId} data-allowed={allowed} title={decidedBy ?? "no policy applies"}>
            <Effect effect={allowed ? "allow" : "deny"} /> <AgentLink id={agentId} name={name} />
          </li>
        ))}
      </ul>
      {who.agents.length > peopleShown && (
        <p class="soft">and {count(who.agents.length - peopleShown, "other", "others")}</p>
      )}
    </>
  );
}

function PolicyPanel({
  id,
  onEdit,
}: {
  readonly id: string;
  readonly onEdit: (policy: Policy) => void;
}): JSX.Element {
  const { value: policy, problem } = useAnswer(
    "getPolicy",
    { policyId: id },
    { concerns: ofPolicies },
  );
  return (
    <Panel kind="policy" title={id} closeAddress={withQuery({ policy: "" })}>
      {problem && <p>{problem.message}</p>}
      {policy && (
        <p class="standing">
          <Effect effect={policy.effect} /> <PolicySentence policy={policy} />
        </p>
      )}
      <p class="soft">
        <code>*</code> stands for anything. Of all policies that match, one that denies wins; if
        none matches, the answer is no.
      </p>
      <footer class="actions">
        <ReadOnlyHint />
        {policy && mayWrite.value && (
          <button type="button" class="action" onClick={() => onEdit(policy)}>
            Edit
          </button>
        )}
        {policy && (
          <ActionButton
            action={{
              verb: `Delete ${id}`,
              question: `Delete the policy ${id}?`,
              consequence:
                policy.effect === "allow"
                  ? "What only it allows is refused from then on."
                  : "What only it denies may be allowed by others from then on.",
              done: `The policy ${id} is deleted.`,
              run: () => call("deletePolicy", { policyId: id }),
            }}
          />
        )}
      </footer>
    </Panel>
  );
}

function PolicyForm({
  policy,
  onClose,
}: {
  readonly policy: Policy;
  readonly onClose: () => void;
}): JSX.Element {
  const draft = useSignal(policy);
  const isNew = policy.id === "";
  const { id, effect, subject, action, resource } = draft.value;
  const isFilled = subject !== "" && action !== "" && resource !== "";
  const set = (changes: Partial<Policy>): void => {
    draft.value = { ...draft.value, ...changes };
  };
  const field = (name: "id" | "subject" | "action" | "resource", placeholder: string) => (
    <label>
      {name === "id" ? "Name" : `${name[0]?.toUpperCase()}${name.slice(1)}`}
      <input
        name={name}
        required
        readOnly={name === "id" && !isNew}
        value={draft.value[name]}
        placeholder={placeholder}
        autocomplete="off"
        onInput={(event) => set({ [name]: event.currentTarget.value })}
      />
    </label>
  );
  return (
    <Ask
      title={isNew ? "Add a policy" : `Change the policy ${id}`}
      verb={isNew ? `Add ${id || "it"}` : `Change ${id}`}
      onClose={onClose}
      onSubmit={async () => {
        const { id: policyId, ...rest } = draft.value;
        await call("setPolicy", { policyId, ...rest });
        notify(`The policy ${policyId} holds now.`);
      }}
    >
      <div class="form">
        {field("id", "readers")}
        <label>
          Effect
          <select
            value={effect}
            onChange={(event) =>
              set({ effect: event.currentTarget.value === "deny" ? "deny" : "allow" })
            }
          >
            <option value="allow">allow</option>
            <option value="deny">deny</option>
          </select>
        </label>
        {field("subject", "agent:parser-*")}
        {field("action", "read")}
        {field("resource", "invoices/*")}
      </div>
      {isFilled && (
        <p>
          From then on, <PolicySentence policy={draft.value} />
          {effect === "deny" ? ", whatever others allow." : ", unless another policy denies it."}
        </p>
      )}
    </Ask>
  );
}
