// Serves the page without a network: fetches every file of it ahead, and answers from these copies.
// The build puts the page's own files and a mark of what is in them here (build/offline.js).
const FILES = /* files */ [];
const VERSION = /* version */ "";

const CACHE = `quickstudy-${VERSION}`;
// Names of these change with what is in them, so that a copy is never old.
const HASHED = /\/assets\//;
const own = new Set(FILES.map((file) => new URL(file, self.registration.scope).href));

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches.open(CACHE).then(async (cache) => {
      // One after the other: what the visitor does meanwhile comes first.
      for (const url of own) {
        const before = HASHED.test(url) ? await caches.match(url) : undefined;
        if (before) await cache.put(url, before);
        else await cache.add(new Request(url, { cache: "no-cache" }));
      }
    }),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    caches.keys().then(async (names) => {
      const old = names.filter((name) => name.startsWith("quickstudy-") && name !== CACHE);
      await Promise.all(old.map((name) => caches.delete(name)));
      await self.clients.claim();
    }),
  );
});

/** Asks the network first, so that a newer page is seen, and without it takes the copy. */
async function newest(request, url) {
  try {
    return await fetch(request);
  } catch (error) {
    const copy = await caches.match(url);
    if (copy) return copy;
    throw error;
  }
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  [url.hash, url.search] = ["", ""];
  if (request.method !== "GET" || !own.has(url.href)) return;
  event.respondWith(
    HASHED.test(url.href)
      ? caches.match(url.href).then((copy) => copy ?? fetch(request))
      : newest(request, url.href),
  );
});
