/** Inputs and outputs of tasks: bytes that may be JSON, text or neither. */

export type Form = "json" | "text" | "hex";

export type Content = {
  readonly bytes: Uint8Array;
  /** In which forms it can be shown, the best first. */
  readonly forms: readonly Form[];
};

/** More is not shown at once: a page is no place for megabytes. */
export const shownBytesMax = 64_000;

export function readContent(base64: string): Content {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const text = asText(bytes);
  if (text === undefined) return { bytes, forms: ["hex"] };
  return { bytes, forms: isJson(text) ? ["json", "text", "hex"] : ["text", "hex"] };
}

export function printContent({ bytes }: Content, form: Form): string {
  const shown = bytes.subarray(0, shownBytesMax);
  switch (form) {
    case "json":
      return shown.length < bytes.length
        ? new TextDecoder().decode(shown)
        : JSON.stringify(JSON.parse(new TextDecoder().decode(bytes)), null, 2);
    case "text":
      return new TextDecoder().decode(shown);
    case "hex":
      return hex(shown);
  }
}

function asText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function hex(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let start = 0; start < bytes.length; start += 16) {
    const line = bytes.subarray(start, start + 16);
    const digits = [...line].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const characters = [...line].map((byte) =>
      byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·",
    );
    const at = start.toString(16).padStart(6, "0");
    lines.push(`${at}  ${digits.padEnd(47)}  ${characters.join("")}`);
  }
  return lines.join("\n");
}
