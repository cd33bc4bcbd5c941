/** How is recorded text shown safely? It is hostile input: what would hide or reorder is made visible. */

// Zero-width joiners stay: scripts and emoji need them, and they reorder nothing.
const UNSEEN =
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF\uFFF9-\uFFFB]|[\u{E0000}-\u{E007F}]/gu;

/** `text` with control, bidi and invisible characters as `␛` or `⟨U+202E⟩`; tab and line feed stay. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (char) => {
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** `visible`, on one line: for a row of fixed height. */
export function oneLine(text: string): string {
  return visible(text.replace(/\s*\n\s*/g, " ⏎ "));
}
