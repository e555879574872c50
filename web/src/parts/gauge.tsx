/** How much of something there is, as a bar and in figures. */
import type { JSX } from "preact";
import type { BudgetCounter, Job, JobProgress } from "../api.ts";
import { moneyOf, shareOf, shareOfProgress, wordsOfProgress } from "../words/job.ts";

/**
 * What was spent, and lighter what is set aside, of what may be. Red where nothing is left; amber where little is, as
 * long as more may be spent.
 */
function Money({
  counter,
  isOver,
  isLong = false,
}: {
  readonly counter: BudgetCounter;
  readonly isOver: boolean;
  readonly isLong?: boolean;
}): JSX.Element {
  const { cap, spent, reserved, currency } = counter;
  const [spentShare, reservedShare] = [shareOf(spent, cap), shareOf(reserved, cap)];
  const tone = spentShare >= 1 ? "red" : spentShare >= 0.8 && !isOver ? "amber" : "calm";
  const words = `${moneyOf(spent, currency)} of ${moneyOf(cap, currency)}`;
  const aside = Number(reserved) > 0 ? `, ${moneyOf(reserved, currency)} set aside` : "";
  return (
    <span class="money" data-tone={tone} title={`${words}${aside}`}>
      <span class="meter" aria-hidden="true">
        <span class="spent" style={{ width: percent(spentShare) }} />
        <span
          class="reserved"
          style={{ width: percent(Math.min(reservedShare, 1 - spentShare)) }}
        />
      </span>
      <span class="figure">
        <b>{moneyOf(spent, currency)}</b>
        <span class="soft"> of {moneyOf(cap, currency)}</span>
        {isLong && <span class="soft">{aside}</span>}
      </span>
    </span>
  );
}

/** What a job has spent, each currency with its name: of what it may, then what nobody bounds. */
export function spentBy(
  { budget, unbudgeted = [], endedAtMs }: Job,
  { isLong = false }: { readonly isLong?: boolean } = {},
): readonly (readonly [currency: string, shown: JSX.Element])[] {
  const isOver = endedAtMs !== undefined;
  return [
    ...budget.map(
      (counter) =>
        [
          counter.currency,
          <Money key="of" counter={counter} isOver={isOver} isLong={isLong} />,
        ] as const,
    ),
    ...unbudgeted.map(
      ({ currency, spent }) =>
        [
          currency,
          <span key="free" class="money" title="spent without a budget">
            <span class="figure">
              <b>{moneyOf(spent, currency)}</b>
              {isLong && <span class="soft"> spent, without a budget</span>}
            </span>
          </span>,
        ] as const,
    ),
  ];
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
