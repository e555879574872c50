/** Text that came from outside: always text, and its direction stays its own affair. */
import type { JSX } from "preact";
import { nameOf } from "../names.ts";
import { agentAddress } from "../route.ts";
import { shorten } from "../words/text.ts";

export function Said({
  text,
  lengthMax,
}: {
  readonly text: string;
  readonly lengthMax?: number;
}): JSX.Element {
  const shown = shorten(text, lengthMax);
  return shown === text ? <bdi>{text}</bdi> : <bdi title={shorten(text, 1_000)}>{shown}</bdi>;
}

/** An agent by what it is called. */
export function AgentLink({
  id,
  name,
}: {
  readonly id: string;
  readonly name?: string | undefined;
}): JSX.Element {
  return (
    <a class="name" href={agentAddress(id)}>
      <Said text={name || nameOf(id)} />
    </a>
  );
}
