/** How does a page wait for an answer? Loading, then the value or the refusal; a newer wish ends the older one. */

import { useEffect, useState } from "preact/hooks";

import { ApiError } from "../api/client.ts";

export type Loaded<T> =
  | { readonly state: "loading"; readonly value?: T }
  | { readonly state: "ready"; readonly value: T }
  | { readonly state: "error"; readonly error: ApiError };

/** Asks anew whenever `key` changes; the value before stays in view while loading. */
export function useLoaded<T>(key: string, ask: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: "loading" });
  useEffect(() => {
    const abort = new AbortController();
    setLoaded((before) =>
      "value" in before ? { state: "loading", value: before.value as T } : { state: "loading" },
    );
    ask(abort.signal).then(
      (value) => abort.signal.aborted || setLoaded({ state: "ready", value }),
      (error: unknown) => {
        if (abort.signal.aborted) return;
        setLoaded({
          state: "error",
          error: error instanceof ApiError ? error : new ApiError(-1, "viewer", String(error)),
        });
      },
    );
    return () => abort.abort();
  }, [key]);
  return loaded;
}
