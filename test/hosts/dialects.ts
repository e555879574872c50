/**
 * How a model says things over HTTP, in the three dialects that coding agents speak: one text, or one call
 * of a tool, as a stream of server-sent events. Only what the hosts need to go on is said.
 */
import { randomUUID } from "node:crypto";

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

/** What the model says next. A host that is told to call a tool does so, and asks again. */
export type Reply =
  | { readonly say: string }
  | { readonly call: string; readonly input: JsonObject };

export type Dialect = {
  /** How the path of the endpoint ends. */
  readonly path: string;
  /** The body of a streamed answer. */
  stream(reply: Reply): string;
  /** The same, for who did not ask for a stream. */
  whole(reply: Reply): JsonObject;
};

export const anthropicMessages: Dialect = {
  path: "/v1/messages",
  stream(reply) {
    const { content, stop_reason, ...message } = anthropicMessage(reply);
    const start = { ...message, content: [], stop_reason: null };
    const isText = "say" in reply;
    const empty = isText ? { type: "text", text: "" } : { ...toolUse(reply), input: {} };
    const delta = isText
      ? { type: "text_delta", text: reply.say }
      : { type: "input_json_delta", partial_json: JSON.stringify(reply.input) };
    return named([
      { type: "message_start", message: start },
      { type: "content_block_start", index: 0, content_block: empty },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: message.usage },
      { type: "message_stop" },
    ]);
  },
  whole: anthropicMessage,
};

function anthropicMessage(reply: Reply) {
  const isText = "say" in reply;
  return {
    id: newId("msg"),
    type: "message",
    role: "assistant",
    model: "scripted",
    content: [isText ? { type: "text", text: reply.say } : toolUse(reply)],
    stop_reason: isText ? "end_turn" : "tool_use",
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 10 },
  };
}

function toolUse(reply: Extract<Reply, { call: string }>) {
  return { type: "tool_use", id: newId("toolu"), name: reply.call, input: reply.input };
}

export const openaiResponses: Dialect = {
  path: "/v1/responses",
  stream(reply) {
    const response = openaiResponse(reply);
    const item = response.output[0] ?? {};
    const started = { ...response, status: "in_progress", output: [] };
    return named([
      { type: "response.created", response: started },
      { type: "response.output_item.added", output_index: 0, item },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response },
    ]);
  },
  whole: openaiResponse,
};

function openaiResponse(reply: Reply) {
  const item: JsonObject =
    "say" in reply
      ? {
          id: newId("msg"),
          type: "message",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: reply.say, annotations: [] }],
        }
      : {
          id: newId("fc"),
          type: "function_call",
          status: "completed",
          call_id: newId("call"),
          name: reply.call,
          arguments: JSON.stringify(reply.input),
        };
  return {
    id: newId("resp"),
    object: "response",
    model: "scripted",
    status: "completed",
    output: [item],
    usage: {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 10,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 20,
    },
  };
}

export const openaiChat: Dialect = {
  path: "/v1/chat/completions",
  stream(reply) {
    const { choices, usage, ...completion } = chatCompletion(reply);
    const chunk = { ...completion, object: "chat.completion.chunk" };
    const [choice] = choices;
    const said = [
      { ...chunk, choices: [{ index: 0, delta: choice?.message ?? {}, finish_reason: null }] },
      { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: choice?.finish_reason ?? "" }] },
      { ...chunk, choices: [], usage },
    ];
    return `${said.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;
  },
  whole: chatCompletion,
};

function chatCompletion(reply: Reply) {
  const isText = "say" in reply;
  const message: JsonObject = isText
    ? { role: "assistant", content: reply.say }
    : { role: "assistant", content: null, tool_calls: [toolCall(reply)] };
  return {
    id: newId("chatcmpl"),
    object: "chat.completion",
    created: 0,
    model: "scripted",
    choices: [{ index: 0, message, finish_reason: isText ? "stop" : "tool_calls" }],
    usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 },
  };
}

function toolCall(reply: Extract<Reply, { call: string }>): JsonObject {
  const called = { name: reply.call, arguments: JSON.stringify(reply.input) };
  return { index: 0, id: newId("call"), type: "function", function: called };
}

/** Events whose name is also in their data. */
function named(events: readonly ({ readonly type: string } & JsonObject)[]): string {
  return events.map((e) => `event: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`).join("");
}

function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll("-", "")}`;
}
