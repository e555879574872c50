/** The frame: where one is, how the connection stands, and the view. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { alertOf, canNotify, isNotifying, switchNotifications } from "./alerts.ts";
import { useAnswer } from "./ask.ts";
import { KeysHelp, showKeys } from "./keys.tsx";
import { limits } from "./limits.ts";
import { connection, lastEventAtMs, overview } from "./live.ts";
import { notice } from "./notices.ts";
import { openPalette, Palette } from "./palette.tsx";
import { Confirmation, ReadOnlyMark } from "./parts/act.tsx";
import { Icon, Mark } from "./parts/icon.tsx";
import { Ago } from "./parts/time.tsx";
import { route, type ViewName, views } from "./route.ts";
import { mayWrite } from "./session.ts";
import { nextTheme, theme } from "./theme.ts";
import { AgentsView } from "./views/agents.tsx";
import { CoordinationView } from "./views/coordination.tsx";
import { LogView } from "./views/log.tsx";
import { MachineView } from "./views/machine.tsx";
import { NowView } from "./views/now.tsx";
import { PaceView } from "./views/pace.tsx";
import { TasksView } from "./views/tasks.tsx";
import { WorkView } from "./views/work.tsx";
import { isNews } from "./words/sentence.ts";

const viewOf: Readonly<Record<ViewName, () => JSX.Element>> = {
  now: NowView,
  machine: MachineView,
  agents: AgentsView,
  coordination: CoordinationView,
  work: WorkView,
  tasks: TasksView,
  log: LogView,
  pace: PaceView,
};

export function App(): JSX.Element {
  const View = viewOf[route.value.view];
  return (
    <>
      <Header />
      <div class="view" data-stale={connection.value === "lost"}>
        <View key={route.value.view} />
      </div>
      <Palette />
      <Confirmation />
      <KeysHelp />
      <p class="notice" role="status" data-shown={notice.value !== ""}>
        <bdi>{notice}</bdi>
      </p>
    </>
  );
}

function Header(): JSX.Element {
  const { value: attention } = useAnswer(
    "getAttention",
    {},
    { concerns: isNews, everyMs: limits.pollEveryMs },
  );
  const needed = attention?.total ?? 0;
  const isLost = connection.value === "lost";
  const shown = views.filter(({ within }) => within === undefined);
  const { view } = route.value;
  const current = views.find(({ name }) => name === view)?.within ?? view;
  useEffect(() => {
    document.title = `${needed > 0 ? `(${needed}) ` : ""}Tipstaff${isLost ? " · lost" : ""}`;
  }, [needed, isLost]);
  useEffect(() => {
    if (attention) alertOf(attention.items);
  }, [attention]);
  return (
    <header class="top">
      <a class="brand" href="/">
        <Mark /> Tipstaff <small>{overview.value?.version}</small>
      </a>
      <nav aria-label="Views">
        {shown.map(({ name, title, path, key }) => (
          <a
            key={name}
            href={path}
            title={`g ${key}`}
            aria-current={name === current ? "page" : undefined}
          >
            {title}
            {name === "now" && needed > 0 && (
              <span class="badge">{needed > 99 ? "99+" : needed}</span>
            )}
          </a>
        ))}
      </nav>
      <button type="button" class="jump" onClick={openPalette}>
        <Icon name="search" /> <span>Jump to…</span> <kbd>ctrl k</kbd>
      </button>
      <ReadOnlyMark />
      <ConnectionState />
      <NotificationSwitch />
      <button
        type="button"
        class="plain"
        aria-label={`colours: ${theme.value}`}
        title={`colours: ${theme.value}`}
        onClick={nextTheme}
      >
        <Icon name={theme.value} />
      </button>
      <button type="button" class="plain" aria-label="keys" title="keys (?)" onClick={showKeys}>
        <kbd>?</kbd>
      </button>
    </header>
  );
}

/** Only for users who may write: the page shows questions to nobody else. */
function NotificationSwitch(): JSX.Element | null {
  if (!canNotify || !mayWrite.value) return null;
  const words = `notifications for questions: ${isNotifying.value ? "on" : "off"}`;
  return (
    <button
      type="button"
      class="plain"
      aria-label={words}
      title={words}
      onClick={() => void switchNotifications()}
    >
      <Icon name={isNotifying.value ? "bell" : "bellOff"} />
    </button>
  );
}

function ConnectionState(): JSX.Element {
  const last = lastEventAtMs.value;
  const words = { connecting: "connecting…", live: "live", lost: "reconnecting…" };
  return (
    <p class="connection" role="status" data-state={connection.value}>
      <span class="pulse" />
      {words[connection.value]}
      {last !== undefined && (
        <span class="soft last-event">
          last event <Ago atMs={last} />
        </span>
      )}
    </p>
  );
}
