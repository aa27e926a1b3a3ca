// node hero-gif.mjs FILE: records the cheetah on which the web demo opens, as an animated picture for the README.
import { writeFileSync } from "node:fs";
import gifenc from "gifenc";
import { inRoom, until } from "./harness/demo.mjs";

const { GIFEncoder, quantize, applyPalette } = gifenc;
/** Pictures, and milliseconds of each. */
const [COUNT, PACE] = [70, 50];
/** Colours of all pictures, as few as it takes: a flat drawing has few. */
const COLOURS = 48;

const [file] = process.argv.slice(2);
if (file === undefined) {
  console.error("which file? node hero-gif.mjs ../../docs/pictures/cheetah-ppo.gif");
  process.exit(2);
}

/** The stage's pixels, every `pace` milliseconds. */
const film = async ({ count, pace }) => {
  const canvas = document.querySelector("#learn-canvas");
  const context = canvas.getContext("2d");
  const frames = [];
  for (let next = performance.now(); frames.length < count; next += pace) {
    while (performance.now() < next) await new Promise(requestAnimationFrame);
    frames.push(context.getImageData(0, 0, canvas.width, canvas.height).data);
  }
  const text = (data) => {
    let all = "";
    for (let at = 0; at < data.length; at += 32768) all += String.fromCharCode(...data.subarray(at, at + 32768));
    return btoa(all);
  };
  return { width: canvas.width, height: canvas.height, frames: frames.map(text) };
};

const context = { viewport: { width: 1060, height: 760 }, colorScheme: "light" };
await inRoom(
  "#room=learn&env=half-cheetah",
  async (page) => {
    await until(page.locator("#learn-when"), /^After 60 s/);
    await page.waitForTimeout(2500);
    const { width, height, frames } = await page.evaluate(film, { count: COUNT, pace: PACE });
    const encoder = GIFEncoder();
    let palette;
    for (const frame of frames) {
      const pixels = new Uint8ClampedArray(Buffer.from(frame, "base64"));
      palette ??= quantize(pixels, COLOURS);
      encoder.writeFrame(applyPalette(pixels, palette), width, height, { palette, delay: PACE });
    }
    encoder.finish();
    writeFileSync(file, encoder.bytes());
    console.log(`${file}: ${COUNT} pictures of ${width} by ${height}, ${Math.round(encoder.bytes().length / 1000)} kB`);
  },
  { context },
);
process.exit(0);
