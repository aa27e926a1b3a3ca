/**
 * Fetches everything ahead that is loaded lazily, once the page has what it needs, so that every room works without a
 * network from then on. Where the browser keeps nothing, such as in a frame without storage, the page works as before.
 */
export function keepOffline(): void {
  if (import.meta.env.PROD && "serviceWorker" in navigator) {
    navigator.serviceWorker.register("./service-worker.js").catch(() => undefined);
  }
}
