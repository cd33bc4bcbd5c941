// What does the viewer show in Chromium? Opens a session, seeks to each moment given, and prints
// what the pixels say: one JSON object a line, {asked, state, t, code: {utc_ms, n} | null}.
//
//   node seeks.mjs ORIGIN SESSION < moments.json        [{t, playing}, …], t in ms
//
// The code's layout is documented in tests/src/code.rs.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const { chromium } = createRequire(new URL("../../web-viewer/package.json", import.meta.url))("playwright-core");

const [origin, session] = process.argv.slice(2);
const moments = JSON.parse(readFileSync(0, "utf8"));
const STANDS = '[data-state="paused-ready"], [data-state="gap"]';
const LIMIT = { timeout: 15_000 };

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
page.on("pageerror", (error) => console.error(String(error)));

await page.goto(`${origin}/s/${session}?t=${moments[0].t / 1000}`);
await page.waitForSelector(STANDS, LIMIT);
for (const { t, playing } of moments) {
  await goTo(t);
  await page.waitForFunction((at) => Number(document.querySelector(".stage").dataset.t) === at, t, LIMIT);
  await page.waitForSelector(STANDS, LIMIT);
  if (playing) {
    await page.keyboard.press("k");
    await page.waitForSelector('[data-state="playing"]', LIMIT);
    await page.keyboard.press("k");
    await page.waitForSelector(STANDS, LIMIT);
  }
  console.log(JSON.stringify({ asked: t, ...(await shown()) }));
}
await browser.close();

/** As a person does: the go-to dialog. */
async function goTo(t) {
  await page.keyboard.press("g");
  await page.locator("dialog input").fill((t / 1000).toFixed(3));
  await page.keyboard.press("Enter");
}

/** The stage, read in one go so that nothing changes between its parts. */
function shown() {
  return page.evaluate(() => {
    const [COLUMNS, ROWS, BLOCK, MARGIN, LEFT, TOP] = [12, 6, 16, 4, 32, 32];
    const stage = document.querySelector(".stage");
    const layer = [...stage.querySelectorAll(".picture > *")].find((element) => element.style.visibility === "visible");
    const canvas = document.createElement("canvas");
    canvas.width = layer?.videoWidth ?? layer?.naturalWidth ?? layer?.width ?? 1;
    canvas.height = layer?.videoHeight ?? layer?.naturalHeight ?? layer?.height ?? 1;
    const context = canvas.getContext("2d", { willReadFrequently: true });
    if (layer) context.drawImage(layer, 0, 0);
    const bytes = new Array(9).fill(0);
    for (let block = 0; block < COLUMNS * ROWS; block += 1) {
      const x = LEFT + (block % COLUMNS) * BLOCK + MARGIN;
      const y = TOP + Math.floor(block / COLUMNS) * BLOCK + MARGIN;
      const { data } = context.getImageData(x, y, BLOCK - 2 * MARGIN, BLOCK - 2 * MARGIN);
      const mean = data.filter((_, i) => i % 4 === 0).reduce((sum, red) => sum + red, 0) / (data.length / 4);
      bytes[block >> 3] = bytes[block >> 3] * 2 + (mean > 127 ? 1 : 0);
    }
    let crc = 0xff;
    for (const byte of bytes.slice(0, 8)) {
      crc ^= byte;
      for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x80 ? 0x07 : 0)) & 0xff;
    }
    const number = (some) => some.reduce((sum, byte) => sum * 256 + byte, 0);
    const code = crc === bytes[8] ? { utc_ms: number(bytes.slice(0, 6)), n: number(bytes.slice(6, 8)) } : null;
    return { state: stage.dataset.state, t: Number(stage.dataset.t), code };
  });
}
