/** Which picture is on the stage? The video only while its frame is verified; else something true. */

import type { Init } from "../core/timeline.ts";

/** `hold` is a copy of the last verified frame, `still` the server's own picture of the wanted one. */
export type Layer = "none" | "video" | "hold" | "still";

/** The three pictures that lie over each other, of which one is visible at a time. */
export class Layers {
  readonly video: HTMLVideoElement;
  readonly #hold: HTMLCanvasElement;
  readonly #still: HTMLImageElement;
  #shown: Layer = "none";

  constructor(video: HTMLVideoElement, hold: HTMLCanvasElement, still: HTMLImageElement) {
    this.video = video;
    this.#hold = hold;
    this.#still = still;
    this.show("none");
  }

  get shown(): Layer {
    return this.#shown;
  }

  show(layer: Layer): void {
    this.#shown = layer;
    this.video.style.visibility = layer === "video" ? "visible" : "hidden";
    this.#hold.style.visibility = layer === "hold" ? "visible" : "hidden";
    this.#still.style.visibility = layer === "still" ? "visible" : "hidden";
  }

  /** Keeps the verified frame in view while the video looks for another one behind it. */
  freeze(init: Init | undefined): void {
    if (this.#shown !== "video") return;
    const { videoWidth, videoHeight } = this.video;
    const [x, y, w, h] = init?.crop ?? [0, 0, videoWidth, videoHeight];
    this.#hold.width = w;
    this.#hold.height = h;
    this.#hold.getContext("2d")?.drawImage(this.video, x, y, w, h, 0, 0, w, h);
    this.show("hold");
  }

  /** Loads the server's picture; false when it could not be had or is no longer wanted. */
  async loadStill(url: string, signal: AbortSignal): Promise<boolean> {
    this.#still.src = url;
    return this.#still.decode().then(
      () => !signal.aborted,
      () => false,
    );
  }
}
