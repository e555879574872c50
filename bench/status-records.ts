/** Status files to list: as the hooks of a coding agent write them, some of them long ago. */
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const states = ["working", "input-required", "submitted", "completed"];

export function putRecords(directory: string, count: number): void {
  mkdirSync(directory);
  for (let index = 0; index < count; index += 1) {
    const id = `claude-code-${randomUUID().replaceAll("-", "")}`;
    const at = new Date(Date.now() - (index % 200) * 1_000).toISOString().replace(/\.\d+/, "");
    const record = {
      agent_id: id,
      agent_name: "claude-code",
      goal: {
        source: "initial-prompt",
        summary: `Make the build of service ${index} green again, and keep it so`,
        updated_at: at,
      },
      runtime: {
        last_activity_at: at,
        lifecycle: "running",
        pid: 2 + index,
        updated_at: at,
        workspace: `/home/user/src/project-${index}`,
      },
      schema_version: "agent-status/v1alpha1",
      task: {
        context_id: randomUUID(),
        id: `turn-${index}`,
        state: states[index % states.length],
        status_timestamp: at,
        summary: `Run the tests of module ${index}, read what fails, and fix it`,
      },
      x_meta: {
        claude_code: { model: "large", permission_mode: "default", session_id: randomUUID() },
        tmux_pane: `%${index}`,
        tmux_socket: "/tmp/tmux-1000/default",
      },
    };
    writeFileSync(join(directory, `${id}.json`), `${JSON.stringify(record, null, 2)}\n`);
  }
}
