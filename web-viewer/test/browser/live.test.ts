import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { openAt, standsAt } from "./drive.ts";
import { Bench, settled, shown } from "./harness.ts";

let bench: Bench;
before(async () => (bench = await Bench.open(18104)));
after(() => bench.close());

test("a live session waits at its edge and goes on when more comes", async () => {
  bench.server.liveUntil = 14_000;
  const { page, faults } = await bench.page();
  await openAt(page, `${bench.origin}/s/live?t=11`);
  assert.match(await page.locator(".head").innerText(), /Live/);
  await page.keyboard.press("Space");
  await settled(page, "waiting");
  const edge = (await shown(page)).t;
  assert.ok(edge <= 14_000, String(edge));
  bench.server.liveUntil = 30_000;
  await page.waitForFunction(
    (t) => Number(document.querySelector<HTMLElement>(".stage")?.dataset["t"]) > t + 1_000,
    edge,
  );
  await page.keyboard.press("Space");
  await settled(page);
  const stage = await shown(page);
  assert.equal(stage.code, bench.codeAt(stage.t));
  await page.locator('[data-event="ev-03"]').waitFor();
  assert.deepEqual(faults, []);
  await page.context().close();
});

test("rows that come slowly are there once, though more are asked for meanwhile", async () => {
  bench.server.liveUntil = 30_000;
  const { page } = await bench.page();
  let first = true;
  await page.route("**/events?*", async (route) => {
    const hold = first;
    first = false;
    // Until the page has asked for news.
    if (hold) await page.waitForResponse((answer) => answer.url().includes("kinds=key"));
    await route.continue();
  });
  await openAt(page, `${bench.origin}/s/live?t=20`);
  await page.locator('[data-event="ev-04"]').waitFor();
  await page.waitForFunction(() => !document.querySelector(".row")?.matches(":only-child"));
  const ids = await page
    .locator(".row")
    .evaluateAll((rows) => rows.map((row) => row.getAttribute("data-event")));
  assert.equal(new Set(ids).size, ids.length);
  await page.context().close();
});

test("seeking back works while a session is live", async () => {
  bench.server.liveUntil = 30_000;
  const { page } = await bench.page();
  await openAt(page, `${bench.origin}/s/live?t=20`);
  await page.keyboard.press("j");
  await standsAt(page, 10_000);
  assert.equal((await shown(page)).code, bench.codeAt(10_000));
  await page.context().close();
});

test("the live page plays at the edge", async () => {
  bench.server.liveUntil = 24_000;
  const { page } = await bench.page();
  await page.goto(`${bench.origin}/s/live/live`);
  await settled(page, "waiting");
  const edge = (await shown(page)).t;
  bench.server.liveUntil = 40_000;
  await page.waitForFunction(
    (t) => Number(document.querySelector<HTMLElement>(".stage")?.dataset["t"]) > t + 500,
    edge,
  );
  await page.context().close();
});
