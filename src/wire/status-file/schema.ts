/** The record as a JSON Schema, draft 2020-12. `docs/status-file.schema.json` is printed from it. */
import { goalSource, type JsonObject, lifecycles, schemaVersion, taskStates } from "./record.ts";
import { panePattern } from "./tmux.ts";

const text: JsonObject = { type: "string" };
const nonEmpty: JsonObject = { type: "string", minLength: 1 };
const time: JsonObject = { type: "string", format: "date-time" };

function about(description: string, schema: JsonObject): JsonObject {
  return { description, ...schema };
}

export const jsonSchema: JsonObject = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  // A name, not an address: it stays the same wherever the file is kept.
  $id: "urn:uuid:cce154a7-0c66-4f8a-9dad-ba5ff06dc858",
  title: schemaVersion,
  description: "What one running agent says of itself: a snapshot, replaced as a whole.",
  type: "object",
  required: ["schema_version", "agent_id", "agent_name", "runtime"],
  properties: {
    schema_version: { const: schemaVersion },
    agent_id: about("Unique for each running instance; the file is <agent_id>.json.", nonEmpty),
    agent_name: about("What people call the program.", nonEmpty),
    runtime: {
      description: "Health of the process or session.",
      type: "object",
      required: ["lifecycle", "updated_at"],
      properties: {
        lifecycle: { enum: lifecycles },
        updated_at: about("The last heartbeat or change; all that staleness goes by.", time),
        last_activity_at: about("The last real work. A heartbeat does not move it.", time),
        pid: about("For people to read; not a key.", { type: "integer" }),
        workspace: about("Preferably an absolute path.", text),
      },
    },
    goal: {
      description: "What the session is for.",
      type: "object",
      required: ["summary", "updated_at", "source"],
      properties: { summary: nonEmpty, updated_at: time, source: { const: goalSource } },
    },
    task: {
      description: "The current turn, or work that is really queued. Absent while idle.",
      type: "object",
      properties: {
        id: about("Of the A2A task, or of the turn.", text),
        context_id: about("Of the session.", text),
        state: { enum: taskStates },
        summary: about("Preferably at most 120 characters.", text),
        status_timestamp: about("Since when it is in this state.", time),
      },
    },
    a2a: {
      description: "Where the agent can be reached by A2A.",
      type: "object",
      properties: { agent_card_url: text, service_url: text },
    },
    x_meta: {
      description: "Whatever else the writer has to say.",
      type: "object",
      properties: {
        tmux_socket: about("Path of the tmux server's socket.", text),
        tmux_pane: { type: "string", pattern: panePattern },
      },
      dependentRequired: { tmux_socket: ["tmux_pane"], tmux_pane: ["tmux_socket"] },
    },
  },
};
