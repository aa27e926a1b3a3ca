#!/usr/bin/env bash
# bench-wasm.sh [--browser] [--only REGEX] [--seconds N]: speeds of the CPU backend as WebAssembly on
# one thread, in Node.js or in a worker of headless Chromium: GFLOP/s and elements per second of
# kernels, environment steps per second of PPO.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/cargo-for.sh wasm32-unknown-unknown build -p quickstudy-core --no-default-features --features standalone \
  --example wasm_speed --profile wasm
folder=${CARGO_TARGET_DIR:-target}/cross/wasm32-unknown-unknown/wasm/examples
exec node wasm/bench/run.mjs "$folder/wasm_speed.wasm" "$@"
