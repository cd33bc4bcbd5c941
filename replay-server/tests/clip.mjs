// Plays a clip in Chromium as the source of a plain <video> and reads the code on its pictures.
// Waits until the picture at the end shows LAST.
// node clip.mjs URL LAST   prints {"size":[w,h],"duration":s,"ended":s,"first":n,"last":n,"fault":null}
import { watch } from "./watch.mjs";

const [clip, last] = process.argv.slice(2);
await watch(clip, (page) => page.evaluate(play, { clip, last: Number(last) }));

/** Runs in the page. */
async function play({ clip, last }) {
  const SPEED = 4; // a test that waits need not wait for long
  const { video, number, once, PATIENCE_MS } = globalThis.watched;

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
