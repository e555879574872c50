/** Transports whose frames are kept, in both directions, and whose link can be cut. */
import type { Frame, Transport } from "../../../src/transport/index.ts";

export class Recording {
  readonly sent: Frame[] = [];
  readonly received: Frame[] = [];
  readonly #open: Transport[] = [];

  /** The same transport. */
  keep(transport: Transport): Transport {
    this.#open.push(transport);
    const sendText = transport.sendText.bind(transport);
    transport.sendText = (text) => {
      this.sent.push(JSON.parse(text));
      return sendText(text);
    };
    const onFrame = transport.onFrame.bind(transport);
    transport.onFrame = (handler) =>
      onFrame((frame) => {
        this.received.push(frame);
        return handler(frame);
      });
    return transport;
  }

  /** Closes the newest link without a farewell, as a network would. Resolves when it is down. */
  async cut(): Promise<void> {
    await this.#open.at(-1)?.close("cut");
  }

  typesSent(): readonly string[] {
    return this.sent.map(({ type }) => String(type));
  }
}
