import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import type { Page } from "playwright-core";

import { samplesOf } from "../fixture/film.ts";
import { goTo, meets, openAt, standsAt } from "./drive.ts";
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
  const gap = await meets(page, "gap");
  await page.keyboard.press("Space");
  const { card, layer } = await gap();
  assert.match(card, /connection lost/);
  assert.equal(layer, "none");
  await tAfter(page, 224_999);
  assert.ok((await shown(page)).t >= 225_000);
  await page.context().close();
});

test("a paused seek into a gap rests there, on a plate without a stale frame", async () => {
  const page = await open(3_000);
  await goTo(page, 217_000);
  await settled(page, "gap");
  assert.deepEqual(
    { ...(await shown(page)), code: null, clock: 0 },
    { state: "gap", t: 217_000, frameT: null, layer: "none", code: null, clock: 0 },
  );
  await page.getByRole("button", { name: "Continue after gap" }).click();
  await standsAt(page, 225_000);
  assert.equal((await shown(page)).code, bench.codeAt(225_000));
  await page.context().close();
});

/** What the next toast says, noted by the page itself; a `press` is done at once, as the toast goes soon. */
async function toasts(page: Page, press?: string): Promise<() => Promise<string>> {
  await page.evaluate((button) => {
    const told = new Promise<string>((done) => {
      const observer = new MutationObserver(() => {
        const toast = document.querySelector<HTMLElement>(".toast");
        if (toast === null) return;
        observer.disconnect();
        done(toast.innerText);
        if (button !== undefined) toast.querySelector<HTMLElement>(button)?.click();
      });
      observer.observe(document.body, { childList: true, subtree: true });
    });
    Object.assign(globalThis, { told });
  }, press);
  return () => page.evaluate(() => (globalThis as unknown as { told: Promise<string> }).told);
}

test("skip idle jumps over the standing picture, says so, and goes back on request", async () => {
  const page = await open(39_000);
  await page.keyboard.press("x");
  const toast = await toasts(page);
  await page.keyboard.press("Space");
  assert.match(await toast(), /Skipped 2 min 30 s of no activity/);
  await tAfter(page, 190_500);
  await page.keyboard.press("k");
  await page.locator(".toast").waitFor({ state: "detached" });
  await goTo(page, 39_000);
  await standsAt(page, 39_000);
  await toasts(page, "button");
  await page.keyboard.press("k");
  await page.waitForFunction(() => {
    const data = document.querySelector<HTMLElement>(".stage")?.dataset;
    return data?.["state"] === "playing" && Number(data["t"]) > 41_500;
  });
  assert.ok((await shown(page)).t < 190_000);
  await page.context().close();
});

test("a paused seek into idle stays, with skip idle on", async () => {
  const page = await open(39_000);
  await page.keyboard.press("x");
  await goTo(page, 80_000);
  await standsAt(page, 80_000);
  await page.keyboard.press("Space");
  await tAfter(page, 81_500); // whoever goes into idle wants to see it
  assert.ok((await shown(page)).t < 190_000);
  await page.context().close();
});

test("play stops on the last frame, and play again begins anew", async () => {
  const page = await open(271_000);
  await page.keyboard.press("Space");
  await standsAt(page, 272_000);
  const last = bench.film.placed.flatMap(samplesOf).at(-1);
  assert.equal((await shown(page)).code, last?.code);
  const playing = await meets(page, "playing");
  await page.keyboard.press("Space");
  assert.ok((await playing()).t < 5_000);
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

test("a dead network is told after three tries, and retry goes on from the same frame", async () => {
  const page = await open(1_000);
  const tries = new Map<string, number>();
  page.on("requestfailed", (request) => {
    if (!request.url().endsWith(".m4s")) return;
    tries.set(request.url(), (tries.get(request.url()) ?? 0) + 1);
  });
  bench.server.down = true;
  const began = performance.now();
  await goTo(page, 230_000);
  await settled(page, "error");
  console.log(`dead network: told after ${(performance.now() - began).toFixed(0)} ms`);
  assert.equal(Math.max(...tries.values()), 3);
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
  await page.locator(".hover", { hasText: /connection lost[\s\S]*Reach files/ }).waitFor();
  await page.mouse.down();
  await page.mouse.move(at(10_000), (box?.y ?? 0) + 10, { steps: 4 });
  await page.mouse.up();
  await settled(page);
  const stage = await shown(page);
  assert.ok(Math.abs(stage.t - 10_000) < 300);
  assert.equal(stage.code, bench.codeAt(stage.t));
  await page.context().close();
});
