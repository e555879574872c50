/** Where in tmux a process runs: both the server's socket and the pane, or nothing. */
export type Tmux = { readonly tmux_socket: string; readonly tmux_pane: string };

/** Socket, process and session; the socket is a path, and may have commas in it. */
const server = /^(.+),\d+,\d+$/s;
export const panePattern = "^%[0-9]+$";
const pane = new RegExp(panePattern);

export function tmuxOf(env: {
  readonly TMUX?: string | undefined;
  readonly TMUX_PANE?: string | undefined;
}): Tmux | undefined {
  const { TMUX = "", TMUX_PANE = "" } = env;
  const [, socket] = server.exec(TMUX) ?? [];
  if (socket === undefined || !isPane(TMUX_PANE)) return undefined;
  return { tmux_socket: socket, tmux_pane: TMUX_PANE };
}

export function isPane(text: string): boolean {
  return pane.test(text);
}
