/** How much of something there is, as a bar and in figures. */
import type { JSX } from "preact";
import type { Job, JobCost, JobProgress } from "../api.ts";
import { shareOf, shareOfProgress, wordsOfCost, wordsOfProgress } from "../words/job.ts";

/**
 * What was spent, and lighter what is set aside, of what may be. Red where nothing is left; amber where little is, as
 * long as more may be spent.
 */
function Money({
  cost,
  isOver,
  isLong,
}: {
  readonly cost: JobCost;
  readonly isOver: boolean;
  readonly isLong: boolean;
}): JSX.Element {
  const { total, cap = "0", reserved = "0" } = cost;
  const { spent, bound, aside, parts } = wordsOfCost(cost);
  const [spentShare, reservedShare] = [shareOf(total, cap), shareOf(reserved, cap)];
  const tone = spentShare >= 1 ? "red" : spentShare >= 0.8 && !isOver ? "amber" : "calm";
  return (
    <span class="money" data-tone={tone} title={`${spent} of ${bound}${aside}${parts}`}>
      <span class="meter" aria-hidden="true">
        <span class="spent" style={{ width: percent(spentShare) }} />
        <span
          class="reserved"
          style={{ width: percent(Math.min(reservedShare, 1 - spentShare)) }}
        />
      </span>
      <span class="figure">
        <b>{spent}</b>
        <span class="soft"> of {bound}</span>
        {isLong && (
          <span class="soft">
            {aside}
            {parts}
          </span>
        )}
      </span>
    </span>
  );
}

function FreeMoney({
  cost,
  isLong,
}: {
  readonly cost: JobCost;
  readonly isLong: boolean;
}): JSX.Element {
  const { spent, parts } = wordsOfCost(cost);
  return (
    <span class="money" title={`spent without a budget${parts}`}>
      <span class="figure">
        <b>{spent}</b>
        {isLong && <span class="soft"> spent, without a budget{parts}</span>}
      </span>
    </span>
  );
}

/** What a job has cost in each currency: first those with a budget, then the others. */
export function spentBy(
  { cost, endedAtMs }: Job,
  { isLong = false }: { readonly isLong?: boolean } = {},
): readonly (readonly [currency: string, shown: JSX.Element])[] {
  const isOver = endedAtMs !== undefined;
  return cost.map((one) => [
    one.currency,
    one.cap === undefined ? (
      <FreeMoney key="free" cost={one} isLong={isLong} />
    ) : (
      <Money key="of" cost={one} isOver={isOver} isLong={isLong} />
    ),
  ]);
}

function percent(share: number): string {
  return `${(Math.max(0, Math.min(1, share)) * 100).toFixed(1)}%`;
}

export function Progress({ progress }: { readonly progress: JobProgress }): JSX.Element {
  const share = shareOfProgress(progress);
  return (
    <span class="progress" title={wordsOfProgress(progress)}>
      {share !== undefined && (
        <span class="meter" aria-hidden="true">
          <span class="made" style={{ width: percent(share) }} />
        </span>
      )}
      <span class="figure">{wordsOfProgress(progress)}</span>
    </span>
  );
}
