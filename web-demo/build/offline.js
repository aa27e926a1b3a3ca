import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Files of a folder and the folders in it, by their paths from there. */
function files(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1).replaceAll("\\", "/"))
    .sort();
}

/** Writes the service worker with the list of everything that was built, for Vite. */
export function offline() {
  let [root, out] = ["", ""];
  return {
    name: "offline",
    apply: "build",
    configResolved(config) {
      root = config.root;
      out = join(root, config.build.outDir);
    },
    closeBundle() {
      const found = files(out).filter((file) => file !== "service-worker.js");
      const version = createHash("sha256");
      for (const file of found) version.update(file).update(readFileSync(join(out, file)));
      const source = readFileSync(join(root, "build/service-worker.js"), "utf8");
      // The page itself goes by the name of its folder, too.
      const text = source
        .replace("/* files */ []", JSON.stringify(["./", ...found]))
        .replace('/* version */ ""', JSON.stringify(version.digest("hex").slice(0, 16)));
      writeFileSync(join(out, "service-worker.js"), text);
    },
  };
}
