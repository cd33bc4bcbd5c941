/** How does a test move the player? As a person does: by keys, the pointer and the go-to dialog. */

import assert from "node:assert/strict";

import type { Page } from "playwright-core";

/** Types `t` ms into the go-to dialog. Does not wait for the frame. */
export async function goTo(page: Page, t: number): Promise<void> {
  await page.keyboard.press("g");
  await page.locator("dialog input").fill((t / 1000).toFixed(3));
  await page.keyboard.press("Enter");
}

/** Waits until the page stands at `t`, on a verified frame or in a gap. */
export async function standsAt(page: Page, t: number): Promise<void> {
  await page.waitForFunction((at) => {
    const data = document.querySelector<HTMLElement>(".stage")?.dataset;
    return (
      Number(data?.["t"]) === at &&
      (data?.["state"] === "paused-ready" || data?.["state"] === "gap")
    );
  }, t);
}

/** Waits until the stage has kept its state for half a second of painted frames. */
export async function staysStill(page: Page): Promise<void> {
  const changes = await page.evaluate(async () => {
    const stage = document.querySelector<HTMLElement>(".stage");
    const seen: string[] = [];
    const observer = new MutationObserver(() => seen.push(stage?.dataset["state"] ?? ""));
    if (stage !== null) observer.observe(stage, { attributeFilter: ["data-state", "data-t"] });
    for (let frame = 0; frame < 30; frame += 1) await new Promise(requestAnimationFrame);
    observer.disconnect();
    return seen;
  });
  assert.deepEqual(changes, []);
}

/** What the stage shows the moment it comes to be in `state` next: noted by the page itself, which is never late. */
export async function meets(page: Page, state: string): Promise<() => Promise<Met>> {
  await page.evaluate((wanted) => {
    const stage = document.querySelector<HTMLElement>(".stage") as HTMLElement;
    const met = new Promise<Met>((done) => {
      const observer = new MutationObserver(() => {
        if (stage.dataset["state"] !== wanted) return;
        observer.disconnect();
        const t = Number(stage.dataset["t"]);
        // A task later, when what belongs to the state is drawn too.
        setTimeout(() => {
          const layers = [
            ...stage.querySelectorAll<HTMLElement>(".picture > :is(video,canvas,img)"),
          ];
          const layer = layers.find((element) => element.style.visibility === "visible");
          const card = stage.querySelector<HTMLElement>(".card")?.innerText ?? "";
          done({ t, card, layer: layer?.tagName.toLowerCase() ?? "none" });
        });
      });
      observer.observe(stage, { attributeFilter: ["data-state"] });
    });
    Object.assign(globalThis, { met });
  }, state);
  return () => page.evaluate(() => (globalThis as unknown as { met: Promise<Met> }).met);
}

/** A stage at the beginning of a state. */
interface Met {
  readonly t: number;
  readonly card: string;
  readonly layer: string;
}

/** Waits until all of the film's rows are in the page. */
export async function loaded(page: Page): Promise<void> {
  await page.locator("[data-tab=input] .count", { hasText: "36" }).waitFor();
}

/** What a screen reader was told last; a notice goes after some seconds, this stays. */
export async function hears(page: Page, words: RegExp): Promise<void> {
  await page.locator('[aria-live="polite"]', { hasText: words }).waitFor({ state: "attached" });
}

/** Opens a session's page and waits until it stands. */
export async function openAt(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.waitForSelector('[data-state="paused-ready"], [data-state="gap"]');
}
