/** Which rows does the Input tab show? What belongs together is one: a typed run, a chord, a click, a drag, a move. */

import type { Point } from "./input.ts";
import { actOf, chord, isModifier, types } from "./input.ts";
import type { Row } from "./rows.ts";

/** The same key again within this is another of the same row; so are turns of the wheel. */
const AGAIN_MS = 1_000;
/** Moves with less than this between them are one. */
const MOVE_PAUSE_MS = 2_000;
/** A second click within this, and within `CLICK_PX`, is a double click. */
const DOUBLE_MS = 400;
/** A button that comes up this near to where it went down has clicked, else dragged. */
const CLICK_PX = 4;

/** A row in the making. */
interface Draft {
  readonly row: Row;
  text: string;
  /** When the last event of it was. */
  last: number;
  /** How often: keys and clicks of the same kind in a row. */
  count: number;
  /** Where it began and is; which key or button it is of. */
  from?: Point;
  at?: Point;
  of?: string;
  hidden?: boolean;
}

/** `rows` of input and marks, by time, as acts. Each keeps the id and time of its first event. */
export function foldInput(rows: readonly Row[]): Row[] {
  const fold = new Fold();
  for (const row of rows) fold.take(row);
  return fold.drafts.filter((draft) => draft.hidden !== true).map(finished);
}

function finished({ row, text, count }: Draft): Row {
  return { ...row, text: count > 1 && row.kind === "key" ? `${text} ×${count}` : text };
}

class Fold {
  readonly drafts: Draft[] = [];
  /** The last one that shows. */
  #last: Draft | undefined;
  /** Keys up to here belong to a typed run. */
  #typedTo = -1;
  /** A modifier that went down, as long as no other key has followed. */
  #tap: Draft | undefined;
  /** What is held or was clicked last, by origin and button. */
  readonly #buttons = new Map<string, Draft & { held: boolean }>();

  take(row: Row): void {
    const act = actOf(row);
    switch (act?.what) {
      case "run":
        this.#typedTo = Math.max(this.#typedTo, act.to);
        this.#hideTyped(row.t);
        return void this.#add(row, act.text);
      case "key":
        return this.#key(row, act);
      case "button":
        return this.#button(row, act);
      case "path": {
        const [, from] = act.path[0] ?? [0, [0, 0] as Point];
        const [end, to] = act.path.at(-1) ?? [row.t, from];
        return this.#move(row, from, to, end);
      }
      case "wheel":
        return this.#wheel(row, act);
      case "clipboard":
        return void this.#add(row, act.text);
      case "mark":
        return void this.#add(row, markWords(act.name, act.text));
    }
  }

  #add(row: Row, text: string): Draft {
    const draft: Draft = { row, text, last: row.t, count: 1 };
    this.drafts.push(draft);
    this.#last = draft;
    return draft;
  }

  /** The last row, if it is of this kind and recent. */
  #recent(row: Row, withinMs: number): Draft | undefined {
    const last = this.#last;
    const same = last?.row.kind === row.kind && last.row.origin === row.origin;
    return same && row.t - last.last <= withinMs ? last : undefined;
  }

  /** Keys at `t` that came before their run, which has the same time. */
  #hideTyped(t: number): void {
    for (let i = this.drafts.length - 1; (this.drafts[i]?.row.t ?? -1) >= t; i -= 1) {
      const draft = this.drafts[i] as Draft;
      const act = actOf(draft.row);
      if (act?.what === "key" && types(act)) draft.hidden = true;
    }
  }

  #key(row: Row, act: Parameters<typeof chord>[0] & { down: boolean; repeat: boolean }): void {
    const tapped = this.#tap;
    this.#tap = undefined;
    if (!act.down) {
      if (tapped?.of === act.name) tapped.hidden = false;
      return;
    }
    if (types(act) && row.t <= this.#typedTo) return;
    const text = chord(act).join("+");
    if (isModifier(act.name)) {
      if (act.repeat) return;
      const last = this.#last;
      this.#tap = Object.assign(this.#add(row, text), { of: act.name, hidden: true });
      this.#last = last;
      return;
    }
    const before = this.#recent(row, AGAIN_MS);
    if (before?.text === text) {
      before.count += 1;
      before.last = row.t;
    } else this.#add(row, text);
  }

  #button(row: Row, { button, at, down }: { button: string; at: Point; down: boolean }): void {
    const hand = `${row.origin} ${button}`;
    const open = this.#buttons.get(hand);
    const name = button.charAt(0).toUpperCase() + button.slice(1);
    if (down) {
      const again =
        open !== undefined && row.t - open.last <= DOUBLE_MS && near(open.from ?? at, at);
      const draft = again
        ? Object.assign(open, { count: open.count + 1, held: true })
        : Object.assign(this.#add(row, `${name} down at ${at}`), { held: true });
      draft.from ??= at;
      draft.last = row.t;
      this.#buttons.set(hand, draft);
    } else if (open?.held === true) {
      open.held = false;
      open.last = row.t;
      const times = ["", "click", "double-click", "triple-click"][open.count] ?? "clicks";
      const from = open.from ?? at;
      open.text = near(from, at)
        ? `${name} ${times} at ${from}`
        : `${name} drag from ${from} to ${at}`;
    } else this.#add(row, `${name} up at ${at}`);
  }

  #move(row: Row, from: Point, to: Point, end: number): void {
    for (const button of this.#buttons.values()) if (button.held) return; // part of a drag
    const before = this.#recent(row, MOVE_PAUSE_MS);
    const draft = before?.of === "move" ? before : Object.assign(this.#add(row, ""), { from });
    draft.of = "move";
    draft.last = end;
    const still = draft.from?.join() === to.join();
    draft.text = still ? `Moved to ${to}` : `Moved from ${draft.from} to ${to}`;
  }

  #wheel(row: Row, { at, dx, dy }: { at: Point; dx: number; dy: number }): void {
    const before = this.#recent(row, AGAIN_MS);
    const [x, y] = before?.at ?? [0, 0];
    const goesOn = before !== undefined && x * dx >= 0 && y * dy >= 0;
    const draft = goesOn ? before : this.#add(row, "");
    draft.at = goesOn ? [x + dx, y + dy] : [dx, dy]; // of a wheel: the steps
    draft.last = row.t;
    const turn = (steps: number, back: string, on: string): string =>
      steps === 0 ? "" : ` ${steps < 0 ? back : on} ${Math.abs(steps)}`;
    draft.text = `Wheel${turn(draft.at[1], "up", "down")}${turn(draft.at[0], "left", "right")} at ${at}`;
  }
}

function near(a: Point, b: Point): boolean {
  return Math.abs(a[0] - b[0]) <= CLICK_PX && Math.abs(a[1] - b[1]) <= CLICK_PX;
}

function markWords(name: string, text: string): string {
  const known: Readonly<Record<string, string>> = {
    "secret.begin": "Secret entry begins",
    "secret.end": "Secret entry ends",
  };
  return [known[name] ?? name, text].filter(Boolean).join(": ");
}
