/**
 * Names of files are bytes, and not always UTF-8. A byte that is none is a lone surrogate here, U+DC80 to U+DCFF, as
 * in Python: so each name is a text, no two are the same, and the bytes can be had again.
 */
export function decodeName(bytes: Buffer): string {
  let name = "";
  for (let at = 0; at < bytes.length; ) {
    const length = [1, 2, 3, 4].find((count) => isUtf8(bytes.subarray(at, at + count)));
    const some = bytes.subarray(at, at + (length ?? 1));
    name += length ? some.toString() : String.fromCharCode(0xdc00 + (some[0] ?? 0));
    at += some.length;
  }
  return name;
}

/** What the system has to be asked for. */
export function systemPath(path: string): string | Buffer {
  if (path.isWellFormed()) return path;
  return Buffer.concat(Array.from(path, (character) => bytesOf(character)));
}

function bytesOf(character: string): Buffer {
  const code = character.charCodeAt(0);
  const isByte = character.length === 1 && code >= 0xdc80 && code <= 0xdcff;
  return isByte ? Buffer.of(code - 0xdc00) : Buffer.from(character);
}

function isUtf8(bytes: Buffer): boolean {
  return Buffer.from(bytes.toString()).equals(bytes);
}
