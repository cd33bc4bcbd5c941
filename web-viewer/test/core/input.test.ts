import assert from "node:assert/strict";
import { test } from "node:test";

import { foldInput } from "../../src/core/fold.ts";
import { compact, secrets } from "../../src/core/input.ts";
import { marks } from "../../src/core/lanes.ts";
import type { Row } from "../../src/core/rows.ts";
import { rowsOf } from "./rows.ts";

type Told = readonly [t: number, kind: string, data: object, origin?: string];

const rows = (...told: readonly Told[]): Row[] => rowsOf(["t", "kind", "data", "origin"], told);

/** What the Input tab shows of `told`. */
function check(told: readonly Told[], expected: readonly string[]): void {
  const shown = foldInput(rows(...told)).map((row) => `${row.t} ${row.text}`);
  assert.deepEqual(shown, expected);
}

const down = (t: number, name: string, ...mods: string[]): Told => [
  t,
  "key",
  { name, down: true, mods },
];
const up = (t: number, name: string): Told => [t, "key", { name, down: false }];
const run = (t: number, text: string, to: number): Told => [
  t,
  "text_run",
  { text, keys: text.length, to },
];
const button = (t: number, action: string, at: readonly number[], name = "left"): Told => [
  t,
  "pointer",
  { action, button: name, at },
];
const path = (t: number, ...points: readonly (readonly number[])[]): Told => [
  t,
  "pointer",
  { action: "path", path: points },
];

test("the keys of a typed run are shown once, as the run", () => {
  check(
    [
      down(100, "h"),
      up(140, "h"),
      run(100, "hi", 200),
      down(150, "Shift_L"),
      down(200, "i", "Shift"),
      up(210, "i"),
      up(220, "Shift_L"),
      down(300, "Return"),
    ],
    ["100 hi", "300 Return"],
  );
});

test("withheld keys make a run as well, and a key without one stands alone", () => {
  check([down(5, "•"), run(5, "••", 9), down(9, "•"), down(2_000, "•")], ["5 ••", "2000 •"]);
});

test("keys that are held together are a chord, and the same one again is counted", () => {
  check(
    [
      down(0, "Control_L"),
      down(50, "c", "Control"),
      up(60, "c"),
      down(90, "T", "Control", "Shift"),
      up(95, "T"),
      up(99, "Control_L"),
      down(200, "BackSpace"),
      [230, "key", { name: "BackSpace", down: true, repeat: true }],
      down(260, "BackSpace"),
      down(5_000, "BackSpace"),
      down(6_000, "•", "Control"),
    ],
    ["50 Ctrl+c", "90 Ctrl+Shift+T", "200 BackSpace ×3", "5000 BackSpace", "6000 Ctrl+•"],
  );
});

test("a modifier shows only when it is tapped alone", () => {
  check(
    [down(0, "Super_L"), up(80, "Super_L"), down(900, "Shift_L"), down(950, "Tab", "Shift")],
    ["0 Super", "950 Shift+Tab"],
  );
});

test("clicks, double clicks and drags are told from each other", () => {
  check(
    [
      button(0, "down", [10, 20]),
      button(80, "up", [11, 20]),
      button(300, "down", [11, 21]),
      button(380, "up", [11, 21]),
      button(2_000, "down", [10, 20]),
      path(2_100, [0, 10, 20], [300, 90, 70]),
      button(2_500, "up", [90, 70]),
      button(3_000, "down", [5, 5], "right"),
    ],
    [
      "0 Left double-click at 10,20",
      "2000 Left drag from 10,20 to 90,70",
      "3000 Right down at 5,5",
    ],
  );
});

test("moves and turns of the wheel are folded until something else happens or they rest", () => {
  const wheel = (t: number, dy: number): Told => [t, "wheel", { at: [1, 2], dx: 0, dy }];
  check(
    [
      path(0, [0, 1, 1], [900, 5, 5]),
      path(1_000, [0, 6, 6], [900, 9, 9]),
      path(9_000, [0, 9, 9], [10, 8, 8]),
      path(12_500, [0, 3, 4]),
      wheel(13_000, 3),
      wheel(13_400, 2),
      wheel(13_500, -1),
    ],
    [
      "0 Moved from 1,1 to 9,9",
      "9000 Moved from 9,9 to 8,8",
      "12500 Moved to 3,4",
      "13000 Wheel down 5 at 1,2",
      "13500 Wheel up 1 at 1,2",
    ],
  );
});

test("a clipboard tells its size, and its hash or the text that was kept", () => {
  check(
    [
      [
        1,
        "clipboard",
        { direction: "to-machine", types: ["text"], bytes: 128, hmac: "abcdef0123" },
      ],
      [
        2,
        "clipboard",
        {
          direction: "from-machine",
          types: ["text", "html"],
          bytes: 5,
          sha256: "ff",
          text: "hello",
        },
      ],
    ],
    [
      "1 Text, up to 128 B to the machine, hash abcdef01…",
      "2 “hello” from the machine, text html, 5 B",
    ],
  );
});

test("marks are in their place; what is not as it should be is left out", () => {
  check(
    [
      [1, "mark", { name: "secret.begin", text: "login" }],
      [2, "mark", { name: "step.4" }],
      [3, "mark", {}],
      [4, "key", { name: 7 }],
      [5, "pointer", { action: "down", button: "left", at: ["x", 2] }],
      [6, "pointer", { action: "path", path: "none" }],
      [7, "wheel", {}],
    ],
    ["1 Secret entry begins: login", "2 step.4"],
  );
});

test("secret entry that began twice ends twice, and an early end is no credit", () => {
  const mark = (t: number, name: string): Told => [t, "mark", { name }];
  const [begin, end] = ["secret.begin", "secret.end"];
  const told = rows(
    mark(1, end),
    mark(2, begin),
    mark(3, begin),
    mark(4, end),
    mark(5, end),
    mark(8, begin),
  );
  assert.deepEqual(secrets(told, 20), [
    { from: 2, to: 5 },
    { from: 8, to: 20 },
  ]);
});

test("of a long path a list keeps the ends", () => {
  const [row] = rows(path(0, [0, 1, 1], [10, 2, 2], [20, 3, 3])).map(compact);
  assert.deepEqual(row?.data["path"], [
    [0, 1, 1],
    [20, 3, 3],
  ]);
  assert.equal(row?.data["points"], 3);
});

test("the lane has one mark a column and device, however much happened there", () => {
  const many = Array.from({ length: 1_000 }, (_, i): Told => down(i, "a"));
  const found = marks(rows(...many, path(1_000, [0, 1, 1])), (t) => t / 100, 20);
  assert.equal(found.key.at.size, 10);
  assert.deepEqual([...found.pointer.at], [10]);
  assert.equal(found.clip.at.size, 0);
});

test("what lasts goes on in the lane until it ends, from before the view and beyond it", () => {
  const told = [run(0, "abc", 250), path(400, [0, 1, 1], [300, 2, 2]), run(1_800, "d", 9_000)];
  const found = marks(rows(...told, down(500, "a")), (t) => t / 100 - 1, 20);
  assert.deepEqual([[...found.key.at], [...found.pointer.at]], [[17, 4], [3]]);
  assert.deepEqual(
    [[...found.key.on], [...found.pointer.on]],
    [
      [1, 18, 19, 20],
      [4, 5, 6],
    ],
  );
});

test("a hundred thousand events fold into what is left to read", () => {
  const told = Array.from({ length: 20_000 }, (_, i): readonly Told[] => {
    const t = i * 4_000;
    return [
      down(t, "a"),
      run(t, "ab", t + 100),
      down(t + 100, "b"),
      path(t + 200, [0, i % 500, 1], [9, 2, 2]),
      down(t + 300, "Tab"),
    ];
  }).flat();
  const read = rows(...told);
  const began = performance.now();
  assert.equal(foldInput(read).length, 60_000);
  console.log(`fold of 100 000 events: ${(performance.now() - began).toFixed(0)} ms`);
});
