// Plays a clip in Chromium as the source of a plain <video> and reads the code on its pictures.
// Waits until the picture at the end shows LAST.
// node clip.mjs URL LAST   prints {"size":[w,h],"duration":s,"ended":s,"first":n,"last":n,"fault":null}
const modules = new URL("../../web-viewer/node_modules/", import.meta.url);
const { chromium } = await import(new URL("playwright-core/index.mjs", modules));
const [clip, last] = process.argv.slice(2);

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu"],
});
try {
  // The video is put into a page of the server's own origin, whose policy would refuse a script.
  const context = await browser.newContext({ bypassCSP: true });
  const page = await context.newPage();
  await page.goto(new URL("/healthz", clip).href);
  process.stdout.write(JSON.stringify(await page.evaluate(play, { clip, last: Number(last) })));
} finally {
  await browser.close();
}

/** Runs in the page. */
async function play({ clip, last }) {
  const BITS = 12;
  const BLOCK_PX = 16;
  const PATIENCE_MS = 60_000;
  const SPEED = 4; // a test that waits need not wait for long
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

  // A picture that is loaded is not on the screen yet.
  const loaded = once("loadeddata");
  const shown = new Promise((done) => video.requestVideoFrameCallback(done));
  video.src = clip;
  await loaded;
  await shown;
  const { duration, videoWidth, videoHeight } = video;
  const first = number();
  const ended = once("ended");
  video.playbackRate = SPEED;
  await video.play();
  await ended;
  const deadline = performance.now() + PATIENCE_MS;
  while (number() !== last && performance.now() < deadline) {
    await new Promise(requestAnimationFrame);
  }
  return {
    size: [videoWidth, videoHeight],
    duration,
    ended: video.currentTime,
    first,
    last: number(),
    fault: video.error?.message ?? null,
  };
}
