/** What can be done without a pointer. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { openPalette } from "./palette.tsx";
import { navigate, views } from "./route.ts";

const isHelpShown = signal(false);
const chordMs = 1_200;
let goUntilMs = 0;

export function startKeys(): void {
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openPalette();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) {
      return;
    }
    if (isTyping(event.target)) {
      if (event.key === "Escape" && event.target instanceof HTMLElement) event.target.blur();
      return;
    }
    if (press(event.key)) event.preventDefault();
  });
}

export function showKeys(): void {
  isHelpShown.value = true;
}

/** Whether the key meant something. */
function press(key: string): boolean {
  if (performance.now() < goUntilMs) {
    goUntilMs = 0;
    const view = views.find((one) => one.key === key);
    if (view) navigate(view.path);
    return view !== undefined;
  }
  switch (key) {
    case "g":
      goUntilMs = performance.now() + chordMs;
      return true;
    case "j":
      return move(1);
    case "k":
      return move(-1);
    case "/":
      return search();
    case "?":
      showKeys();
      return true;
    case "Escape":
      return closePanel();
    default:
      return false;
  }
}

/** Rows are links, so enter opens the one that has the focus. */
function move(step: 1 | -1): boolean {
  const drawn = [...document.querySelectorAll<HTMLElement>("main [data-row]")];
  const rows = drawn.filter((row) => row.checkVisibility());
  const at = rows.findIndex((row) => row.matches(":focus"));
  const open = rows.findIndex((row) => row.closest("[aria-selected=true], [aria-current=true]"));
  const from = at >= 0 ? at : open;
  const next = from < 0 ? rows[step > 0 ? 0 : rows.length - 1] : rows[from + step];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return next !== undefined;
}

function search(): boolean {
  const field = document.querySelector<HTMLInputElement>("main [data-search]");
  if (!field) openPalette();
  field?.focus();
  field?.select();
  return true;
}

function closePanel(): boolean {
  const button = document.querySelector<HTMLButtonElement>("[data-close-panel]");
  button?.click();
  return button !== null;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches("input, textarea, select");
}

export function KeysHelp(): JSX.Element | null {
  return isHelpShown.value ? <Help /> : null;
}

function Help(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      class="ask keys"
      aria-label="Keys"
      onClose={() => {
        isHelpShown.value = false;
      }}
    >
      <h2>Keys</h2>
      <dl>
        {views.map(({ name, title, key }) => (
          <Key key={name} keys={["g", key]} does={`go to ${title}`} />
        ))}
        <Key keys={["/"]} does="search this list" />
        <Key keys={["ctrl", "k"]} does="jump to anything" />
        <Key keys={["j"]} does="next row" />
        <Key keys={["k"]} does="row before" />
        <Key keys={["enter"]} does="open it" />
        <Key keys={["esc"]} does="close what is open" />
        <Key keys={["?"]} does="show these keys" />
      </dl>
      <footer>
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </footer>
    </dialog>
  );
}

function Key({
  keys,
  does,
}: {
  readonly keys: readonly string[];
  readonly does: string;
}): JSX.Element {
  return (
    <div>
      <dt>
        {keys.map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dt>
      <dd>{does}</dd>
    </div>
  );
}
