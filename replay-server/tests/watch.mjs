// What a test that watches a video in Chromium needs: a page, the video, the code on its pictures.
const modules = new URL("../../web-viewer/node_modules/", import.meta.url);
const { chromium } = await import(new URL("playwright-core/index.mjs", modules));

/** Gives `look` a page of the server that `url` names, in which `prepare` has run, and prints what it gives. */
export async function watch(url, look) {
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu"],
  });
  try {
    // What a test puts into a page of the server's own origin, that origin's policy would refuse.
    const context = await browser.newContext({ bypassCSP: true });
    const page = await context.newPage();
    await page.goto(new URL("/healthz", url).href);
    await page.evaluate(prepare);
    process.stdout.write(JSON.stringify(await look(page)));
  } finally {
    await browser.close();
  }
}

/** Where a package's file lies. */
export const packaged = (path) => new URL(path, modules);

/** Runs in the page: `watched` is the video, the code on its picture, and a wait for an event. */
function prepare() {
  const BITS = 12;
  const BLOCK_PX = 16;
  const PATIENCE_MS = 60_000;
  const video = document.createElement("video");
  video.muted = true;
  document.body.replaceChildren(video);
  const canvas = document.createElement("canvas");
  canvas.width = BITS * BLOCK_PX;
  canvas.height = BLOCK_PX;
  const pixels = canvas.getContext("2d", { willReadFrequently: true });

  const number = () => {
    pixels.drawImage(video, 0, 0);
    let code = 0;
    for (let bit = 0; bit < BITS; bit += 1) {
      const [, green] = pixels.getImageData(bit * BLOCK_PX + BLOCK_PX / 2, BLOCK_PX / 2, 1, 1).data;
      code = (code << 1) | (green > 128 ? 1 : 0);
    }
    return code;
  };

  const once = (name) =>
    new Promise((done, fail) => {
      const why = () => video.error?.message ?? `no ${name} at ${video.currentTime}`;
      const timer = setTimeout(() => fail(new Error(why())), PATIENCE_MS);
      video.addEventListener(name, () => (clearTimeout(timer), done()), { once: true });
      video.addEventListener("error", () => fail(new Error(why())), { once: true });
    });

  globalThis.watched = { video, number, once, PATIENCE_MS };
}
