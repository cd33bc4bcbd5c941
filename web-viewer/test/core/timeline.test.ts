import assert from "node:assert/strict";
import { test } from "node:test";

import { changes, idleSpans, skipFrom } from "../../src/core/idle.ts";
import { isFar, wanted } from "../../src/core/pick.ts";
import type { Fragment } from "../../src/core/timeline.ts";
import { Timeline } from "../../src/core/timeline.ts";

/** A fragment of `samples` frames, `every` ms apart. */
function fragment(t: number, samples: number, every: number, seq = 1): Fragment {
  const starts = Array.from({ length: samples }, (_, i) => t + i * every);
  return {
    seq,
    fragment: 0,
    t,
    dur: samples * every,
    at: null,
    to: null,
    bytes: 1_000,
    samples: starts,
  };
}

/** 0–4 s active, 4–64 s still, 64–68 s active, gap 68–80 s, 80–84 s active in another size. */
function sample(live = false): Timeline {
  return new Timeline({
    duration_ms: 84_000,
    live,
    inits: [
      { seq: 1, codec: "avc1", width: 640, height: 400, crop: null },
      { seq: 2, codec: "avc1", width: 642, height: 402, crop: [0, 0, 641, 401] },
    ],
    fragments: [
      fragment(64_000, 40, 100),
      fragment(0, 40, 100),
      fragment(4_000, 60, 1_000),
      fragment(80_000, 40, 100, 2),
    ],
    gaps: [{ from: 68_000, to: 80_000, reason: "disconnected" }],
  });
}

test("the frame at t is the sample with the greatest start at or before it", () => {
  const timeline = sample();
  const check = (t: number, frame: number | undefined): void =>
    assert.equal(timeline.frameAt(t)?.t, frame, String(t));
  check(0, 0);
  check(99, 0);
  check(100, 100);
  check(3_999, 3_900);
  check(4_000, 4_000);
  check(67_999, 67_900);
  check(68_000, undefined);
  check(79_999, undefined);
  check(80_000, 80_000);
  check(84_000, 83_900);
  check(99_000, 83_900);
});

test("a frame ends where the next one starts, across fragments", () => {
  const timeline = sample();
  assert.deepEqual(timeline.frameAt(3_950), { t: 3_900, end: 4_000, fragment: 0 });
  assert.deepEqual(timeline.frameAt(67_950), { t: 67_900, end: 68_000, fragment: 2 });
});

test("frame steps cross fragments and gaps", () => {
  const timeline = sample();
  assert.equal(timeline.frameBefore(4_000)?.t, 3_900);
  assert.equal(timeline.frameBefore(80_000)?.t, 67_900);
  assert.equal(timeline.frameBefore(0), undefined);
  assert.equal(timeline.frameAfter(3_900)?.t, 4_000);
  assert.equal(timeline.frameAfter(67_950)?.t, 80_000);
  assert.equal(timeline.frameAfter(83_900), undefined);
});

test("a span without picture says why", () => {
  assert.deepEqual(sample().gapAt(70_000), { from: 68_000, to: 80_000, reason: "disconnected" });
  assert.equal(sample().gapAt(66_000), undefined);
  const bare = new Timeline({
    duration_ms: 9_000,
    live: true,
    inits: [],
    fragments: [fragment(1_000, 4, 1_000)],
    gaps: [],
  });
  assert.deepEqual(bare.gapAt(500), { from: 0, to: 1_000, reason: "no-picture" });
  assert.deepEqual(bare.gapAt(6_000), { from: 5_000, to: 9_000, reason: "not-yet" });
});

test("the true size leaves the coded margin out", () => {
  assert.deepEqual(sample().sizeAt(82_000), [641, 401]);
  assert.deepEqual(sample().resizes(), [{ t: 80_000, text: "640×400 → 641×401" }]);
});

test("the fragment under the playhead comes first, then those ahead, then the one to step back into", () => {
  const timeline = sample();
  assert.deepEqual(wanted(timeline, { t: 64_500, playing: false, rate: 1 }), [2, 1]);
  assert.deepEqual(wanted(timeline, { t: 66_000, playing: true, rate: 1 }), [2, 3]);
  assert.deepEqual(wanted(timeline, { t: 70_000, playing: false, rate: 1 }), [3]);
  assert.deepEqual(
    wanted(timeline, { t: 1_000, playing: false, rate: 1, next: 80_000 }),
    [0, 3, 1],
  );
});

test("media further than two minutes away may go", () => {
  const first = fragment(0, 40, 100);
  assert.equal(isFar(first, 60_000), false);
  assert.equal(isFar(first, 125_000), true);
  assert.equal(isFar(first, 60_000, 30_000), true);
});

test("idle runs from the last change to the first one after it", () => {
  assert.deepEqual(idleSpans(sample(), []), [{ from: 4_000, to: 64_000 }]);
});

test("what happens inside a still stretch splits it", () => {
  const at = (t: number, to = t): { from: number; to: number } => ({ from: t, to });
  const check = (
    busy: readonly { from: number; to: number }[],
    idle: readonly (readonly [number, number])[],
  ): void => {
    assert.deepEqual(
      idleSpans(sample(), busy),
      idle.map(([from, to]) => ({ from, to })),
    );
  };
  check(
    [at(1_000), at(30_000), at(60_000)],
    [
      [4_000, 30_000],
      [30_000, 60_000],
    ],
  );
  check(
    [at(0, 20_000), at(21_000), at(40_000, 41_000), at(60_000, 70_000)],
    [
      [21_000, 40_000],
      [41_000, 60_000],
    ],
  );
});

test("changes of the screen are told by the density's activity", () => {
  const density = { from: 0, to: 8_000, n: 8, lanes: { activity: [0, 3, 1, 0, 0, 9, 0, 0] } };
  assert.deepEqual(changes(density), [
    { from: 1_000, to: 3_000 },
    { from: 5_000, to: 6_000 },
  ]);
});

test("idle is skipped after a moment, never near its end, never where the person went on purpose", () => {
  const spans = [{ from: 60_000, to: 95_000 }] as const;
  assert.equal(skipFrom(spans, 60_100), undefined);
  assert.equal(skipFrom(spans, 60_300), spans[0]);
  assert.equal(skipFrom(spans, 94_000), undefined);
  assert.equal(skipFrom(spans, 80_000, spans[0]), undefined);
  assert.equal(skipFrom(spans, 50_000), undefined);
});
