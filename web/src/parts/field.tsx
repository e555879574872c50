/** Small things of which forms and panels are made. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { limits } from "../limits.ts";
import { number } from "../words/time.ts";
import { Icon } from "./icon.tsx";

/** Searches as one types. `/` goes there. */
export function SearchField({
  value,
  label,
  onSearch,
}: {
  readonly value: string;
  readonly label: string;
  readonly onSearch: (text: string) => void;
}): JSX.Element {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // The address may change by other means than this field.
    if (input.current && document.activeElement !== input.current) input.current.value = value;
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <label class="search">
      <Icon name="search" />
      <input
        ref={input}
        type="search"
        data-search
        aria-label={label}
        placeholder={label}
        defaultValue={value}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => {
          const text = event.currentTarget.value;
          clearTimeout(timer.current);
          timer.current = setTimeout(() => onSearch(text), limits.typingMs);
        }}
      />
      <kbd>/</kbd>
    </label>
  );
}

/** Some of a few, each with how many there are. */
export function Choices<Name extends string>({
  label,
  choices,
  chosen,
  onChoose,
}: {
  readonly label: string;
  readonly choices: readonly {
    readonly name: Name;
    readonly title: string;
    readonly count?: number | undefined;
  }[];
  readonly chosen: Name;
  readonly onChoose: (name: Name) => void;
}): JSX.Element {
  return (
    <fieldset class="choices">
      <legend class="unseen">{label}</legend>
      {choices.map(({ name, title, count }) => (
        <button
          type="button"
          key={name}
          aria-pressed={name === chosen}
          onClick={() => onChoose(name)}
        >
          {title}
          {count !== undefined && <span class="count">{number(count)}</span>}
        </button>
      ))}
    </fieldset>
  );
}

export function Select<Name extends string>({
  label,
  options,
  value,
  onChange,
}: {
  readonly label: string;
  readonly options: readonly (readonly [Name, string])[];
  readonly value: Name;
  readonly onChange: (value: Name) => void;
}): JSX.Element {
  return (
    <label class="select">
      <span>{label}</span>
      <select
        value={value}
        onChange={(event) => {
          const chosen = options.find(([name]) => name === event.currentTarget.value);
          if (chosen) onChange(chosen[0]);
        }}
      >
        {options.map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Facts({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return <dl class="facts">{children}</dl>;
}

export function Fact({
  name,
  children,
}: {
  readonly name: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** There is nothing; and what to do about it. */
export function Empty({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return <div class="empty">{children}</div>;
}
