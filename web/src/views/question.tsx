/** The form below a question in which a person answers it. */
import { useSignal } from "@preact/signals";
import type { JSX, TargetedKeyboardEvent } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { call, problemOfAnswer, type Question, reasonOf, TipstaffError } from "../api.ts";
import { useAnswer } from "../ask.ts";
import { Said } from "../parts/said.tsx";
import { Ago } from "../parts/time.tsx";
import { mayWrite } from "../session.ts";
import {
  answerFrom,
  type Choice,
  endOf,
  type Field,
  type Form,
  formOf,
} from "../words/question.ts";
import { duration } from "../words/time.ts";

/** The log records answers from this page under this name. */
const answerer = "dashboard";
/** Up to this many choices are shown as radio buttons; more are shown in a drop-down list. */
const radiosMax = 5;

export function QuestionBox({
  questionId,
  shown,
}: {
  readonly questionId: string;
  /** What the row already shows of the question. */
  readonly shown: string;
}): JSX.Element | null {
  const { value: heard } = useAnswer(
    "getQuestion",
    { questionId },
    {
      concerns: (entry) =>
        entry.type.startsWith("question.") && "id" in entry && entry.id === questionId,
    },
  );
  // The reply to an answer arrives before the event stream reports it.
  const ended = useSignal<Question | undefined>(undefined);
  const box = useRef<HTMLDivElement>(null);
  const question = ended.value ?? heard;
  if (!question) return null;
  const { prompt, scope, state } = question;
  return (
    <div ref={box} class="question">
      {!shown.includes(prompt) && (
        <p class="prompt">
          <Said text={prompt} lengthMax={Number.POSITIVE_INFINITY} />
        </p>
      )}
      {scope && <Scope scope={scope} />}
      {state !== "open" && (
        <Ended question={question} takesFocus={!!box.current?.querySelector(":focus-visible")} />
      )}
      {state === "open" && mayWrite.value && (
        <AnswerForm
          question={question}
          onEnd={(end) => {
            ended.value = end;
          }}
        />
      )}
    </div>
  );
}

function Ended({
  question,
  takesFocus,
}: {
  readonly question: Question;
  /** The user was typing in the form that this text replaces. */
  readonly takesFocus: boolean;
}): JSX.Element {
  const words = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => {
    if (takesFocus) words.current?.focus();
  }, []);
  return (
    <p ref={words} class="soft ended" role="status" tabIndex={-1}>
      <Said text={endOf(question)} lengthMax={200} />
      {question.closedAtMs !== undefined && (
        <>
          , <Ago atMs={question.closedAtMs} />
        </>
      )}
    </p>
  );
}

const modes = {
  read_only: "read only",
  read_write_overlay: "changes go to a copy",
  read_write_direct: "changes are direct",
} as const;

function Scope({ scope }: { readonly scope: NonNullable<Question["scope"]> }): JSX.Element {
  const { read, writePrefix, mode, ttlMs } = scope;
  return (
    <p class="soft">
      read <Said text={read.join(", ") || "nothing"} lengthMax={500} />
      {writePrefix !== undefined && (
        <>
          , write below <Said text={writePrefix} lengthMax={500} />
        </>
      )}
      , {modes[mode]}, for {duration(ttlMs)}
    </p>
  );
}

/** Sends without a confirmation: the question itself says what follows. */
function AnswerForm({
  question,
  onEnd,
}: {
  readonly question: Question;
  readonly onEnd: (question: Question) => void;
}): JSX.Element {
  const problem = useSignal("");
  const isBusy = useSignal(false);
  const { id: questionId, askerName, schema } = question;
  const form = formOf(question);
  const send = async (answer: unknown): Promise<void> => {
    isBusy.value = true;
    problem.value = "";
    try {
      onEnd(await call("answerQuestion", { questionId, answer, by: answerer }));
    } catch (fault) {
      if (fault instanceof TipstaffError && fault.question) onEnd(fault.question);
      else problem.value = reasonOf(fault);
    } finally {
      isBusy.value = false;
    }
  };
  const submit = (element: HTMLFormElement): void => {
    if (form.of === "buttons" || isBusy.value) return;
    const data = new FormData(element);
    const entered = form.fields.map((_, index) => data.getAll(`${index}`).map(String));
    const read = answerFrom(form, entered);
    const wrong =
      "problem" in read
        ? read.problem
        : schema === undefined
          ? undefined
          : problemOfAnswer(schema, read.answer);
    if (wrong !== undefined) problem.value = reasonOf(new Error(wrong));
    else if ("answer" in read) void send(read.answer);
  };
  return (
    <form
      class="answer"
      aria-label={`Answer ${askerName}`}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit(event.currentTarget);
      }}
    >
      {form.of === "fields" && <Fields form={form} />}
      {problem.value !== "" && (
        <p class="problem" role="alert">
          <bdi>{problem}</bdi>
        </p>
      )}
      {form.of === "fields" ? (
        <button type="submit" class="primary" disabled={isBusy.value}>
          Answer
        </button>
      ) : (
        <Buttons
          choices={form.choices}
          isBusy={isBusy.value}
          onChoose={(value) => void send(value)}
        />
      )}
    </form>
  );
}

function Buttons({
  choices,
  isBusy,
  onChoose,
}: {
  readonly choices: readonly Choice[];
  readonly isBusy: boolean;
  readonly onChoose: (value: unknown) => void;
}): JSX.Element {
  return (
    <>
      {choices.map(({ label, value }) => (
        <button type="button" key={label} disabled={isBusy} onClick={() => onChoose(value)}>
          <Said text={label} lengthMax={Number.POSITIVE_INFINITY} />
        </button>
      ))}
    </>
  );
}

function Fields({ form }: { readonly form: Extract<Form, { of: "fields" }> }): JSX.Element {
  return (
    <>
      {form.fields.map((field, index) => (
        <FieldRow key={field.name} field={field} name={`${index}`} isAlone={!form.isObject} />
      ))}
    </>
  );
}

function FieldRow({
  field,
  name,
  isAlone,
}: {
  readonly field: Field;
  /** In the form: names from outside could be those of the form's own properties. */
  readonly name: string;
  readonly isAlone: boolean;
}): JSX.Element {
  const id = useId();
  const title = (
    <span class={isAlone ? "unseen" : "label"}>
      <Said text={field.label} />
      {!field.isRequired && <small class="soft"> optional</small>}
    </span>
  );
  const note = field.note !== "" && (
    <small class="soft">
      <Said text={field.note} lengthMax={300} />
    </small>
  );
  const isGroup =
    field.kind === "several" || (field.kind === "one" && field.choices.length <= radiosMax);
  if (isGroup) {
    return (
      <fieldset class={isAlone ? "entry alone" : "entry"}>
        <legend>{title}</legend>
        {field.choices.map(({ label }, index) => (
          <label class="choice" key={label}>
            <input type={field.kind === "one" ? "radio" : "checkbox"} name={name} value={index} />
            <Said text={label} />
          </label>
        ))}
        {note}
      </fieldset>
    );
  }
  return (
    <div class={isAlone ? "entry alone" : "entry"}>
      <label for={id}>{title}</label>
      <Control id={id} field={field} name={name} />
      {note}
    </div>
  );
}

function Control({
  field,
  ...names
}: {
  readonly field: Field;
  readonly id: string;
  readonly name: string;
}): JSX.Element {
  switch (field.kind) {
    case "text":
      return <textarea {...names} rows={1} autocomplete="off" onKeyDown={submitOnEnter} />;
    case "number":
      return <input {...names} type="text" inputMode="decimal" autocomplete="off" size={12} />;
    case "json":
      return <textarea class="json" {...names} rows={3} spellcheck={false} placeholder="JSON" />;
    case "one":
    case "several":
      return (
        <select {...names}>
          <option value="" />
          {field.choices.map(({ label }, index) => (
            <option key={label} value={index}>
              {label}
            </option>
          ))}
        </select>
      );
  }
}

/** Shift and enter begin a new line. */
function submitOnEnter(event: TargetedKeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}
