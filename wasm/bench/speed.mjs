// Times the exported cases of core/examples/wasm_speed.rs; runs in Node.js, in pages and in workers.

/** Lines `name: speed` for each case whose name `pattern` matches: the best of many short runs, `seconds` per case. */
export async function measure(bytes, pattern, seconds) {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const { memory, prepare, name, name_len, work, run } = instance.exports;
  const lines = [];
  const count = prepare();
  for (let i = 0; i < count; i++) {
    const title = new TextDecoder().decode(new Uint8Array(memory.buffer, name(i), name_len(i)));
    if (!pattern.test(title)) continue;
    const time = (times) => {
      const start = performance.now();
      run(i, times);
      return performance.now() - start;
    };
    // At least a millisecond at a time, for clocks with steps of 0.1 ms; on the way V8 gets to its optimised code.
    let times = 1;
    for (const start = performance.now(); performance.now() - start < 1000; ) {
      if (time(times) < 1) times *= 2;
    }
    let best = Infinity;
    for (const start = performance.now(); performance.now() - start < seconds * 1000; ) {
      best = Math.min(best, time(times));
    }
    const speed = (1000 * work(i) * times) / best;
    const unit = title.slice(title.lastIndexOf(",") + 2);
    const shown = unit === "steps" ? Math.round(speed / 100) * 100 : `${(speed / 1e9).toFixed(2)} G`;
    lines.push(`${title.slice(0, title.lastIndexOf(","))}: ${shown} ${unit}/s`);
  }
  return lines;
}
