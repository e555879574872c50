/** Whether a text is valid JSON, which has no `Infinity` and no `NaN`. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
