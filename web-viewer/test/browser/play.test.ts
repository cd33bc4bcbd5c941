import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import type { Page } from "playwright-core";

import { samplesOf } from "../fixture/film.ts";
import { goTo, openAt, standsAt } from "./drive.ts";
import { Bench, settled, shown } from "./harness.ts";

let bench: Bench;
before(async () => (bench = await Bench.open(18101)));
after(() => bench.close());

/** A replay page standing at `t` ms. */
async function open(t: number): Promise<Page> {
  const { page } = await bench.page();
  await openAt(page, `${bench.origin}/s/film?t=${t / 1000}`);
  return page;
}

const tAfter = (page: Page, t: number): Promise<unknown> =>
  page.waitForFunction(
    (at) => Number(document.querySelector<HTMLElement>(".stage")?.dataset["t"]) > at,
    t,
  );

test("space plays and pauses, J and L move ten seconds, < and > change the speed", async () => {
  const page = await open(5_000);
  await page.keyboard.press("Space");
  await settled(page, "playing");
  await tAfter(page, 5_400);
  await page.keyboard.press("k");
  await settled(page);
  const stood = (await shown(page)).t;
  await page.keyboard.press("l");
  await standsAt(page, stood + 10_000);
  await page.keyboard.press("j");
  await standsAt(page, stood);
  await page.keyboard.press(">");
  assert.equal(await page.evaluate(() => document.querySelector("video")?.playbackRate), 1.5);
  await page.keyboard.press("<");
  assert.equal(await page.evaluate(() => document.querySelector("video")?.playbackRate), 1);
  await page.context().close();
});

test("playing into a gap shows why, then goes on after it", async () => {
  const page = await open(208_800);
  await page.keyboard.press("Space");
  await settled(page, "gap");
  const card = await page.locator(".card").innerText();
  assert.match(card, /connection lost/);
  assert.equal((await shown(page)).layer, "none");
  await settled(page, "playing");
  const stage = await shown(page);
  assert.ok(stage.t >= 225_000 && stage.t < 226_500, String(stage.t));
  await page.context().close();
});

test("a paused seek into a gap rests there, on a plate without a stale frame", async () => {
  const page = await open(3_000);
  await goTo(page, 217_000);
  await settled(page, "gap");
  assert.deepEqual(
    { ...(await shown(page)), code: null },
    { state: "gap", t: 217_000, frameT: null, layer: "none", code: null },
  );
  await page.getByRole("button", { name: "Continue after gap" }).click();
  await standsAt(page, 225_000);
  assert.equal((await shown(page)).code, bench.codeAt(225_000));
  await page.context().close();
});

test("skip idle jumps over the standing picture, says so, and goes back on request", async () => {
  const page = await open(39_000);
  await page.keyboard.press("x");
  await page.keyboard.press("Space");
  await page.locator(".toast").waitFor();
  assert.match(await page.locator(".toast").innerText(), /Skipped 2 min 30 s of no activity/);
  await tAfter(page, 190_500);
  await page.getByRole("button", { name: "Play it" }).click();
  await page.waitForFunction(() => {
    const data = document.querySelector<HTMLElement>(".stage")?.dataset;
    return data?.["state"] === "playing" && Number(data["t"]) < 60_000;
  });
  await tAfter(page, 40_500);
  assert.ok((await shown(page)).t < 60_000);
  await page.context().close();
});

test("a paused seek into idle stays, with skip idle on", async () => {
  const page = await open(39_000);
  await page.keyboard.press("x");
  await goTo(page, 80_000);
  await standsAt(page, 80_000);
  await page.keyboard.press("Space");
  await tAfter(page, 81_500); // whoever goes into idle wants to see it
  assert.ok((await shown(page)).t < 90_000);
  await page.context().close();
});

test("play stops on the last frame, and play again begins anew", async () => {
  const page = await open(271_000);
  await page.keyboard.press("Space");
  await standsAt(page, 272_000);
  const last = bench.film.placed.flatMap(samplesOf).at(-1);
  assert.equal((await shown(page)).code, last?.code);
  await page.keyboard.press("Space");
  await settled(page, "playing");
  assert.ok((await shown(page)).t < 5_000);
  await page.context().close();
});

test("playing over a size change keeps the picture's own proportions", async () => {
  const page = await open(257_300);
  await page.keyboard.press("Space");
  await tAfter(page, 258_400);
  await page.keyboard.press("Space");
  await settled(page);
  const box = await page.locator(".picture").boundingBox();
  assert.ok(Math.abs((box?.width ?? 0) / (box?.height ?? 1) - 641 / 401) < 0.01);
  assert.equal((await shown(page)).code, bench.codeAt((await shown(page)).t));
  await page.context().close();
});

test("a dead network is told within three seconds, and retry goes on from the same frame", async () => {
  const page = await open(1_000);
  bench.server.down = true;
  await goTo(page, 230_000);
  const began = performance.now();
  await settled(page, "error");
  assert.ok(performance.now() - began < 3_000);
  bench.server.down = false;
  await page.getByRole("button", { name: "Retry" }).click();
  await standsAt(page, 230_000);
  assert.equal((await shown(page)).code, bench.codeAt(230_000));
  await page.context().close();
});

test("the pointer on the timeline shows the picture and time of its place", async () => {
  const page = await open(1_000);
  const box = await page.locator(".slider").boundingBox();
  const at = (t: number): number => (box?.x ?? 0) + ((box?.width ?? 0) * t) / bench.film.duration;
  await page.mouse.move(at(30_000), (box?.y ?? 0) + 10);
  const thumb = page.locator(".hover .thumb");
  await thumb.waitFor();
  assert.equal(await thumb.getAttribute("data-t"), "30000");
  assert.match(await page.locator(".hover").innerText(), /08:58:4[12]/);
  await page.mouse.move(at(217_500), (box?.y ?? 0) + 10);
  assert.match(await page.locator(".hover").innerText(), /connection lost[\s\S]*Reach files/);
  await page.mouse.down();
  await page.mouse.move(at(10_000), (box?.y ?? 0) + 10, { steps: 4 });
  await page.mouse.up();
  await settled(page);
  const stage = await shown(page);
  assert.ok(Math.abs(stage.t - 10_000) < 300);
  assert.equal(stage.code, bench.codeAt(stage.t));
  await page.context().close();
});
