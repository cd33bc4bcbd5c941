/** What each browser test stands on: the film (encoded once, kept on disk), its server, and Chromium. */

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { deserialize, serialize } from "node:v8";

import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { chromium } from "playwright-core";

import type { Film } from "../fixture/film.ts";
import { shoot, shownAt } from "../fixture/film.ts";
import { BLOCKS, blocksOf } from "../fixture/paint.ts";
import { Fixture } from "../fixture/server.ts";

/** A machine that does other work meanwhile is slow; a fault waits for this long. */
const PATIENCE_MS = 60_000;
const CACHE = "node_modules/.cache";
const SOURCES = ["film", "h264", "mp4", "paint"].map((name) => `test/fixture/${name}.ts`);
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A served film and a browser; each test file has ports of its own. */
export class Bench {
  private constructor(
    readonly film: Film,
    readonly server: Fixture,
    readonly browser: Browser,
    readonly origin: string,
  ) {}

  static async open(port: number): Promise<Bench> {
    const film = await filmed();
    const server = await Fixture.start(film, port);
    const browser = await chromium.launch({
      executablePath: "/usr/bin/chromium",
      args: FLAGS,
      timeout: PATIENCE_MS,
    });
    return new Bench(film, server, browser, `http://127.0.0.1:${port}`);
  }

  /** A page in a context of its own. `faults` collects what no page may do: errors, refusals by CSP, foreign requests. */
  async page(options: BrowserContextOptions = {}): Promise<{ page: Page; faults: string[] }> {
    const context = await this.browser.newContext({
      viewport: { width: 1440, height: 900 },
      ...options,
    });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    const faults: string[] = [];
    page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on(
      "dialog",
      (dialog) => (faults.push(`dialog ${dialog.message()}`), void dialog.dismiss()),
    );
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(this.origin) && !url.startsWith("blob:") && !url.startsWith("data:"))
        faults.push(`request to ${url}`);
    });
    return { page, faults };
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.server.stop();
  }

  /** The code painted in the frame that the index names for `t`. */
  codeAt(t: number): number | undefined {
    return shownAt(this.film, t)?.code;
  }
}

async function filmed(): Promise<Film> {
  const key = createHash("sha256")
    .update(SOURCES.map((file) => readFileSync(file)).join())
    .digest("hex")
    .slice(0, 16);
  const path = `${CACHE}/film-${key}`;
  try {
    // Deserialised bytes come as Uint8Array; the fixture writes them as they are.
    return deserialize(readFileSync(path)) as Film;
  } catch {
    const film = await shoot();
    mkdirSync(CACHE, { recursive: true });
    writeFileSync(path, serialize(film));
    return film;
  }
}

/** Waits until the stage stands: on a verified frame, or in a gap. */
export async function settled(page: Page, state = "paused-ready"): Promise<void> {
  await page.waitForSelector(`[data-state="${state}"]`);
}

/** What is on the stage. `code` is read from the pixels of the visible layer; null where they are no code. */
export interface Shown {
  readonly state: string;
  readonly t: number;
  readonly frameT: number | null;
  readonly layer: string;
  readonly code: number | null;
  /** Where the media clock was, in ms, when the pixels were read. */
  readonly clock: number;
}

/** Reads the stage in one go, so that nothing changes between its parts. */
export async function shown(page: Page): Promise<Shown> {
  const { blocks, ...rest } = await page.evaluate((count) => {
    const stage = document.querySelector<HTMLElement>(".stage") as HTMLElement;
    const layers = [
      ...stage.querySelectorAll<HTMLVideoElement | HTMLCanvasElement | HTMLImageElement>(
        ".picture > video, .picture > canvas, .picture > img",
      ),
    ];
    const layer = layers.find((element) => element.style.visibility === "visible");
    const canvas = document.createElement("canvas");
    const [w, h] =
      layer instanceof HTMLVideoElement
        ? [layer.videoWidth, layer.videoHeight]
        : layer instanceof HTMLImageElement
          ? [layer.naturalWidth, layer.naturalHeight]
          : [layer?.width ?? 0, layer?.height ?? 0];
    canvas.width = Math.max(1, w);
    canvas.height = Math.max(1, h);
    const g = canvas.getContext("2d", { willReadFrequently: true }) as CanvasRenderingContext2D;
    if (layer !== undefined) g.drawImage(layer, 0, 0);
    const clock = (stage.querySelector("video")?.currentTime ?? 0) * 1000;
    const blocks = Array.from(
      { length: count },
      (_, i) =>
        g.getImageData(Math.floor(((i + 0.5) * canvas.width) / count), 7, 1, 1).data[0] as number,
    );
    return {
      state: stage.dataset["state"] ?? "",
      t: Number(stage.dataset["t"]),
      frameT: stage.dataset["frameT"] === "" ? null : Number(stage.dataset["frameT"]),
      layer: layer?.tagName.toLowerCase() ?? "none",
      clock,
      blocks,
    };
  }, BLOCKS);
  return { ...rest, code: decode(blocks) };
}

/** The number in a strip's brightnesses; null where it is no valid code. */
export function decode(blocks: readonly number[]): number | null {
  const bits = blocks.map((value) => value > 127);
  const code = bits.slice(0, 16).reduce((sum, on) => sum * 2 + (on ? 1 : 0), 0);
  return blocksOf(code).every((on, i) => on === bits[i]) ? code : null;
}
