import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

import { loaded, openAt, standsAt } from "./drive.ts";
import { Bench, settled, shown } from "./harness.ts";

const AXE = readFileSync("node_modules/axe-core/axe.min.js", "utf8");
const PAGES = [
  "/sessions",
  "/s/film?t=15.25&e=ev-03",
  "/s/film?t=217.5",
  "/s/film?t=12.1&tab=input",
  "/s/film?t=1&tab=notes",
  "/s/gone",
  "/r/run-7",
];

let bench: Bench;
before(async () => (bench = await Bench.open(18103)));
after(() => bench.close());

async function ready(page: Page, path: string): Promise<void> {
  if (path.startsWith("/s/film")) {
    await openAt(page, bench.origin + path);
    await loaded(page);
    return;
  }
  await page.goto(bench.origin + path);
  await page.locator("h1").first().waitFor();
  if (path === "/sessions") await page.locator(".session a").first().waitFor();
}

test("axe finds no violation on any page, in both themes, wide and narrow", async () => {
  for (const colorScheme of ["light", "dark"] as const) {
    for (const width of [1440, 390]) {
      const { page } = await bench.page({
        colorScheme,
        viewport: { width, height: 844 },
        bypassCSP: true,
      });
      for (const path of PAGES) {
        await ready(page, path);
        await page.evaluate(AXE);
        const { violations } = await page.evaluate(() =>
          (globalThis as unknown as { axe: { run(): Promise<AxeResults> } }).axe.run(),
        );
        const found = violations.map(
          (v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join("; ")}`,
        );
        assert.deepEqual(found, [], `${path} ${colorScheme} ${width}`);
      }
      await page.context().close();
    }
  }
});

test("no page scrolls sideways, down to 360 px", async () => {
  for (const width of [360, 768, 1024, 1440]) {
    const { page } = await bench.page({ viewport: { width, height: 800 } });
    for (const path of PAGES) {
      await ready(page, path);
      const over = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.equal(over, 0, `${path} at ${width}`);
    }
    await page.context().close();
  }
});

test("recorded text shows as text, with what would hide or reorder it made visible", async () => {
  const { page, faults } = await bench.page();
  await openAt(page, `${bench.origin}/s/film?t=26.3`);
  await page.locator('[data-event="ev-05"]').click();
  const text = await page.locator('[data-event="ev-05"] .text').innerText();
  assert.equal(text, "<img src=x onerror=alert(1)> ␛[31mred␛[0m invoice_⟨U+202E⟩fdp.exe");
  assert.equal(await page.locator(".side img").count(), 0);
  assert.deepEqual(faults, []);
  await page.context().close();
});

test("keys rest while typing and work after any click", async () => {
  const { page } = await bench.page();
  await openAt(page, `${bench.origin}/s/film?t=10`);
  await page.locator("input[type=search]").click();
  await page.keyboard.type("lk ");
  await page.keyboard.press("ArrowLeft");
  assert.equal((await shown(page)).t, 10_000);
  await page.locator("input[type=search]").fill("");
  await page.locator('[data-event="ev-02"]').click();
  await standsAt(page, 9_920);
  await page.keyboard.press("l");
  await standsAt(page, 19_920);
  await page.getByRole("button", { name: "Next event" }).click();
  await standsAt(page, 21_700);
  await page.keyboard.press("Space"); // the button's own job
  await standsAt(page, 26_300);
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
  await page.getByLabel("Never").check();
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("ArrowLeft");
  await standsAt(page, 21_300);
  await page.context().close();
});

test("the slider tells its place in words and moves by keys", async () => {
  const { page } = await bench.page();
  await openAt(page, `${bench.origin}/s/film?t=61`);
  const slider = page.getByRole("slider", { name: "Seek" });
  assert.equal(
    await slider.getAttribute("aria-valuetext"),
    "1 minute 1 second of 4 minutes 32 seconds, 08:59:13 UTC",
  );
  assert.equal(await slider.getAttribute("aria-valuemax"), "272");
  await slider.focus();
  await page.keyboard.press("PageUp");
  await standsAt(page, 121_000);
  await page.keyboard.press("End");
  await standsAt(page, 272_000);
  await page.keyboard.press("Home");
  await standsAt(page, 0);
  await page.context().close();
});

test("the filter narrows the rows and keeps the selection", async () => {
  const { page } = await bench.page();
  await openAt(page, `${bench.origin}/s/film?t=15.25&e=ev-03`);
  await page.locator("input[type=search]").fill("send payment");
  await page.waitForFunction(() => document.querySelectorAll(".row").length === 2);
  await page.locator("input[type=search]").fill("");
  await page.locator("summary", { hasText: "Outcome" }).click();
  await page.getByLabel("Blocked", { exact: true }).check();
  await page.waitForFunction(() => document.querySelectorAll(".row").length === 3);
  assert.equal(
    await page.locator('.row[aria-selected="true"]').getAttribute("data-event"),
    "ev-03",
  );
  await page.context().close();
});

test("a hundred thousand rows stay light, and the last one is reached by End", async () => {
  const { page } = await bench.page();
  await openAt(page, `${bench.origin}/s/many?t=30`);
  await page.waitForFunction(
    () => document.querySelector(".row")?.getAttribute("aria-setsize") === "100000",
  );
  const list = page.getByRole("listbox");
  await list.hover();
  for (let i = 0; i < 10; i += 1) await page.mouse.wheel(0, 40_000);
  assert.ok((await page.locator(".row").count()) <= 80);
  await list.focus();
  await page.keyboard.press("End");
  await page.locator('[data-event="many-99999"]').waitFor();
  await page.keyboard.press("Enter");
  await settled(page);
  assert.equal((await shown(page)).code, bench.codeAt(271_997));
  const worst = await page.evaluate(async () => {
    const input = document.querySelector<HTMLInputElement>(".filter input") as HTMLInputElement;
    const began = performance.now();
    input.value = "invoice";
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    return performance.now() - began;
  });
  console.log(`filter of 100 000 rows: ${worst.toFixed(0)} ms`);
  await page.waitForFunction(
    () => document.querySelector(".row")?.getAttribute("aria-setsize") === "10000",
  );
  await page.context().close();
});

test("while playing the current row stays in view; a wheel turn stops that, Y starts it again", async () => {
  const { page } = await bench.page();
  await openAt(page, `${bench.origin}/s/many?t=30`);
  await page.locator(".row.current").waitFor();
  await page.getByRole("listbox").hover();
  await page.mouse.wheel(0, -4_000);
  await page.getByRole("button", { name: "Follow" }).waitFor();
  await page.keyboard.press("l");
  await standsAt(page, 40_000);
  assert.equal(await page.locator(".row.current").count(), 0);
  await page.keyboard.press("y");
  await page.locator(".row.current").waitFor();
  await page.context().close();
});

/** Waits until the timeline's canvas shows `expected` of `tokens` within `from..to` ms and the rows `y` of css px. */
async function paints(
  page: Page,
  [from, to]: readonly [number, number],
  y: readonly [number, number],
  tokens: readonly string[],
  expected: readonly string[],
): Promise<void> {
  await page.waitForFunction(
    ({ from, to, y, tokens, expected, duration }) => {
      const canvas = document.querySelector<HTMLCanvasElement>(".lanes > canvas");
      const g = canvas?.getContext("2d");
      if (canvas == null || g == null) return false;
      const left = Math.round((from / duration) * canvas.width);
      const width = Math.round((to / duration) * canvas.width) - left;
      const { data } = g.getImageData(left, y[0], width, y[1] - y[0]);
      const found = tokens.filter((token) => {
        g.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(`--${token}`);
        const [r, gr, b] = [1, 3, 5].map((i) => parseInt(String(g.fillStyle).slice(i, i + 2), 16));
        for (let i = 0; i < data.length; i += 4) {
          const off = [r, gr, b].map((c, n) => Math.abs((c ?? 0) - (data[i + n] ?? 0)));
          if ((data[i + 3] ?? 0) > 90 && Math.max(...off) < 5) return true;
        }
        return false;
      });
      return found.join() === expected.join();
    },
    { from, to, y, tokens, expected, duration: bench.film.duration },
  );
}

test("T gives keys, pointer and clipboard a lane each, and that is remembered", async () => {
  const { page, faults } = await bench.page();
  await ready(page, "/s/film?t=15.25");
  const names = async (): Promise<string> =>
    (await page.locator(".lane-names > *").allInnerTexts()).join(" ");
  const height = async (): Promise<number> =>
    (await page.locator(".lanes > canvas").boundingBox())?.height ?? 0;
  assert.equal(await names(), "Activity Log Input Spans Masks");
  const folded = await height();
  await page.keyboard.press("t");
  const button = page.getByRole("button", { name: "Keys: a lane", expanded: true });
  await button.waitFor();
  assert.equal(await names(), "Activity Log Keys Pointer Clipboard Spans Masks");
  await page.waitForFunction(
    (px) => document.querySelector(".lanes > canvas")?.clientHeight === px,
    folded + 40,
  );
  const lane = (n: number): [number, number] => [48 + 20 * n, 48 + 20 * n + 19];
  const devices = ["key", "pointer", "clip"];
  await paints(page, [12_900, 15_050], lane(1), devices, ["key"]);
  await paints(page, [17_900, 20_600], lane(2), devices, ["pointer"]);
  await paints(page, [14_900, 15_600], lane(3), devices, ["clip"]);
  await page.reload();
  await button.click();
  await page.getByRole("button", { name: "Input: a lane", expanded: false }).waitFor();
  assert.equal(await height(), folded);
  assert.deepEqual(faults, []);
  await page.context().close();
});

test("activity is tinted by what outweighs, and what input caused stands on a foot", async () => {
  const { page } = await bench.page();
  await ready(page, "/s/film?t=1");
  const causes = ["key", "accent"];
  const foot = [41, 44] as const;
  await paints(page, [200_300, 202_000], [4, 40], causes, ["key"]);
  await paints(page, [200_300, 202_000], foot, causes, ["key"]);
  await paints(page, [241_000, 249_000], [4, 40], causes, ["accent"]);
  await paints(page, [241_000, 249_000], foot, causes, []);
  await page.context().close();
});

test("the theme follows the system until it is switched, and stays switched", async () => {
  const { page } = await bench.page({ colorScheme: "dark" });
  await page.goto(`${bench.origin}/sessions`);
  const theme = (): Promise<string | undefined> =>
    page.evaluate(() => document.documentElement.dataset["theme"]);
  assert.equal(await theme(), "dark");
  await page.getByRole("button", { name: "Switch theme" }).click();
  assert.equal(await theme(), "light");
  await page.reload();
  assert.equal(await theme(), "light");
  await page.context().close();
});

test("a cold deep link asks for little before its exact frame", async () => {
  const times: number[] = [];
  for (let i = 0; i < 10; i += 1) {
    const { page } = await bench.page();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    const began = performance.now();
    await page.goto(`${bench.origin}/s/film?t=${10 + i * 20}`, { waitUntil: "commit" });
    await page.waitForSelector('[data-state="paused-ready"], [data-state="gap"]');
    times.push(performance.now() - began);
    const media = asked.findIndex((path) => path.endsWith(".m4s"));
    const before = asked.slice(0, media).filter((path) => !path.startsWith("/assets/"));
    assert.ok(before.length <= 5, `asked before the picture: ${before.join(" ")}`);
    await page.context().close();
  }
  times.sort((a, b) => a - b);
  console.log(`deep link, cold: p50 ${times[5]?.toFixed(0)} ms, worst ${times[9]?.toFixed(0)} ms`);
});
