/** What do keyboard and pointer do at `t`? The overlay of the stage, from recorded events alone. */

import type { Point } from "./input.ts";
import { actOf, chord, isModifier, types } from "./input.ts";
import type { Row } from "./rows.ts";
import { upperBound } from "./timeline.ts";

/** A key stays in the strip this long (viewer.md 4.2). */
export const STRIP_MS = 1_500;
/** A click's ripple takes this long. */
export const RIPPLE_MS = 700;
/** The pointer is ringed for this long after the last place that was told. */
export const REST_MS = 10_000;
/** So much before a moment must be known to draw it: a rest, after a path of a second. */
export const LEAD_MS = REST_MS + 2_000;
/** More clicks at a time than these are no person's, and could not be told apart. */
const RIPPLES = 8;
/** The strip has room for this many chords, and a chord of typed text for this many characters. */
const CHORDS = 5;
const CHARS = 24;

/** The same key, seen by two origins, is told within this. */
const SAME_MS = 150;

/** A key that went down at `t`, with what was held beside it. */
interface Stroke {
  readonly t: number;
  readonly origin: string;
  readonly keys: readonly string[];
  /** What it typed; empty for a chord or control key. */
  readonly typed: string;
}

interface Click {
  readonly t: number;
  readonly at: Point;
  readonly button: string;
  /** When the button came up; Infinity while that is not known. */
  up: number;
}

/** Input of some stretch of a session, ready to be asked for any moment in it. */
export interface Scene {
  readonly strokes: readonly Stroke[];
  readonly places: readonly { readonly t: number; readonly at: Point }[];
  readonly clicks: readonly Click[];
}

/** The scene of `rows`, which are in time order. */
export function sceneOf(rows: readonly Row[]): Scene {
  const strokes: Stroke[] = [];
  const places: { t: number; at: Point }[] = [];
  const clicks: Click[] = [];
  for (const row of rows) {
    const act = actOf(row);
    if (act?.what === "key" && act.down && !isModifier(act.name)) {
      const typed = types(act) ? act.name : "";
      const stroke = { t: row.t, origin: row.origin, keys: chord(act), typed };
      if (!isKnown(strokes, stroke)) strokes.push(stroke);
    }
    if (act?.what === "path") for (const [t, at] of act.path) places.push({ t, at });
    if (act?.what === "wheel" || act?.what === "button") places.push({ t: row.t, at: act.at });
    if (act?.what !== "button") continue;
    if (act.down) clicks.push({ t: row.t, at: act.at, button: act.button, up: Infinity });
    const held = clicks.findLast((click) => click.button === act.button);
    if (!act.down && held !== undefined && held.up === Infinity) held.up = row.t;
  }
  // A path is told when it began: what it holds may lie after the events that follow it.
  return { strokes, places: places.sort((a, b) => a.t - b.t), clicks };
}

/** Whether another origin has told of the same key already: the wire and the machine itself both see it. */
function isKnown(strokes: readonly Stroke[], { t, origin, keys }: Stroke): boolean {
  for (let i = strokes.length - 1; i >= 0; i -= 1) {
    const before = strokes[i] as Stroke;
    if (t - before.t > SAME_MS) return false;
    if (before.origin !== origin && before.keys.join() === keys.join()) return true;
  }
  return false;
}

/** What one chip of the strip says: keys pressed together, or text typed, and how often. */
export interface Chip {
  readonly keys: readonly string[];
  readonly typed: boolean;
  readonly count: number;
}

/** The strip at `t`: chords and typed text of the last moments, the newest at the end. */
export function strip({ strokes }: Scene, t: number): Chip[] {
  const chips: { keys: string[]; typed: boolean; count: number }[] = [];
  const first = upperBound(strokes, (stroke) => stroke.t <= t - STRIP_MS);
  const end = upperBound(strokes, (stroke) => stroke.t <= t);
  for (const { keys, typed } of strokes.slice(Math.max(first, end - 200), end)) {
    const last = chips.at(-1);
    const text = last?.keys[0] ?? "";
    if (typed !== "" && last?.typed === true) last.keys = [text + typed];
    else if (typed === "" && last?.typed === false && last.keys.join() === keys.join())
      last.count += 1;
    else chips.push({ keys: typed === "" ? [...keys] : [typed], typed: typed !== "", count: 1 });
  }
  for (const chip of chips) {
    const characters = [...(chip.keys[0] ?? "")];
    if (chip.typed && characters.length > CHARS)
      chip.keys = [`…${characters.slice(-CHARS).join("")}`];
  }
  return chips.slice(-CHORDS);
}

/** The pointer at a moment. */
export interface Pointer {
  readonly at: Point;
  /** The button that is held down; empty for none. */
  readonly held: string;
}

/** The pointer at `t`; undefined when its place was not told lately, or not since `since`. */
export function pointerAt(scene: Scene, t: number, since: number): Pointer | undefined {
  const { places, clicks } = scene;
  const last = places[upperBound(places, (place) => place.t <= t) - 1];
  if (last === undefined || last.t < since || t - last.t > REST_MS) return undefined;
  const click = clicks[upperBound(clicks, (click) => click.t <= t) - 1];
  const held = click !== undefined && t < click.up && click.t >= since;
  return { at: last.at, held: held ? click.button : "" };
}

/** A click on the stage, whose `age` goes from 0 to 1. */
export interface Ripple {
  readonly t: number;
  readonly at: Point;
  readonly button: string;
  readonly age: number;
}

/** The clicks that show at `t`, none from before `since`. */
export function ripples({ clicks }: Scene, t: number, since: number): Ripple[] {
  const first = upperBound(clicks, (click) => click.t < since || click.t <= t - RIPPLE_MS);
  const end = upperBound(clicks, (click) => click.t <= t);
  return clicks
    .slice(Math.max(first, end - RIPPLES), end)
    .map(({ t: from, at, button }) => ({ t: from, at, button, age: (t - from) / RIPPLE_MS }));
}

/** Where the middle of pixel `at` lies on a picture of `size`, in percent of it; undefined outside. */
export function placeOn(
  size: readonly [w: number, h: number],
  at: Point,
): readonly [left: number, top: number] | undefined {
  const inside = at.every((value, i) => 0 <= value && value < (size[i] ?? 0));
  if (!inside) return undefined;
  return [((at[0] + 0.5) / size[0]) * 100, ((at[1] + 0.5) / size[1]) * 100];
}
