// Plays a playlist in hls.js in Chromium and reads the code on the picture at given UTC times.
// node hls.mjs PLAYLIST UTC_MS…   prints {"seeks":[{"utc":…,"number":…}],"played":[…],"faults":[…]}
import { fileURLToPath } from "node:url";
import { packaged, watch } from "./watch.mjs";

const [playlist, ...times] = process.argv.slice(2);
await watch(playlist, async (page) => {
  const faults = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  await page.addScriptTag({ path: fileURLToPath(packaged("hls.js/dist/hls.min.js")) });
  const found = await page.evaluate(look, { playlist, times: times.map(Number) });
  return { ...found, faults: [...faults, ...found.faults] };
});

/** Runs in the page. */
async function look({ playlist, times }) {
  const { video, number, once, PATIENCE_MS } = globalThis.watched;
  const hls = new globalThis.Hls();
  const faults = [];
  hls.on("hlsError", (_, { fatal, details }) => fatal && faults.push(details));
  const loaded = new Promise((done) => hls.once("hlsLevelLoaded", (_, { details }) => done(details)));
  hls.loadSource(playlist);
  hls.attachMedia(video);
  const { fragments } = await loaded;

  // Chromium takes the seconds before buffered media for buffered too and shows the picture after
  // them, and hls.js then never loads what is missing there. So everything is loaded first.
  const isLoaded = () => {
    const { buffered, duration } = video;
    return buffered.length === 1 && buffered.start(0) < 0.001 && buffered.end(0) > duration - 0.001;
  };
  await new Promise((done, fail) => {
    const timer = setTimeout(() => fail(new Error("not loaded in time")), PATIENCE_MS);
    const check = () => isLoaded() && (clearTimeout(timer), done());
    hls.on("hlsFragBuffered", check);
    video.addEventListener("durationchange", check);
    hls.on("hlsBufferedToEnd", check);
    check();
  });

  const seek = async (position) => {
    const seeked = once("seeked");
    const shown = new Promise((done) => video.requestVideoFrameCallback(done));
    video.currentTime = position;
    await seeked;
    await shown;
  };

  const seeks = [];
  for (const utc of times) {
    const holds = (f) => f.programDateTime <= utc && utc < f.programDateTime + f.duration * 1000;
    const fragment = fragments.find(holds);
    // A tenth of a millisecond in, for a player's clock is in microseconds.
    await seek(fragment.start + (utc - fragment.programDateTime) / 1000 + 0.0001);
    seeks.push({ utc, number: number() });
  }

  // Plays over the gap to the end, and notes each picture it shows.
  const played = [];
  const note = () => {
    const shown = number();
    if (played.at(-1) !== shown) played.push(shown);
    video.requestVideoFrameCallback(note);
  };
  const last = fragments.at(-1);
  await seek(last.start - 1.2);
  video.requestVideoFrameCallback(note);
  const ended = once("ended");
  await video.play();
  await ended;
  return { seeks, played, faults };
}
