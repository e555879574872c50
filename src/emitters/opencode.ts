/**
 * The module that OpenCode loads. Hosts until 1.2 call every export of a module as a plugin, later ones take a
 * default export with an id and a `server`, and also call it where it is a function. So there is one
 * export, and it is both.
 */
import { type Hooks, openPlugin } from "./opencode/plugin.ts";
import { surroundingsOf } from "./surroundings.ts";

async function server(input: unknown): Promise<Hooks> {
  return openPlugin(input, surroundingsOf(process));
}

type Plugin = typeof server & { readonly id: string; readonly server: typeof server };

const plugin: Plugin = Object.assign(server, { id: "tipstaff", server });

export default plugin;
