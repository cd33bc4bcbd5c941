import assert from "node:assert/strict";
import { test } from "node:test";

import { ClockMap } from "../../src/core/clock.ts";
import { parseMoment } from "../../src/core/moment.ts";
import { oneLine, visible } from "../../src/core/text.ts";
import { bytes, clock, seconds, span, spoken, utcRange, utcTime } from "../../src/core/time.ts";

const START = Date.parse("2026-11-30T08:58:12.000Z");
const anchor = (t: number, utc: number, step = false) => ({
  t,
  utc: new Date(utc).toISOString(),
  error_ms: null,
  step,
});

test("each form of t= names the same moment", () => {
  const check = (text: string, t: number): void =>
    assert.deepEqual(parseMoment(text), { clock: "media", t }, text);
  for (const text of ["951.25", "15:51.250", "15m51.25s", "0:15:51.25", " 951.2509 "])
    check(text, 951_250);
  check("0.57", 570);
  check("2h", 7_200_000);
  check("90m", 5_400_000);
  check("1:02:03.004", 3_723_004);
  assert.deepEqual(parseMoment("2026-11-30T09:14:03.250Z"), { clock: "utc", utc: START + 951_250 });
});

test("what is no time is refused", () => {
  for (const text of [
    "",
    "-1",
    "abc",
    "1:2:3:4",
    "5x",
    "1e3",
    "s",
    "h",
    "2026-11-30",
    "2026-13-40T00:00:00Z",
    "1:75",
  ]) {
    assert.equal(parseMoment(text), undefined, text);
  }
});

test("times are written for people", () => {
  assert.equal(clock(951_250), "15:51.250");
  assert.equal(clock(3_723_004), "1:02:03.004");
  assert.equal(seconds(951_250), "951.25");
  assert.equal(utcTime(START + 951_250), "09:14:03.250");
  assert.equal(utcRange(START, START + 2_623_000), "30 Nov 2026 08:58:12–09:41:55 UTC");
  assert.equal(utcRange(START, null), "30 Nov 2026 08:58:12 UTC");
  assert.equal(span(252_000), "4 min 12 s");
  assert.equal(span(35_000), "35 s");
  assert.equal(spoken(951_250), "15 minutes 51 seconds");
  assert.equal(spoken(61_000), "1 minute 1 second");
  assert.equal(bytes(1_420_000), "1.4 MB");
});

test("utc is interpolated between anchors and runs evenly outside them", () => {
  const map = new ClockMap([anchor(1_000, START + 1_000), anchor(11_000, START + 11_010)], 0);
  assert.equal(map.utcAt(0), START);
  assert.equal(map.utcAt(6_000), START + 6_005);
  assert.equal(map.utcAt(12_000), START + 12_010);
});

test("utc that occurs twice gives both moments, and one that was skipped gives the step", () => {
  const back = new ClockMap([anchor(0, START), anchor(10_000, START + 5_000, true)], 0);
  assert.deepEqual(back.momentsAt(START + 7_000), [7_000, 12_000]);
  const forward = new ClockMap([anchor(0, START), anchor(10_000, START + 60_000, true)], 0);
  assert.deepEqual(forward.momentsAt(START + 30_000), [10_000]);
  assert.deepEqual(forward.momentsAt(START - 1), []);
});

test("t to utc and back is the identity where utc does not repeat", () => {
  const map = new ClockMap(
    [anchor(0, START), anchor(10_000, START + 10_007), anchor(20_000, START + 19_990)],
    0,
  );
  for (let t = 0; t < 30_000; t += 97)
    assert.ok(
      map.momentsAt(map.utcAt(t)).some((back) => Math.abs(back - t) <= 1),
      String(t),
    );
});

test("a session without anchors counts from its start", () => {
  assert.equal(new ClockMap([], START).utcAt(250), START + 250);
});

test("control, bidi and invisible characters are made visible", () => {
  assert.equal(visible("\u001b[31mred\u0007"), "␛[31mred␇");
  assert.equal(visible("gpj\u202Eexe"), "gpj⟨U+202E⟩exe");
  assert.equal(visible("a\u{E0041}\uFEFF\u200Bb"), "a⟨U+E0041⟩⟨U+FEFF⟩⟨U+200B⟩b");
  assert.equal(visible("👩‍💻 Ünïcode\ttab"), "👩‍💻 Ünïcode\ttab");
  assert.equal(oneLine("one \n two"), "one ⏎ two");
});
