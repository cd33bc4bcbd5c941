import assert from "node:assert/strict";
import { test } from "node:test";

import { actionOf, BINDINGS } from "../../src/core/keys.ts";
import { glyphs, heat, ticks } from "../../src/core/lanes.ts";
import {
  countRows,
  currentRow,
  filterRows,
  readRows,
  stepRow,
  waits,
} from "../../src/core/rows.ts";
import { rowsOf } from "./rows.ts";

const SAMPLE = rowsOf(
  ["t", "outcome", "text"],
  [
    [1_000, null, "Opened"],
    [2_000, "asked", "Pay invoice"],
    [2_000, "blocked", "Pay INVOICE now"],
    [9_000, "allowed", "Closed"],
  ],
);

test("columns are found by name and unexpected cells read as empty", () => {
  const [row] = readRows({ columns: ["t", "id", "new"], rows: [[5, "a", 1]] });
  assert.equal(row?.t, 5);
  assert.equal(row?.id, "a");
  assert.equal(row?.outcome, "recorded");
  assert.deepEqual(row?.data, {});
});

test("the current row is the last one at or before the playhead", () => {
  assert.equal(currentRow(SAMPLE, 999), -1);
  assert.equal(currentRow(SAMPLE, 2_000), 2);
  assert.equal(currentRow(SAMPLE, 8_000), 2);
});

test("steps go to the next row in time and can look for one kind", () => {
  assert.equal(stepRow(SAMPLE, 1_000, 1)?.id, "e1");
  assert.equal(stepRow(SAMPLE, 9_000, -1)?.id, "e2");
  assert.equal(stepRow(SAMPLE, 0, 1, (row) => row.outcome === "allowed")?.id, "e3");
  assert.equal(stepRow(SAMPLE, 9_000, 1), undefined);
});

test("a filter needs every word and one of the outcomes", () => {
  const ids = (query: string, ...outcomes: ("asked" | "blocked")[]): string[] =>
    filterRows(SAMPLE, query, new Set(outcomes), (row) => row.outcome).map((row) => row.id);
  assert.deepEqual(ids("invoice"), ["e1", "e2"]);
  assert.deepEqual(ids("now invoice"), ["e2"]);
  assert.deepEqual(ids("", "asked", "blocked"), ["e1", "e2"]);
  assert.deepEqual(
    { ...countRows(SAMPLE, (row) => row.outcome) },
    { blocked: 1, asked: 1, allowed: 1, recorded: 1 },
  );
});

test("the strongest outcome stands for a column", () => {
  assert.deepEqual(
    glyphs(SAMPLE, (t) => t / 100, 100, 12),
    [
      { x: 10, outcome: "recorded", count: 1 },
      { x: 20, outcome: "blocked", count: 2 },
      { x: 90, outcome: "allowed", count: 1 },
    ],
  );
});

test("heat is the root of input and half the changed share, and of what there is more of", () => {
  const density = {
    from: 0,
    to: 6_000,
    n: 6,
    lanes: { activity: [0, 1000, 500, 0, 1000, 80], input: [0, 0, 0, 5, 2, 1] },
  };
  assert.deepEqual(
    heat(density, 6, 0, 6_000).map(({ height, byInput }) => [Math.round(height * 100), byInput]),
    [
      [0, false],
      [71, false],
      [50, false],
      [100, true],
      [95, false],
      [49, true],
    ],
  );
});

test("ruler ticks are round in utc and far enough apart", () => {
  assert.deepEqual(
    ticks(0, 60_000, 7_000, 600, 80),
    [3_000, 13_000, 23_000, 33_000, 43_000, 53_000],
  );
});

test("keys act by setting and leave browser chords alone", () => {
  const press = (key: string, more = {}) => ({
    key,
    shiftKey: false,
    altKey: false,
    ctrlKey: false,
    metaKey: false,
    ...more,
  });
  assert.equal(actionOf(press("k"), "on"), "toggle");
  assert.equal(actionOf(press("K"), "on"), "toggle");
  assert.equal(actionOf(press(" "), "on"), "toggle");
  assert.equal(actionOf(press("f", { ctrlKey: true }), "on"), undefined);
  assert.equal(actionOf(press("ArrowLeft", { shiftKey: true }), "on"), "back-1");
  assert.equal(actionOf(press("?", { shiftKey: true }), "on"), "help");
  assert.equal(actionOf(press("C", { shiftKey: true }), "on"), "copy-id");
  assert.equal(actionOf(press("k"), "alt"), undefined);
  assert.equal(actionOf(press("k", { altKey: true }), "alt"), "toggle");
  assert.equal(actionOf(press("k"), "off"), undefined);
  assert.equal(actionOf(press("ArrowLeft"), "off"), "back-5");
  assert.equal(actionOf(press("2", { altKey: true }), "on"), "tab");
  assert.equal(actionOf(press("2"), "on"), "tenth");
  assert.equal(new Set(BINDINGS.map((b) => b.label)).size, BINDINGS.length);
});

test("an asking and its decision are tied by their request", () => {
  const list = rowsOf(
    ["t", "outcome", "data"],
    [
      [1, "asked", { request: "r1" }],
      [2, "asked", { request: "r2" }],
      [5, "allowed", { request: "r1" }],
      [9, "blocked", { request: "r2" }],
      [10, "allowed", { request: "r1" }],
    ],
  );
  assert.deepEqual(
    waits(list).map(({ asked, decided }) => [asked.id, decided.id]),
    [
      ["e0", "e2"],
      ["e1", "e3"],
    ],
  );
});

test("an event without words of its own is described", () => {
  const check = (kind: string, data: object, text: string): void => {
    assert.equal(readRows({ columns: ["kind", "data"], rows: [[kind, data]] })[0]?.text, text);
  };
  check("size", { size: [800, 600] }, "Screen is now 800×600");
  check("health", { state: "stalled" }, "Recording: stalled");
  check(
    "health",
    { state: "ok", text: "there is a picture again" },
    "Recording: there is a picture again",
  );
  check("title", {}, "title");
});
