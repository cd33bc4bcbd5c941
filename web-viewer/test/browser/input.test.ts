import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import type { Page } from "playwright-core";

import { CORNER_CLICKS, cornerOf } from "../fixture/input.ts";
import { goTo, hears, loaded, openAt, standsAt } from "./drive.ts";
import { Bench, settled } from "./harness.ts";

let bench: Bench;
before(async () => (bench = await Bench.open(18105)));
after(() => bench.close());

async function open(query: string, options = {}): Promise<{ page: Page; faults: string[] }> {
  const opened = await bench.page(options);
  await openAt(opened.page, `${bench.origin}/s/film?${query}`);
  return opened;
}

const texts = (page: Page): Promise<string[]> => page.locator(".row .text").allInnerTexts();

/** What the strip says once it says anything. */
async function strip(page: Page): Promise<string> {
  await page.locator(".strip .chord").first().waitFor();
  const chords = await page.locator(".strip .chord").allInnerTexts();
  return chords
    .map((chord) =>
      chord
        .trim()
        .replaceAll(/\s+(?=×)/g, " ")
        .replaceAll("\n", "+"),
    )
    .join(" | ");
}

/** Places the pointer or a ripple, in css px from the picture's left upper corner. */
async function middleOf(page: Page, what: string): Promise<readonly [number, number]> {
  const picture = (await page.locator(".picture").boundingBox()) ?? { x: 0, y: 0 };
  const ring = (await page.locator(what).boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  return [ring.x + ring.width / 2 - picture.x, ring.y + ring.height / 2 - picture.y];
}

/** Where the painted window's lower right corner is on the screen, read from its pixels, in css px. */
async function cornerSeen(page: Page, size: readonly [number, number]): Promise<[number, number]> {
  const box = (await page.locator(".picture").boundingBox()) ?? { x: 0, y: 0, width: 1, height: 1 };
  const shot = await page.screenshot({ clip: box, scale: "css" });
  const [x, y] = cornerOf(size).map((at, axis) => {
    const [w, whole] = axis === 0 ? [box.width, size[0]] : [box.height, size[1]];
    return Math.round((at / whole) * w);
  }) as [number, number];
  return page.evaluate(
    async ({ png, x, y }) => {
      const picture = await createImageBitmap(
        new Blob([Uint8Array.from(atob(png), (c) => c.charCodeAt(0))]),
      );
      const canvas = new OffscreenCanvas(picture.width, picture.height);
      const g = canvas.getContext("2d") as OffscreenCanvasRenderingContext2D;
      g.drawImage(picture, 0, 0);
      const light = (px: number, py: number): number =>
        g.getImageData(px, py, 1, 1).data[1] as number;
      // Along each edge's normal, some way from the corner, from paper to the dark behind it.
      const edge = (at: (i: number) => number): number => {
        for (let i = -12; i < 12; i += 1) if (at(i) > 150 && at(i + 1) <= 150) return i + 1;
        return NaN;
      };
      return [x + edge((i) => light(x + i, y - 40)), y + edge((i) => light(x - 40, y + i))];
    },
    { png: shot.toString("base64"), x, y },
  ) as Promise<[number, number]>;
}

test("the input tab groups typed runs, folds moves and tells clicks, clipboards and marks", async () => {
  const { page, faults } = await open("t=0&tab=input");
  await loaded(page);
  assert.deepEqual((await texts(page)).slice(0, 14), [
    "Moved from 20,380 to 120,80",
    "Left click at 120,80",
    "invoice 4471",
    "Return",
    "Ctrl+a",
    "BackSpace ×3",
    "Secret entry begins: bank password",
    "Secret entry ends",
    "Left click at 474,320",
    "•••••",
    "Tab",
    `Text, up to 64 B to the machine, hash 5e5e5e5e…`,
    "Ctrl+v",
    "Left double-click at 300,200",
  ]);
  await page.locator("input[type=search]").fill("gpj");
  await page.waitForFunction(() => document.querySelectorAll(".row").length === 1);
  assert.deepEqual(await texts(page), ["<b>⟨U+202E⟩gpj.exe</b>"]);
  assert.equal(await page.locator(".side b").count(), 0);
  assert.deepEqual(faults, []);
  await page.context().close();
});

test("the input tab has an address and a key, and narrows to kinds that it counts", async () => {
  const { page } = await open("t=15.1&tab=input&kinds=clipboard");
  await page.waitForFunction(() => document.querySelectorAll(".row").length === 2);
  await page.locator("summary", { hasText: "Kind" }).click();
  const choice = page.locator(".menu .check", { hasText: "Clipboard" });
  assert.equal((await choice.innerText()).trim().replaceAll(/\s+/g, " "), "Clipboard 2");
  await page.getByLabel("Mark", { exact: true }).check();
  await page.waitForFunction(() => document.querySelectorAll(".row").length === 4);
  await page.waitForFunction(() => location.search.includes("tab=input&kinds=clipboard,mark"));
  await page.keyboard.press("Alt+1");
  await page.waitForFunction(() => !location.search.includes("tab="));
  await page.keyboard.press("Alt+2");
  const tab = page.locator('[role="tab"][aria-selected="true"]');
  assert.match(await tab.innerText(), /Input\s+36/);
  await page.context().close();
});

test("a row of input leads to its moment, and its link opens there with the row selected", async () => {
  const { page } = await open("t=0&tab=input&q=Invoice");
  const row = page.locator(".row", { hasText: "is due" });
  await row.click();
  await standsAt(page, 27_000);
  const id = (await row.getAttribute("data-event")) ?? "";
  await page.waitForFunction((event) => location.search.includes(`e=${event}`), id);
  assert.match(await page.locator(".detail").innerText(), /the wire: evidence[\s\S]*SHA-256 9f9f/);
  await page.locator("summary", { hasText: "Kept text" }).click();
  await page.getByText("Invoice 4471 is due", { exact: true }).waitFor();
  await page.reload();
  await standsAt(page, 27_000);
  await page.locator(`.row[aria-selected="true"][data-event="${id}"]`).waitFor();
  await hears(page, /^$/);
  await page.locator("input[type=search]").fill("");
  await page.getByRole("listbox").press("ArrowDown");
  await page.locator('.row[aria-selected="true"]', { hasText: "Moved from" }).waitFor();
  await page.context().close();
});

test("a click shows within two pixels of what was clicked, whatever the size of screen and window", async () => {
  let worst = 0;
  for (const options of [
    { viewport: { width: 1440, height: 900 } },
    { viewport: { width: 1003, height: 701 } },
    { viewport: { width: 390, height: 844 } },
    { viewport: { width: 1201, height: 803 }, deviceScaleFactor: 1.5 },
  ]) {
    const { page } = await open("t=1", options);
    for (const { t, size } of CORNER_CLICKS) {
      await page.keyboard.press("w"); // off, to see what lies below
      await goTo(page, t);
      await standsAt(page, t);
      const seen = await cornerSeen(page, size);
      await page.keyboard.press("w");
      for (const what of [".ripple", ".overlay > .pointer"]) {
        await page.locator(what).waitFor();
        const drawn = await middleOf(page, what);
        const off = Math.hypot(drawn[0] - seen[0], drawn[1] - seen[1]);
        assert.ok(off <= 2, `${what} at ${t} in ${JSON.stringify(options)}: ${drawn} for ${seen}`);
        worst = Math.max(worst, off);
      }
    }
    await page.context().close();
  }
  console.log(`clicks: at most ${worst.toFixed(2)} css px beside the clicked corner`);
});

test("keys show in the strip for the moment at which they were pressed", async () => {
  const { page } = await open("t=3.27");
  assert.equal(await strip(page), "invo");
  await goTo(page, 4_300);
  await standsAt(page, 4_300);
  assert.equal(await strip(page), "invoice 4471 | Return");
  await goTo(page, 6_481);
  await standsAt(page, 6_481);
  assert.equal(await strip(page), "Ctrl+a | BackSpace ×3");
  await goTo(page, 10_000);
  await standsAt(page, 10_000);
  assert.equal(await strip(page), "Secret entry: keys are not kept");
  await goTo(page, 13_360);
  await standsAt(page, 13_360);
  assert.equal(await strip(page), "•••••");
  await goTo(page, 17_000);
  await standsAt(page, 17_000);
  assert.equal(await page.locator(".chord").count(), 0);
  await page.context().close();
});

test("while it plays, at 1× and 4×, the overlay is that of the playhead's moment", async () => {
  for (const [rate, text] of [
    ["1", "1×"],
    ["4", "4×"],
  ] as const) {
    const { page } = await open("t=19");
    await page.getByLabel("Speed").selectOption({ label: text });
    // Each drawing is held against the drag's straight path and where it ended, at the time it
    // says it is of.
    const seen = page.evaluate(
      () =>
        new Promise<number[][]>((done) => {
          const found: number[][] = [];
          const look = (): void => {
            const overlay = document.querySelector<HTMLElement>(".overlay");
            const ring = overlay?.querySelector<HTMLElement>(".pointer");
            const t = Number(overlay?.dataset["t"]);
            const stage = Number(document.querySelector<HTMLElement>(".stage")?.dataset["t"]);
            if (ring != null && t >= 20_000)
              found.push([t, stage, parseFloat(ring.style.left), parseFloat(ring.style.top)]);
            if (t >= 22_000 && found.length > 0) done(found);
            else requestAnimationFrame(look);
          };
          look();
        }),
    );
    await page.keyboard.press("Space");
    const drawn = await seen;
    assert.ok(drawn.length > 0, `at ${rate}×`);
    for (const [t = 0, stage = 0, left = 0, top = 0] of drawn) {
      assert.equal(t, stage);
      const step = t < 20_100 ? 0 : Math.min(10, Math.floor((t - 20_100) / 40));
      assert.ok(Math.abs(left - ((200.5 + 12 * step) / 640) * 100) < 0.01, `x at ${t}`);
      assert.ok(Math.abs(top - ((150.5 + 9 * step) / 400) * 100) < 0.01, `y at ${t}`);
    }
    await page.context().close();
  }
});

/** Which windows of input `page` asks for from now on, by their ends. */
function windowsAsked(page: Page): string[] {
  const asked: string[] = [];
  page.on("request", (request) => {
    const url = new URL(request.url());
    const to = url.pathname.endsWith("/events") ? url.searchParams.get("to") : null;
    if (to !== null) asked.push(to);
  });
  return asked;
}

test("nothing is fetched or drawn when both are off, and that is remembered", async () => {
  const { page } = await open("t=1");
  await page.getByRole("button", { name: "Keys", exact: true }).click();
  await page.getByRole("button", { name: "Clicks", exact: true }).click();
  await page.reload();
  await settled(page);
  await loaded(page);
  const asked = windowsAsked(page);
  await goTo(page, 250_000);
  await standsAt(page, 250_000);
  assert.deepEqual(asked, []);
  assert.equal(await page.locator(".overlay").count(), 0);
  await page.keyboard.press("q");
  await page.keyboard.press("w");
  await page.locator(".overlay > .pointer").waitFor();
  await page.context().close();
});

test("going about asks for each window of a minute once", async () => {
  const { page } = await bench.page();
  const asked = windowsAsked(page);
  await openAt(page, `${bench.origin}/s/film?t=1`);
  for (const t of [12_000, 30_000, 12_000, 40_000, 1_500]) {
    await goTo(page, t);
    await standsAt(page, t);
  }
  await page.locator(".overlay > .pointer").waitFor();
  assert.deepEqual(asked.sort(), ["120000", "60000"]);
  await page.context().close();
});

test("without motion a click is a ring that stands", async () => {
  const { page } = await open("t=12.3", { reducedMotion: "reduce" });
  await page.locator(".ripple").waitFor();
  const style = await page.locator(".ripple").evaluate((ring) => {
    const { opacity, transform } = getComputedStyle(ring);
    return { opacity, transform };
  });
  assert.deepEqual(style, { opacity: "1", transform: "none" });
  await page.context().close();
});
