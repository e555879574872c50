/**
 * What a person may do to the plane. Nothing happens without a question that names the thing and what
 * follows; a refusal is shown in words, where it was asked.
 */
import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { reasonOf } from "../api.ts";
import { notify } from "../notices.ts";
import { mayWrite } from "../session.ts";
import { Icon } from "./icon.tsx";

export type Action = {
  /** On the button that opens the question, and on the one that answers yes. */
  readonly verb: string;
  readonly question: string;
  readonly consequence: string;
  /** Said when it is done. */
  readonly done: string;
  /** What may be said along with it, by its label. */
  readonly word?: string;
  readonly run: (word: string) => Promise<unknown>;
};

const asked = signal<Action | undefined>(undefined);

export function ActionButton({ action }: { readonly action: Action }): JSX.Element | null {
  if (!mayWrite.value) return null;
  return (
    <button
      type="button"
      class="action"
      onClick={() => {
        asked.value = action;
      }}
    >
      {action.verb}
    </button>
  );
}

/** Where it is always seen. */
export function ReadOnlyMark(): JSX.Element | null {
  if (mayWrite.value !== false) return null;
  return (
    <span class="chip read-only-mark" title="tipstaff dashboard prints a link that lets you act">
      read only
    </span>
  );
}

/** Instead of actions, for who may not act. */
export function ReadOnlyHint(): JSX.Element | null {
  if (mayWrite.value !== false) return null;
  return (
    <p class="read-only soft">
      read only; <code>tipstaff dashboard</code> prints a link that lets you act
    </p>
  );
}

export function Confirmation(): JSX.Element | null {
  const action = asked.value;
  const word = useSignal("");
  if (!action) return null;
  const close = (): void => {
    word.value = "";
    asked.value = undefined;
  };
  return (
    <Ask
      title={action.question}
      verb={action.verb}
      onClose={close}
      onSubmit={async () => {
        await action.run(word.value);
        word.value = "";
        notify(action.done);
      }}
    >
      <p>{action.consequence}</p>
      {action.word !== undefined && (
        <label class="word">
          <span>{action.word}</span>
          <input
            type="text"
            autocomplete="off"
            maxLength={500}
            onInput={(event) => {
              word.value = event.currentTarget.value;
            }}
          />
        </label>
      )}
    </Ask>
  );
}

/** A question in front of everything else. */
export function Ask({
  title,
  verb,
  onSubmit,
  onClose,
  children,
}: {
  readonly title: string;
  readonly verb: string;
  readonly onSubmit: () => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const problem = useSignal("");
  const isBusy = useSignal(false);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} class="ask" aria-label={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          isBusy.value = true;
          onSubmit()
            .then(() => dialog.current?.close())
            .catch((fault: unknown) => {
              problem.value = reasonOf(fault);
            })
            .finally(() => {
              isBusy.value = false;
            });
        }}
      >
        <h2>
          <bdi>{title}</bdi>
        </h2>
        {children}
        {problem.value !== "" && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <footer>
          <button type="button" onClick={() => dialog.current?.close()}>
            Leave it
          </button>
          <button type="submit" class="primary" disabled={isBusy.value}>
            {verb}
          </button>
        </footer>
      </form>
    </dialog>
  );
}

export function CopyButton({
  text,
  label,
}: {
  readonly text: () => string;
  readonly label: string;
}): JSX.Element {
  return (
    <button
      type="button"
      class="plain copy"
      onClick={() => {
        navigator.clipboard
          .writeText(text())
          .then(() => notify("Copied."))
          .catch(() => notify("The browser does not let this page copy."));
      }}
    >
      <Icon name="copy" /> {label}
    </button>
  );
}
