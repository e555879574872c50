// An extension of Pi as people write them: Pi itself asks for no permission and has no tool that asks a
// question. It says on the bus that it waits, as the contract of the emitter has it.
export default function asking(pi) {
  const waiting = async (summary, ask) => {
    pi.events.emit("agent-status:profile", { task: { state: "input-required", summary } });
    try {
      return await ask();
    } finally {
      pi.events.emit("agent-status:profile", undefined);
    }
  };

  pi.on("tool_call", async ({ toolName, input }, { ui }) => {
    if (toolName !== "bash" || !input.command.startsWith("touch")) return;
    const isGranted = await waiting(input.command, () => ui.confirm("Run it?", input.command));
    if (!isGranted) return { block: true, reason: "not granted" };
  });

  pi.registerTool({
    name: "ask",
    label: "Ask",
    description: "Asks the user",
    parameters: { type: "object", properties: { question: { type: "string" } } },
    async execute(_id, { question }, _signal, _update, { ui }) {
      const answer = await waiting(question, () => ui.select(question, ["Red", "Blue"]));
      return { content: [{ type: "text", text: String(answer) }], details: {} };
    },
  });
}
