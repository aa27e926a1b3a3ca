import { defineConfig } from "vite";
import { offline } from "./build/offline.js";

export default defineConfig({
  // Relative, so that the built page works in any folder of any server.
  base: "./",
  plugins: [offline()],
  build: { target: "es2022", modulePreload: { polyfill: false } },
  worker: { format: "es" },
  // The package finds its worker and its WebAssembly beside its modules, so that they must stay where they are.
  optimizeDeps: { exclude: ["quickstudy"] },
  server: { fs: { allow: [".."] } },
});
