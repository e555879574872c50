/** A door before a runtime's: whatever is said behind the welcome stays here until it is let through. */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

export class SlowDoor implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #kept: { readonly to: Socket; readonly bytes: Buffer }[] = [];
  #isOpen = false;

  static async before(port: number): Promise<SlowDoor> {
    const door = new SlowDoor(port);
    door.#server.listen(0, "127.0.0.1");
    await once(door.#server, "listening");
    return door;
  }

  private constructor(port: number) {
    this.#server = createServer((caller) => {
      const runtime = connect(port, "127.0.0.1");
      for (const socket of [caller, runtime]) {
        this.#sockets.add(socket);
        socket.on("error", () => socket.destroy());
      }
      caller.pipe(runtime);
      let isWelcome = false;
      runtime.on("data", (bytes: Buffer) => {
        if (isWelcome && !this.#isOpen) this.#kept.push({ to: caller, bytes });
        else caller.write(bytes);
        isWelcome ||= bytes.includes("session.welcome");
      });
      runtime.on("close", () => caller.destroy());
      caller.on("close", () => runtime.destroy());
    });
  }

  get address(): string {
    const address = this.#server.address();
    return `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  }

  /** What was not let through, as far as it is text. */
  get kept(): string {
    return this.#kept.map(({ bytes }) => bytes.toString()).join("");
  }

  open(): void {
    this.#isOpen = true;
    for (const { to, bytes } of this.#kept.splice(0)) to.write(bytes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}
