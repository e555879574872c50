/** Where we are, as the address says. Every view and what is open in it can be shared and gone back to. */
import { signal } from "@preact/signals";

export type ViewName =
  | "now"
  | "machine"
  | "agents"
  | "coordination"
  | "work"
  | "tasks"
  | "log"
  | "pace";

export const views: readonly {
  readonly name: ViewName;
  readonly title: string;
  readonly path: string;
  /** Pressed after `g`. */
  readonly key: string;
  /** The view in whose place it stands. */
  readonly within?: ViewName;
}[] = [
  { name: "now", title: "Now", path: "/", key: "n" },
  { name: "machine", title: "Machine", path: "/machine", key: "m" },
  { name: "agents", title: "Agents", path: "/agents", key: "a" },
  { name: "coordination", title: "Coordination", path: "/coordination", key: "c" },
  { name: "work", title: "Work", path: "/work", key: "w" },
  { name: "tasks", title: "Tasks", path: "/tasks", key: "t", within: "work" },
  { name: "log", title: "Log", path: "/log", key: "l" },
  { name: "pace", title: "Pace", path: "/pace", key: "p" },
];

export type Route = {
  readonly view: ViewName;
  /** What follows the view in the path: the id of what is open, or a part of the view. */
  readonly rest: string;
  readonly query: URLSearchParams;
};

export const route = signal<Route>(read());

export function navigate(
  address: string,
  { isReplacing = false }: { readonly isReplacing?: boolean } = {},
): void {
  if (address === location.pathname + location.search) return;
  if (isReplacing) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  route.value = read();
}

/** This address with some of its query changed; empty values are left out. */
export function withQuery(changes: Readonly<Record<string, string>>, path?: string): string {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") query.delete(name);
    else query.set(name, value);
  }
  return (path ?? location.pathname) + (query.size > 0 ? `?${query}` : "");
}

export const agentAddress = (id: string): string => `/agents/${encodeURIComponent(id)}`;
export const sightingAddress = (id: string): string => `/machine/${encodeURIComponent(id)}`;
export const taskAddress = (id: string): string => `/tasks/${encodeURIComponent(id)}`;
export const jobAddress = (id: string): string => `/work/${encodeURIComponent(id)}`;
export const entryAddress = (sequence: number): string => `/log/${sequence}`;
// Names of leases, groups and policies are anything, `..` too, so they cannot be part of a path.
export const leaseAddress = (id: string): string => `/coordination?lease=${encodeURIComponent(id)}`;
export const groupAddress = (name: string): string =>
  `/coordination/elections?group=${encodeURIComponent(name)}`;
export const policyAddress = (id: string): string =>
  `/coordination/policies?policy=${encodeURIComponent(id)}`;

export function startRouting(): void {
  window.addEventListener("popstate", () => {
    route.value = read();
  });
  // Links to views are followed here; those that ask for a new tab are left to the browser.
  document.addEventListener("click", (event) => {
    const isPlain = !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    const link = event.target instanceof Element ? linkAt(event.target) : undefined;
    if (!isPlain || event.button !== 0 || event.defaultPrevented || !link || link.target) return;
    if (link.origin !== location.origin || link.hasAttribute("download")) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}

/** What shows a tip lies above the link of its row; a click there is one on the row, unless its text was selected. */
function linkAt(element: Element): HTMLAnchorElement | null | undefined {
  const own = element.closest("a");
  if (own || !element.closest("[title]:not(button)") || getSelection()?.isCollapsed === false)
    return own;
  return element.closest("tr")?.querySelector<HTMLAnchorElement>("a[data-row]");
}

function read(): Route {
  const [, first = "", ...others] = location.pathname.split("/");
  const view = views.find(({ path }) => path === `/${first}`)?.name ?? "now";
  return { view, rest: decode(others.join("/")), query: new URLSearchParams(location.search) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not written by us; whatever it names is not there.
    return text;
  }
}
