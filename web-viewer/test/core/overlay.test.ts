import assert from "node:assert/strict";
import { test } from "node:test";

import {
  placeOn,
  pointerAt,
  REST_MS,
  RIPPLE_MS,
  ripples,
  sceneOf,
  strip,
  STRIP_MS,
} from "../../src/core/overlay.ts";
import { rowsOf } from "./rows.ts";

type Told = readonly [t: number, kind: string, data: object];

const scene = (...told: readonly Told[]) => sceneOf(rowsOf(["t", "kind", "data"], told));
const key = (t: number, name: string, ...mods: string[]): Told => [
  t,
  "key",
  { name, down: true, mods },
];
const typed = (told: readonly Told[], t: number): string[] =>
  strip(scene(...told), t).map(
    ({ keys, count }) => keys.join("+") + (count > 1 ? ` ×${count}` : ""),
  );

test("a key is in the strip from its moment on, for a moment and a half", () => {
  const told = [key(1_000, "Return")];
  assert.deepEqual(typed(told, 999), []);
  assert.deepEqual(typed(told, 1_000), ["Return"]);
  assert.deepEqual(typed(told, 1_000 + STRIP_MS - 1), ["Return"]);
  assert.deepEqual(typed(told, 1_000 + STRIP_MS), []);
});

test("typed keys join, chords stay whole, and what was withheld is a dot", () => {
  const told = [
    key(0, "o"),
    key(90, "k"),
    key(200, "•"),
    key(300, "Control_L"),
    key(320, "v", "Control"),
    key(400, "Tab"),
    key(450, "Tab"),
    [480, "key", { name: "Tab", down: false }] satisfies Told,
    key(500, "A", "Shift"),
  ];
  assert.deepEqual(typed(told, 250), ["ok•"]);
  assert.deepEqual(typed(told, 500), ["ok•", "Ctrl+v", "Tab ×2", "A"]);
});

test("a key that two origins saw is in the strip once", () => {
  const seen = ["wire", "guest"].flatMap((origin, i) =>
    ["l", "l", "o"].map(
      (name, n) => [n * 90 + i * 6, "key", origin, { name, down: true }] as const,
    ),
  );
  const told = seen.sort((a, b) => a[0] - b[0]);
  const both = sceneOf(rowsOf(["t", "kind", "origin", "data"], told));
  assert.deepEqual(strip(both, 300)[0]?.keys, ["llo"]);
});

test("the strip holds the newest keys of a storm", () => {
  const storm = Array.from({ length: 5_000 }, (_, i) => key(i / 10, String(i % 10)));
  assert.deepEqual(typed(storm, 499), ["…789012345678901234567890"]);
});

test("the pointer is where its path says at that moment, and rests for a while", () => {
  const moved = scene(
    [
      1_000,
      "pointer",
      {
        action: "path",
        path: [
          [0, 10, 10],
          [100, 20, 10],
          [900, 90, 50],
        ],
      },
    ],
    [1_500, "pointer", { action: "down", button: "left", at: [30, 20] }],
    [1_600, "pointer", { action: "up", button: "left", at: [30, 20] }],
  );
  const at = (t: number, since = 0) => pointerAt(moved, t, since);
  assert.equal(at(999), undefined);
  assert.deepEqual(at(1_000), { at: [10, 10], held: "" });
  assert.deepEqual(at(1_499), { at: [20, 10], held: "" });
  assert.deepEqual(at(1_500), { at: [30, 20], held: "left" });
  assert.deepEqual(at(1_899), { at: [30, 20], held: "" });
  assert.deepEqual(at(1_900 + REST_MS), { at: [90, 50], held: "" });
  assert.equal(at(1_901 + REST_MS), undefined);
  assert.equal(at(2_500, 2_000), undefined, "places on another screen are none on this one");
});

test("a click ripples at its own place and time, and not across a change of size", () => {
  const clicked = scene([500, "pointer", { action: "down", button: "right", at: [3, 4] }]);
  assert.deepEqual(ripples(clicked, 499, 0), []);
  assert.deepEqual(ripples(clicked, 500, 0), [{ t: 500, at: [3, 4], button: "right", age: 0 }]);
  assert.equal(ripples(clicked, 500 + RIPPLE_MS / 2, 0)[0]?.age, 0.5);
  assert.deepEqual(ripples(clicked, 500 + RIPPLE_MS, 0), []);
  assert.deepEqual(ripples(clicked, 600, 550), []);
});

test("a place is the middle of its pixel, and none is outside of the picture", () => {
  assert.deepEqual(placeOn([100, 50], [0, 0]), [0.5, 1]);
  assert.deepEqual(placeOn([641, 401], [640, 400]), [(640.5 / 641) * 100, (400.5 / 401) * 100]);
  assert.equal(placeOn([641, 401], [641, 0]), undefined);
  assert.equal(placeOn([641, 401], [0, -1]), undefined);
});
