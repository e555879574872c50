/** Ports for servers that are to be found where they were before, or that cannot say where they are. */
import { once } from "node:events";
import { createServer } from "node:net";

const [first, count] = [20_000, 12_000];
/** Each process begins elsewhere, and gives each port away once: who asks next may do so before it is used. */
let next = (process.pid * 61) % count;

/**
 * A port of the IPv4 loopback address that nobody has. It is none of those that systems give to whoever asks for
 * any: one of these could be gone as soon as it is needed, or while a server that is killed comes back.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + next;
    next = (next + 1) % count;
    const server = createServer();
    const isFree = once(server, "listening").then(
      () => true,
      () => false,
    );
    server.listen(port, "127.0.0.1");
    if (!(await isFree)) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}
