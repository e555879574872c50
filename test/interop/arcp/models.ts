/** Frames held against the models of the published Python SDK, which refuse what they do not know. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";

/** One frame a line; answers with an empty line, or with what is wrong. */
const judge = `
import json, sys
import arcp
from arcp import _messages
for line in sys.stdin:
    frame = json.loads(line)
    try:
        arcp.Envelope.from_wire(frame)
        _messages.parse_payload(frame["type"], frame["payload"])
        print()
    except Exception as error:
        print(frame["type"], " ".join(str(error).split()))
`;

/** What is wrong with them, one line for each that is refused. */
export function problemsOf(python: string, frames: readonly object[]): readonly string[] {
  const input = frames.map((frame) => JSON.stringify(frame)).join("\n");
  const output = execFileSync(python, ["-c", judge], { input, encoding: "utf8" });
  const answers = output.split("\n").slice(0, -1);
  assert.equal(answers.length, frames.length);
  return answers.filter((answer) => answer !== "");
}
