// A static server that is as strict as a careful site: right types, and a policy that allows nothing but WebAssembly.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize, sep } from "node:path";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

const POLICY = [
  "default-src 'self'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const EMPTY = '<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>test</title>';

/**
 * Serves folders by path prefix, such as `{ "/": "fixtures/plain", "/quickstudy/": "…/dist"
 * }`; the longest prefix counts. `/` is an empty page where no folder is given for it. `isolated` sends
 * the headers that shared memory asks for.
 */
export async function serve(folders, { isolated = false } = {}) {
  const prefixes = Object.keys(folders).sort((a, b) => b.length - a.length);
  const server = createServer(async (request, response) => {
    response.setHeader("Content-Security-Policy", POLICY);
    response.setHeader("X-Content-Type-Options", "nosniff");
    if (isolated) {
      response.setHeader("Cross-Origin-Opener-Policy", "same-origin");
      response.setHeader("Cross-Origin-Embedder-Policy", "require-corp");
    }
    try {
      const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
      const { type, body } = await find(path);
      response.writeHead(200, { "Content-Type": type }).end(body);
    } catch {
      response.writeHead(404, { "Content-Type": "text/plain" }).end(`nothing at ${request.url}`);
    }
  });

  async function find(path) {
    if (path === "/" && !("/" in folders)) return { type: TYPES[".html"], body: EMPTY };
    const prefix = prefixes.find((p) => path.startsWith(p));
    const inside = normalize(path.slice(prefix.length) || "index.html");
    if (inside.split(sep).includes("..")) throw new Error("outside of the folder");
    const type = TYPES[extname(inside)] ?? "application/octet-stream";
    return { type, body: await readFile(join(folders[prefix], inside)) };
  }

  await new Promise((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close: () => new Promise((resolve) => (server.close(resolve), server.closeAllConnections())),
  };
}
