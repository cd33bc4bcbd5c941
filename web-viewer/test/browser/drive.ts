/** How does a test move the player? As a person does: by keys, the pointer and the go-to dialog. */

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

/** Opens a session's page and waits until it stands. */
export async function openAt(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.waitForSelector('[data-state="paused-ready"], [data-state="gap"]');
}
