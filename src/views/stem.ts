/**
 * Brings the forms of an English word together: browse, browses, browsing and browser are all `brows`.
 * A stem need not be a word. Two words that meet by mistake cost little, because ranking removes
 * nothing; two that miss each other cost more. Other languages and anything with digits stay as they are.
 */

/** Words that the rules would get wrong. */
const kept: ReadonlyMap<string, string> = new Map([
  // Not those who custom, doct, fact, let or numb, nor what was emb.
  ["customer", "customer"],
  ["doctor", "doctor"],
  ["factor", "factor"],
  ["letter", "letter"],
  ["number", "number"],
  ["embed", "embed"],
  ["news", "news"],
  ["apis", "api"],
  ["clis", "cli"],
  ["guis", "gui"],
]);

export function stem(word: string): string {
  if (word.length < 3 || !isEnglish(word)) return word;
  const singular = word.length > 3 && word.endsWith("s") ? withoutPlural(word) : word;
  return kept.get(singular) ?? withoutEnding(withoutSuffix(withoutTense(singular)));
}

/** queries → queri, fetches → fetch, browses → brows, images → image; not status, class or analysis. */
function withoutPlural(word: string): string {
  if (kept.has(word)) return word;
  if (word.endsWith("ies") && word.length > 4) return word.slice(0, -2);
  if (word.endsWith("es") && /(?:ch|sh|[sxz])es$/.test(word)) return word.slice(0, -2);
  return "siu".includes(word.charAt(word.length - 2)) ? word : word.slice(0, -1);
}

/** running → run, scraped → scrap, queried → queri; not string, feed or bring. */
function withoutTense(word: string): string {
  if (word.endsWith("ing")) return shortened(word, 3);
  if (!word.endsWith("ed") || word.endsWith("eed")) return word;
  return word.endsWith("ied") && word.length > 4 ? word.slice(0, -2) : shortened(word, 2);
}

/** translation → translat, classification → classifi, crawler → crawl, extractor → extract. */
function withoutSuffix(word: string): string {
  if (word.endsWith("ion")) return withoutIon(word);
  const isDoer = word.endsWith("er") || word.endsWith("tor") || word.endsWith("sor");
  return isDoer && !word.endsWith("eer") ? shortened(word, 2) : word;
}

function withoutIon(word: string): string {
  if (word.endsWith("ification")) return word.slice(0, -6);
  if (/(?:i[sz]|ment|orm|end)ation$/.test(word)) return word.slice(0, -5);
  return word.length > 7 && /(?:[^s]t|s)ion$/.test(word) ? word.slice(0, -3) : word;
}

/** query → queri, translate → translat, analyse and analysis → analyz. */
function withoutEnding(word: string): string {
  if (word.endsWith("y")) {
    return "aeiou".includes(word.charAt(word.length - 2)) ? word : `${word.slice(0, -1)}i`;
  }
  const isSilent = word.endsWith("e") && word.length > 3 && !word.endsWith("ee");
  const root = isSilent ? word.slice(0, -1) : word;
  if (!root.endsWith("s") || root.length < 6) return root;
  if (root.endsWith("ysis")) return `${root.slice(0, -3)}z`;
  return /[iy]s$/.test(root) ? `${root.slice(0, -1)}z` : root;
}

/** The word without its last letters if a root is left, and without the doubling that they brought. */
function shortened(word: string, letters: number): string {
  const root = word.slice(0, -letters);
  if (root.length < 3 || !/[aeiouy]/.test(root)) return word;
  const last = root.charAt(root.length - 1);
  const isDoubled = last === root.charAt(root.length - 2) && "bdgmnprt".includes(last);
  return isDoubled && root.length > 3 ? root.slice(0, -1) : root;
}

/** Whether it is made of the letters a to z. Every word of every card comes here: a loop is quickest. */
function isEnglish(word: string): boolean {
  for (let index = 0; index < word.length; index++) {
    const code = word.charCodeAt(index);
    if (code < 97 || code > 122) return false;
  }
  return true;
}
