/** What is open beside a list. Escape closes it. */
import type { ComponentChildren, JSX } from "preact";
import { navigate } from "../route.ts";
import { number } from "../words/time.ts";
import { Icon } from "./icon.tsx";
import { Said } from "./said.tsx";

export function Panel({
  kind,
  title,
  closeAddress,
  children,
}: {
  readonly kind: string;
  readonly title: string;
  readonly closeAddress: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <aside class="panel" aria-label={`${kind} ${title}`}>
      <header>
        <div class="titles">
          <p class="soft">{kind}</p>
          <h2>
            <Said text={title} />
          </h2>
        </div>
        <button
          type="button"
          class="plain"
          data-close-panel
          aria-label="close"
          title="close (esc)"
          onClick={() => navigate(closeAddress)}
        >
          <Icon name="close" />
        </button>
      </header>
      <div class="panel-body">{children}</div>
    </aside>
  );
}

export function PanelPart({
  title,
  count,
  children,
}: {
  readonly title: string;
  readonly count?: number;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <section>
      <h3>
        {title}
        {count !== undefined && <span class="count">{number(count)}</span>}
      </h3>
      {children}
    </section>
  );
}
