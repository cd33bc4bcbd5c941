import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import type { Page } from "playwright-core";

import { lehmer, samplesOf } from "../fixture/film.ts";
import { goTo, openAt, standsAt } from "./drive.ts";
import { Bench, decode, shown } from "./harness.ts";

let bench: Bench;
before(async () => (bench = await Bench.open(18100)));
after(() => bench.close());

/** What is on the stage must be what the index names for its `t`, read from the pixels. */
async function check(page: Page, t: number): Promise<void> {
  await standsAt(page, t);
  const stage = await shown(page);
  const expected = bench.codeAt(t);
  if (expected === undefined)
    assert.deepEqual(
      [stage.state, stage.layer, stage.frameT],
      ["gap", "none", null],
      `gap at ${t}`,
    );
  else
    assert.deepEqual(
      { code: stage.code, layer: stage.layer },
      { code: expected, layer: "video" },
      `frame at ${t}: ${JSON.stringify(stage)}`,
    );
}

/** Random moments, and those a ms before, at and after each fragment's edges. */
function moments(count: number, seed: number): number[] {
  const random = lehmer(seed);
  const edges = bench.film.placed.flatMap((p) => [p.at ?? p.take.from, p.to ?? p.take.to]);
  return Array.from({ length: count }, (_, i) => {
    if (i % 3 !== 0) return Math.floor(random() * bench.film.duration);
    const edge = edges[Math.floor(random() * edges.length)] as number;
    return Math.max(0, Math.min(bench.film.duration - 1, edge - 1 + (i % 9) / 3));
  });
}

test("a link opens paused on its exact frame, wherever it points", async () => {
  for (const t of [
    0, 15_250, 39_999, 40_000, 131_500, 190_499, 190_500, 209_999, 225_000, 240_000, 258_000,
    271_999,
  ]) {
    const { page, faults } = await bench.page();
    await openAt(page, `${bench.origin}/s/film?t=${t / 1000}`);
    await check(page, t);
    assert.deepEqual(faults, []);
    await page.context().close();
  }
});

test("160 random seeks while paused show the exact frame, with answers out of order", async () => {
  const { page, faults } = await bench.page();
  const random = lehmer(5);
  bench.server.latency = (path) => (path.endsWith(".m4s") ? random() * 120 : random() * 20);
  await openAt(page, `${bench.origin}/s/film?t=60`);
  const times: number[] = [];
  for (const t of moments(160, 21)) {
    const began = performance.now();
    await goTo(page, t);
    await check(page, t);
    times.push(performance.now() - began);
  }
  bench.server.latency = () => 0;
  times.sort((a, b) => a - b);
  console.log(
    `seek with the dialog and 0–120 ms network: p50 ${times[80]?.toFixed(0)} ms, p95 ${times[152]?.toFixed(0)} ms`,
  );
  assert.deepEqual(faults, []);
  await page.context().close();
});

test("short steps back from a deep link show no future frame", async () => {
  const { page } = await bench.page();
  await openAt(page, `${bench.origin}/s/film?t=172`);
  const random = lehmer(9);
  for (let t = 172_000; t > 90_000; t -= Math.floor(500 + random() * 3_500)) {
    await goTo(page, t);
    await check(page, t);
  }
  await page.context().close();
});

test("seeks that overtake each other end on the newest", async () => {
  const { page } = await bench.page();
  const random = lehmer(13);
  bench.server.latency = (path) => (path.endsWith(".m4s") ? random() * 150 : 0);
  await openAt(page, `${bench.origin}/s/film?t=1`);
  for (let round = 0; round < 8; round += 1) {
    const targets = moments(8, 100 + round);
    const box = await page.locator(".slider").boundingBox();
    for (const t of targets) {
      await page.mouse.click(
        (box?.x ?? 0) + ((box?.width ?? 0) * t) / bench.film.duration,
        (box?.y ?? 0) + 20,
      );
    }
    await page.waitForFunction(() =>
      ["paused-ready", "gap"].includes(
        document.querySelector<HTMLElement>(".stage")?.dataset["state"] ?? "",
      ),
    );
    await check(page, (await shown(page)).t);
  }
  bench.server.latency = () => 0;
  await page.context().close();
});

test("frames while playing are the recorded ones in order, and 40 seeks while playing stand exactly", async () => {
  const { page } = await bench.page();
  await openAt(page, `${bench.origin}/s/film?t=228`);
  const all = bench.film.placed.flatMap(samplesOf);
  const random = lehmer(17);
  for (let i = 0; i < 40; i += 1) {
    const t = Math.floor(226_000 + random() * 40_000);
    if (i % 10 === 0) await goTo(page, t);
    else await page.keyboard.press(i % 2 === 0 ? "j" : "ArrowRight");
    await page.keyboard.press("k");
    await page.waitForSelector('[data-state="playing"], [data-state="gap"]');
    const during = await shown(page);
    // The compositor may be a frame ahead of what it has told, and a slow page behind its clock.
    const at = all.findLastIndex((s) => s.t <= during.t);
    const end = all.findLastIndex((s) => s.t <= Math.max(during.t, during.clock));
    const near = all.slice(Math.max(0, at - 3), end + 2).map((s) => s.code);
    if (during.layer === "video")
      assert.ok(near.includes(during.code ?? -1), `playing ${JSON.stringify(during)} near ${near}`);
    await page.keyboard.press("k");
    await page.waitForFunction(() =>
      ["paused-ready", "gap"].includes(
        document.querySelector<HTMLElement>(".stage")?.dataset["state"] ?? "",
      ),
    );
    await check(page, (await shown(page)).t);
  }
  await page.context().close();
});

test("frame steps move by exactly one frame, in both directions and over edges", async () => {
  const { page } = await bench.page();
  const all = bench.film.placed.flatMap(samplesOf);
  const starts = [
    all.findIndex((s) => s.t === 40_000) - 3,
    all.findIndex((s) => s.t === 240_000) - 3,
    all.findIndex((s) => s.t === 225_000) - 2,
  ];
  for (const start of starts) {
    await openAt(page, `${bench.origin}/s/film?t=${(all[start]?.t ?? 0) / 1000}`);
    for (const [key, by] of [
      [".", 1],
      [".", 2],
      [".", 3],
      [".", 4],
      [",", 3],
      [",", 2],
      [",", 1],
    ] as const) {
      await page.keyboard.press(key);
      await check(page, all[start + by]?.t ?? -1);
    }
  }
  await page.context().close();
});

test("what is composed on the screen is the same picture", async () => {
  const { page } = await bench.page();
  const { page: reader } = await bench.page();
  await openAt(page, `${bench.origin}/s/film?t=3`);
  for (const t of moments(12, 77).filter((at) => bench.codeAt(at) !== undefined)) {
    await goTo(page, t);
    await standsAt(page, t);
    const png = await page.locator(".picture").screenshot();
    const blocks = await reader.evaluate(async (base64) => {
      const image = await createImageBitmap(
        new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))]),
      );
      const canvas = new OffscreenCanvas(image.width, image.height);
      const g = canvas.getContext("2d") as OffscreenCanvasRenderingContext2D;
      g.drawImage(image, 0, 0);
      return Array.from(
        { length: 20 },
        (_, i) =>
          g.getImageData(Math.floor(((i + 0.5) * image.width) / 20), 7, 1, 1).data[0] as number,
      );
    }, png.toString("base64"));
    assert.equal(decode(blocks), bench.codeAt(t), `screen at ${t}`);
  }
  await page.context().close();
  await reader.context().close();
});
