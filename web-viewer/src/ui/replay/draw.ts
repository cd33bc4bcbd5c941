/** How is the timeline drawn? One pass over the lanes into a canvas, from plain data. */

import type { Idle } from "../../core/idle.ts";
import type { Density, Device, Glyph } from "../../core/lanes.ts";
import { DEVICES, glyphs, heat, marks, ticks } from "../../core/lanes.ts";
import type { Secret } from "../../core/input.ts";
import type { Outcome, Row } from "../../core/rows.ts";
import type { Gap } from "../../core/timeline.ts";

export const ACTIVITY_PX = 48;
export const LANE_PX = 20;
export const RULER_PX = 22;

/** A lane below the activity, by what it shows: input in one, or each device in its own. */
export type Lane = "log" | "input" | Device | "spans" | "masks";

/** Everything in the picture. Times are session ms. */
export interface Scene {
  readonly from: number;
  readonly to: number;
  readonly lanes: readonly Lane[];
  readonly density: Density | undefined;
  readonly log: readonly Row[];
  readonly input: readonly Row[];
  readonly secrets: readonly Secret[];
  readonly spans: readonly { readonly t: number; readonly end: number; readonly failed: boolean }[];
  /** From each asking to its decision. */
  readonly waits: readonly { readonly from: number; readonly to: number }[];
  readonly masks: readonly { readonly from: number; readonly to: number }[];
  readonly gaps: readonly (Gap & { readonly words: string })[];
  readonly idle: readonly Idle[];
  readonly resizes: readonly { readonly t: number; readonly text: string }[];
  /** What is added to a time for its round tick, and how a tick is labelled. */
  readonly origin: number;
  readonly label: (t: number, spanMs: number) => string;
}

/** Colours by token name. */
export type Palette = (token: string) => string;

export function heightOf(lanes: readonly Lane[]): number {
  return ACTIVITY_PX + lanes.length * LANE_PX + RULER_PX;
}

/** Draws `scene` over `width` css px; the context is already scaled to them. */
export function draw(
  g: CanvasRenderingContext2D,
  scene: Scene,
  width: number,
  colour: Palette,
): void {
  const x = (t: number): number => ((t - scene.from) / (scene.to - scene.from)) * width;
  const height = heightOf(scene.lanes);
  g.clearRect(0, 0, width, height);
  drawActivity(g, scene, width, x, colour);
  const input = marks(scene.input, x, width);
  scene.lanes.forEach((lane, i) => {
    const top = ACTIVITY_PX + i * LANE_PX;
    g.fillStyle = colour("line");
    g.fillRect(0, top + LANE_PX - 1, width, 1);
    if (lane === "log") {
      drawWaits(g, scene, top, x, colour);
      drawLog(g, glyphs(scene.log, x, width, 12), top, colour);
    }
    const devices = lane === "input" ? DEVICES : DEVICES.filter((device) => device === lane);
    if (devices.length > 0) {
      drawSecrets(g, scene, top, x, colour);
      drawInput(g, input, devices, top, colour);
    }
    if (lane === "masks")
      for (const m of scene.masks) bar(g, x(m.from), x(m.to) - x(m.from), top, colour("mask"));
    if (lane === "spans") drawSpans(g, scene, top, x, colour);
  });
  drawGaps(g, scene, x, height - RULER_PX, colour);
  drawRuler(g, scene, width, height, x, colour);
}

/** Bars of input reach so far below the others: the cause shows without colour. */
const FOOT_PX = 4;

function drawActivity(
  g: CanvasRenderingContext2D,
  scene: Scene,
  width: number,
  x: (t: number) => number,
  colour: Palette,
): void {
  const pitch = 3;
  const base = ACTIVITY_PX - 8;
  if (scene.density !== undefined) {
    const bars = heat(scene.density, Math.max(1, Math.floor(width / pitch)), scene.from, scene.to);
    bars.forEach(({ height, byInput }, i) => {
      if (height <= 0) return;
      g.fillStyle = colour(byInput ? "key" : "accent");
      g.globalAlpha = 0.4 + 0.6 * height;
      const h = Math.max(2, height * (base - 4));
      g.fillRect(i * pitch, base - h, 2, h + (byInput ? FOOT_PX : 0));
    });
    g.globalAlpha = 1;
  }
  g.fillStyle = colour("muted");
  for (const idle of scene.idle) {
    for (let at = Math.max(0, x(idle.from)); at < Math.min(width, x(idle.to)); at += 4)
      g.fillRect(at, base - 2, 2, 1.5);
  }
  for (const row of scene.log) {
    if (row.outcome !== "blocked") continue;
    g.fillStyle = colour("blocked"); // heat never hides Blocked
    g.fillRect(x(row.t) - 0.75, 2, 1.5, base - 2);
  }
}

function bar(
  g: CanvasRenderingContext2D,
  left: number,
  w: number,
  top: number,
  fill: string,
): void {
  g.fillStyle = fill;
  g.beginPath();
  g.roundRect(left, top + 4, Math.max(2, w), LANE_PX - 9, 1);
  g.fill();
}

function drawSpans(
  g: CanvasRenderingContext2D,
  scene: Scene,
  top: number,
  x: (t: number) => number,
  colour: Palette,
): void {
  for (const span of scene.spans) {
    const left = x(span.t);
    const w = Math.max(2, x(span.end) - left);
    g.globalAlpha = 0.8;
    bar(g, left, w, top, colour("span"));
    g.globalAlpha = 1;
    if (!span.failed) continue;
    g.fillStyle = colour("panel"); // a notched edge: an error without colour
    g.beginPath();
    g.moveTo(left + w, top + 4);
    g.lineTo(left + w - 6, top + 9.5);
    g.lineTo(left + w, top + 15);
    g.fill();
  }
}

/** Where input was withheld, a bar behind the lane. */
function drawSecrets(
  g: CanvasRenderingContext2D,
  scene: Scene,
  top: number,
  x: (t: number) => number,
  colour: Palette,
): void {
  g.fillStyle = colour("mask");
  g.globalAlpha = 0.45;
  for (const { from, to } of scene.secrets)
    g.fillRect(x(from), top + 1, Math.max(2, x(to) - x(from)), LANE_PX - 3);
  g.globalAlpha = 1;
}

/** The `devices` of a lane below each other: a tick where something begins, a line while it lasts. */
function drawInput(
  g: CanvasRenderingContext2D,
  columns: ReturnType<typeof marks>,
  devices: readonly Device[],
  top: number,
  colour: Palette,
): void {
  const inset = devices.length > 1 ? 1 : 4;
  const pitch = (LANE_PX - 2 * inset) / devices.length;
  devices.forEach((device, i) => {
    const y = top + inset + i * pitch;
    g.fillStyle = colour(device);
    for (const at of columns[device].at) g.fillRect(at, y, 2, pitch - 1);
    for (const at of columns[device].on) g.fillRect(at, y + pitch / 2 - 1, 1, 1.5);
  });
}

/** The wait for a decision is one bar. */
function drawWaits(
  g: CanvasRenderingContext2D,
  scene: Scene,
  top: number,
  x: (t: number) => number,
  colour: Palette,
): void {
  g.fillStyle = colour("asked");
  g.globalAlpha = 0.35;
  for (const wait of scene.waits) g.fillRect(x(wait.from), top + 8, x(wait.to) - x(wait.from), 3);
  g.globalAlpha = 1;
}

function drawLog(
  g: CanvasRenderingContext2D,
  found: readonly Glyph[],
  top: number,
  colour: Palette,
): void {
  g.lineWidth = 1.8;
  g.lineCap = "round";
  const y = top + 9.5;
  for (const glyph of found) {
    g.strokeStyle = g.fillStyle = colour(glyph.outcome);
    SHAPES[glyph.outcome](g, glyph.x, y);
    if (glyph.count > 9) {
      g.font = "600 9px system-ui, sans-serif";
      g.fillText(glyph.count > 99 ? "99+" : String(glyph.count), glyph.x + 5, y + 3);
    }
  }
}

const SHAPES: Readonly<
  Record<Outcome, (g: CanvasRenderingContext2D, x: number, y: number) => void>
> = {
  blocked: (g, x, y) => {
    g.beginPath();
    g.moveTo(x - 4, y - 4);
    g.lineTo(x + 4, y + 4);
    g.moveTo(x + 4, y - 4);
    g.lineTo(x - 4, y + 4);
    g.stroke();
  },
  asked: (g, x, y) => {
    g.font = "700 13px system-ui, sans-serif";
    g.textAlign = "center";
    g.fillText("?", x, y + 4.5);
    g.textAlign = "left";
  },
  allowed: (g, x, y) => {
    g.beginPath();
    g.moveTo(x - 4, y);
    g.lineTo(x - 1, y + 3.5);
    g.lineTo(x + 4.5, y - 4);
    g.stroke();
  },
  recorded: (g, x, y) => {
    g.beginPath();
    g.arc(x, y, 2.6, 0, Math.PI * 2);
    g.fill();
  },
};

function drawGaps(
  g: CanvasRenderingContext2D,
  scene: Scene,
  x: (t: number) => number,
  height: number,
  colour: Palette,
): void {
  for (const gap of scene.gaps) {
    const left = x(gap.from);
    const w = Math.max(2, x(gap.to) - left);
    g.save();
    g.beginPath();
    g.rect(left, 0, w, height);
    g.clip();
    g.fillStyle = colour("gap");
    g.globalAlpha = 0.28;
    g.fillRect(left, 0, w, height);
    g.globalAlpha = 0.75;
    g.strokeStyle = colour("gap");
    g.lineWidth = 1;
    g.beginPath();
    for (let at = left - height; at < left + w; at += 7) {
      g.moveTo(at, height);
      g.lineTo(at + height, 0);
    }
    g.stroke();
    g.restore();
    g.font = "12px system-ui, sans-serif";
    const words = g.measureText(gap.words).width;
    if (words + 16 > w) continue;
    g.fillStyle = colour("panel");
    g.beginPath();
    g.roundRect(left + (w - words) / 2 - 5, 10, words + 10, 18, 4);
    g.fill();
    g.fillStyle = colour("muted");
    g.fillText(gap.words, left + (w - words) / 2, 23);
  }
}

function drawRuler(
  g: CanvasRenderingContext2D,
  scene: Scene,
  width: number,
  height: number,
  x: (t: number) => number,
  colour: Palette,
): void {
  g.font = "12px system-ui, sans-serif";
  g.fillStyle = colour("muted");
  for (const t of ticks(scene.from, scene.to, scene.origin, width, width < 500 ? 110 : 150)) {
    const text = scene.label(t, scene.to - scene.from);
    const at = Math.min(x(t), width - g.measureText(text).width);
    g.fillText(text, at, height - 5);
    g.fillRect(x(t), height - RULER_PX, 1, 4);
  }
  g.fillStyle = colour("text");
  for (const resize of scene.resizes) {
    const at = x(resize.t);
    g.beginPath();
    g.moveTo(at - 4, height - RULER_PX);
    g.lineTo(at + 4, height - RULER_PX);
    g.lineTo(at, height - RULER_PX + 6);
    g.fill();
  }
}
