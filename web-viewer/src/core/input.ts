/** What was done to the machine? Recorded input, read from its rows and folded into acts a person would name. */

import type { Row } from "./rows.ts";
import { bytes } from "./time.ts";

/** A place on the recorded screen, in its own pixels. */
export type Point = readonly [x: number, y: number];

/** One input event or mark, as the recorder wrote it. */
export type Act =
  | {
      readonly what: "key";
      readonly name: string;
      readonly down: boolean;
      readonly repeat: boolean;
      readonly mods: readonly string[];
    }
  | { readonly what: "run"; readonly text: string; readonly to: number }
  | { readonly what: "button"; readonly down: boolean; readonly button: string; readonly at: Point }
  /** Session ms and place of each point. */
  | { readonly what: "path"; readonly path: readonly (readonly [t: number, at: Point])[] }
  | { readonly what: "wheel"; readonly at: Point; readonly dx: number; readonly dy: number }
  | { readonly what: "clipboard"; readonly text: string }
  | { readonly what: "mark"; readonly name: string; readonly text: string };

/** What `row` tells; undefined when it is no input, or not as it should be. */
export function actOf(row: Row): Act | undefined {
  const { kind, data } = row;
  if (kind === "key") {
    const name = string(data["name"]);
    if (name === "") return undefined;
    const mods = list(data["mods"]).map(string);
    const down = data["down"] !== false;
    return { what: "key", name, down, repeat: data["repeat"] === true, mods };
  }
  if (kind === "text_run") {
    return { what: "run", text: string(data["text"]), to: endOf(row) };
  }
  if (kind === "pointer" && data["action"] === "path") {
    const path: (readonly [t: number, at: Point])[] = [];
    for (const part of list(data["path"])) {
      const [dt, x, y] = list(part).map(number);
      if (dt !== undefined && x !== undefined && y !== undefined) path.push([row.t + dt, [x, y]]);
    }
    return path.length === 0 ? undefined : { what: "path", path };
  }
  if (kind === "clipboard") return { what: "clipboard", text: clipboardWords(row) };
  if (kind === "mark") {
    const name = string(data["name"]);
    return name === "" ? undefined : { what: "mark", name, text: string(data["text"]) };
  }
  const at = point(data["at"]);
  if (at === undefined) return undefined;
  if (kind === "pointer")
    return { what: "button", down: data["action"] !== "up", button: string(data["button"]), at };
  if (kind === "wheel")
    return { what: "wheel", at, dx: number(data["dx"]) ?? 0, dy: number(data["dy"]) ?? 0 };
  return undefined;
}

/** When what `row` tells was over, in session ms: a typed run and a path last. */
export function endOf({ kind, t, data }: Row): number {
  const [dt] = list(kind === "pointer" ? list(data["path"]).at(-1) : undefined);
  return Math.max(t, (kind === "text_run" ? number(data["to"]) : t + (number(dt) ?? 0)) ?? t);
}

/** A path's row with its two ends alone: a list of a day's moves must stay small. */
export function compact(row: Row): Row {
  const path = list(row.data["path"]);
  if (row.kind !== "pointer" || path.length <= 2) return row;
  return { ...row, data: { ...row.data, path: [path[0], path.at(-1)], points: path.length } };
}

/** A stretch in which neither keys nor clipboard were kept. Half-open, session ms. */
export interface Secret {
  readonly from: number;
  readonly to: number;
}

/** What is between the marks of secret entry; what began twice ends twice, and at the latest at `end`. */
export function secrets(rows: readonly Row[], end: number): Secret[] {
  const found: Secret[] = [];
  let open = 0;
  let from = 0;
  for (const row of rows) {
    const name = row.kind === "mark" ? row.data["name"] : undefined;
    if (name === "secret.begin") {
      if (open === 0) from = row.t;
      open += 1;
    } else if (name === "secret.end" && open > 0) {
      open -= 1;
      if (open === 0) found.push({ from, to: row.t });
    }
  }
  if (open > 0) found.push({ from, to: Math.max(from, end) });
  return found;
}

/** So much of a clipboard's text is in its row. */
const SHOWN_CHARS = 200;
const MODIFIER = /^(Control|Shift|Alt|Meta|Super|Hyper)_[LR]$|^(ISO_Level3_Shift|Mode_switch)$/;
/** X11's names where people say another word. */
const WORDS: Readonly<Record<string, string>> = {
  " ": "Space",
  Control: "Ctrl",
  Prior: "PageUp",
  Next: "PageDown",
  ISO_Left_Tab: "Tab",
  KP_Enter: "Enter",
  ISO_Level3_Shift: "AltGr",
};

export const isModifier = (name: string): boolean => MODIFIER.test(name);

/** Whether the key typed something: a character, or • for one that was withheld. */
export function types(act: { readonly name: string; readonly mods: readonly string[] }): boolean {
  const plain = act.mods.every((mod) => mod === "Shift" || mod === "AltGr");
  return plain && [...act.name].length === 1;
}

/** The keys that were held together: `["Ctrl", "c"]`. What Shift does to a character is in the character. */
export function chord(act: {
  readonly name: string;
  readonly mods: readonly string[];
}): readonly string[] {
  const mods = types(act) ? [] : act.mods;
  const name = isModifier(act.name) ? act.name.replace(/_[LR]$/, "") : act.name;
  return [...mods, name].map((part) => WORDS[part] ?? part);
}

function clipboardWords({ data }: Row): string {
  const text = string(data["text"]);
  const hash = string(data["sha256"]) || string(data["hmac"]);
  const size = number(data["bytes"]);
  const rounded = data["hmac"] === undefined ? "" : "up to ";
  const way = { "to-machine": "to the machine", "from-machine": "from the machine" };
  const to = way[string(data["direction"]) as keyof typeof way] ?? "by clipboard";
  const what = [
    list(data["types"]).map(string).join(" "),
    size === undefined ? "" : rounded + bytes(size),
  ];
  const said = what.filter(Boolean).join(", ");
  const shown = text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
  if (text !== "") return `“${shown}” ${to}, ${said}`;
  return `${said.charAt(0).toUpperCase()}${said.slice(1)} ${to}${hash === "" ? "" : `, hash ${hash.slice(0, 8)}…`}`;
}

const string = (value: unknown): string => (typeof value === "string" ? value : "");
const NOTHING: readonly unknown[] = [];
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : NOTHING);
const number = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;

function point(value: unknown): Point | undefined {
  const [x, y] = list(value).map(number);
  return x === undefined || y === undefined ? undefined : [x, y];
}
