import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import type { Page } from "playwright-core";

import { TRACE } from "../fixture/story.ts";
import { goTo, hears, meets, openAt, standsAt, staysStill } from "./drive.ts";
import { Bench, settled, shown } from "./harness.ts";

let bench: Bench;
before(async () => (bench = await Bench.open(18102)));
after(() => bench.close());

const selected = (page: Page): Promise<string | null> =>
  page.locator('.row[aria-selected="true"]').getAttribute("data-event");

/** Opens `path` in a context of its own; it must stand at `t` on the right frame. */
async function check(path: string, t: number): Promise<Page> {
  const { page } = await bench.page();
  await openAt(page, bench.origin + path);
  await standsAt(page, t);
  assert.equal((await shown(page)).code ?? undefined, bench.codeAt(t), path);
  return page;
}

test("each form of t opens the same frame", async () => {
  for (const form of [
    "15.25",
    "15.250",
    "0:15.25",
    "15s",
    "0m15.25s",
    "2026-11-30T08:58:27.250Z",
  ]) {
    const page = await check(
      `/s/film?t=${encodeURIComponent(form)}`,
      form === "15s" ? 15_000 : 15_250,
    );
    await page.context().close();
  }
});

test("a time after the end is held at the end, and nonsense at the start, both with a notice", async () => {
  const { page } = await bench.page();
  await openAt(page, `${bench.origin}/s/film?t=9999`);
  await standsAt(page, 272_000);
  await hears(page, /after the session’s end/);
  await openAt(page, `${bench.origin}/s/film?t=soon`);
  await hears(page, /“soon” is no time/);
  await standsAt(page, 0);
  await page.context().close();
});

test("an event's link replaces itself with the moment and selects the row", async () => {
  const { page } = await bench.page();
  await openAt(page, `${bench.origin}/e/ev-03`);
  await standsAt(page, 15_250);
  assert.equal((await shown(page)).code, bench.codeAt(15_250));
  await page.waitForURL(/\/s\/film\?t=15\.25&e=ev-03$/);
  await page.locator('.row[aria-selected="true"]').waitFor();
  assert.equal(await selected(page), "ev-03");
  assert.equal(await page.evaluate(() => history.length), 2); // about:blank and this one
  await page.context().close();
});

test("the event wins when a link's time disagrees, and the page says so", async () => {
  const page = await check("/s/film?t=100&e=ev-13", 229_120);
  await hears(page, /disagree/);
  await page.context().close();
});

test("an event inside a gap opens the gap, with its row", async () => {
  const { page } = await bench.page();
  await openAt(page, `${bench.origin}/e/ev-12`);
  await settled(page, "gap");
  await page.locator('.row[aria-selected="true"]').waitFor();
  assert.equal(await selected(page), "ev-12");
  await page.context().close();
});

test("a span's link opens at its row, a trace of two sessions offers both, a bad id is unknown", async () => {
  const { page } = await bench.page();
  await openAt(page, `${bench.origin}/t/${TRACE.toUpperCase()}/00f067aa0ba90103`);
  await standsAt(page, 15_250);
  await page.goto(`${bench.origin}/t/${TRACE.slice(0, 8)}-${TRACE.slice(8)}`);
  await page.locator(".places a").first().waitFor();
  assert.equal(await page.locator(".places a").count(), 2);
  await page.goto(`${bench.origin}/t/nonsense`);
  await page.getByRole("heading", { name: "Not found" }).waitFor();
  await page.goto(`${bench.origin}/r/run-7`);
  await page.locator(".places a").nth(1).waitFor();
  await page.context().close();
});

test("wherever it is paused, the address opens the same frame elsewhere", async () => {
  const { page } = await bench.page();
  await openAt(page, `${bench.origin}/s/film?t=226`);
  for (let i = 0; i < 3; i += 1) {
    await page.keyboard.press("Space");
    await settled(page, "playing");
    const before = await page.evaluate(() => location.href);
    await page.waitForFunction(
      () => Number(document.querySelector<HTMLElement>(".stage")?.dataset["t"]) % 1000 > 500,
    );
    assert.equal(
      await page.evaluate(() => location.href),
      before,
      "the address changed while playing",
    );
    await page.keyboard.press("Space");
    await settled(page);
    const stage = await shown(page);
    await page.waitForURL((url) => url.searchParams.get("t") === String(stage.t / 1000));
    const other = await check(new URL(page.url()).pathname + new URL(page.url()).search, stage.t);
    assert.equal((await shown(other)).code, stage.code);
    await other.context().close();
  }
  await page.context().close();
});

test("a link's time is not applied again after scrubbing", async () => {
  const { page } = await bench.page();
  await openAt(page, `${bench.origin}/s/film?t=8`);
  await goTo(page, 3_000);
  await standsAt(page, 3_000);
  const playing = await meets(page, "playing");
  await page.keyboard.press("Space");
  const { t } = await playing();
  assert.ok(t >= 3_000 && t < 6_000, String(t));
  await page.context().close();
});

test("back visits each moment that was gone to by a row", async () => {
  const { page } = await bench.page();
  await openAt(page, `${bench.origin}/s/film?t=1`);
  await page.locator('[data-event="ev-01"]').waitFor();
  const times = [4_210, 9_920, 15_250, 21_700];
  for (const [i, t] of times.entries()) {
    await page.locator(`[data-event="ev-0${i + 1}"]`).click();
    await standsAt(page, t);
    assert.equal(await selected(page), `ev-0${i + 1}`);
  }
  for (const t of [15_250, 9_920, 4_210, 1_000]) {
    await page.goBack();
    await standsAt(page, t);
    await staysStill(page); // an address is followed once
    assert.equal((await shown(page)).code, bench.codeAt(t));
  }
  await page.context().close();
});

/** Goes back to an address whose moment is not answered until what it gives is called. */
async function backToUnknown(page: Page): Promise<() => void> {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/api/v1/resolve?*", async (route) => {
    await held;
    await route.continue();
  });
  await page.evaluate(() => {
    history.pushState(null, "", "/s/film?t=15.25&e=unknown");
    history.pushState(null, "", "/s/film?t=30");
  });
  const asked = page.waitForRequest("**/api/v1/resolve?*");
  await page.evaluate(() => history.back());
  await asked;
  return release;
}

test("back while the moment of its entry is still looked for ends on the newest, and writes over none", async () => {
  const { page } = await bench.page();
  await openAt(page, `${bench.origin}/s/film?t=1`);
  const release = await backToUnknown(page);
  await staysStill(page); // longer than an address waits to be written
  assert.equal(await page.evaluate(() => location.search), "?t=15.25&e=unknown");
  await page.evaluate(() => history.forward());
  await standsAt(page, 30_000);
  release();
  await page.waitForResponse("**/api/v1/resolve?*");
  await staysStill(page);
  assert.equal((await shown(page)).t, 30_000);
  await page.context().close();
});

test("who seeks by hand while an address is still looked for stays there", async () => {
  const { page } = await bench.page();
  await openAt(page, `${bench.origin}/s/film?t=1`);
  const release = await backToUnknown(page);
  await goTo(page, 3_000);
  await standsAt(page, 3_000);
  const answered = page.waitForResponse("**/api/v1/resolve?*");
  release();
  await answered;
  await staysStill(page);
  await standsAt(page, 3_000);
  await page.context().close();
});

test("an address that comes while the page still loads is the one it opens at", async () => {
  const { page } = await bench.page();
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/timeline", async (route) => {
    await held;
    await route.continue();
  });
  const asked = page.waitForRequest("**/timeline");
  await page.goto(`${bench.origin}/s/film?t=1`);
  await asked;
  await page.evaluate(() => {
    history.pushState(null, "", "/s/film?t=30");
    dispatchEvent(new PopStateEvent("popstate"));
  });
  release();
  await standsAt(page, 30_000);
  await page.context().close();
});

test("what is typed into the search stays while an earlier answer comes", async () => {
  const { page } = await bench.page();
  await page.goto(`${bench.origin}/sessions`);
  await page.locator(".session a").first().waitFor();
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/api/v1/sessions?*q=inv*", async (route) => {
    await held;
    await route.continue();
  });
  const search = page.getByRole("searchbox");
  const asked = page.waitForRequest("**/api/v1/sessions?*q=inv*");
  await search.pressSequentially("inv");
  await asked;
  const answered = page.waitForResponse("**/api/v1/sessions?*q=inv*");
  await search.pressSequentially("o");
  release();
  await answered;
  await page.waitForURL(/q=invo$/);
  assert.equal(await search.inputValue(), "invo");
  await page.context().close();
});

test("a deleted session leaves its tombstone, an unknown one says so", async () => {
  const { page } = await bench.page();
  await page.goto(`${bench.origin}/s/gone?t=3`);
  await page.getByRole("heading", { name: "Deleted" }).waitFor();
  assert.match(await page.locator(".stone").innerText(), /Finance-90d[\s\S]*9f2c/);
  await page.goto(`${bench.origin}/s/never`);
  await page.getByRole("heading", { name: "Not found" }).waitFor();
  await page.goto(`${bench.origin}/nowhere`);
  await page.getByRole("heading", { name: "Not found" }).waitFor();
  await page.context().close();
});

test("times are utc in any zone, and local time says so", async () => {
  for (const timezoneId of ["Asia/Kolkata", "America/St_Johns"]) {
    const { page } = await bench.page({ timezoneId });
    await openAt(page, `${bench.origin}/s/film?t=15.25`);
    assert.equal(await page.locator(".chip").innerText(), "08:58:27.250 UTC");
    await page.locator('[data-event="ev-03"] .mono').waitFor();
    assert.equal(await page.locator('[data-event="ev-03"] .mono').innerText(), "08:58:27.250");
    await page.keyboard.press("u");
    await page.keyboard.press("u");
    assert.match(
      await page.locator(".chip").innerText(),
      timezoneId === "Asia/Kolkata" ? /^14:28:27\.250 local$/ : /^05:28:27\.250 local$/,
    );
    await page.context().close();
  }
});

test("from the list, one click opens a session paused on a frame", async () => {
  const { page, faults } = await bench.page();
  await page.goto(`${bench.origin}/`);
  await page.getByRole("link", { name: "blocked 2" }).click();
  await page.waitForURL(/f\.outcome=blocked/);
  await page.locator(".session a").first().click();
  await settled(page);
  assert.equal((await shown(page)).code, bench.codeAt(0));
  await page.keyboard.press("Space"); // the focus is on Play
  await settled(page, "playing");
  assert.deepEqual(faults, []);
  await page.context().close();
});
