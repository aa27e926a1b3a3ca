#!/usr/bin/env bash
# Run the core's unit tests as WebAssembly under Node.js, one after the other: its kernels there are others.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$(scripts/cargo-for.sh wasm32-unknown-unknown test -p quickstudy-core --lib --no-default-features \
  --features standalone,debug --no-run --message-format json-render-diagnostics \
  | sed -n 's/.*"executable":"\([^"]*\.wasm\)".*/\1/p')
exec node scripts/run-wasm-tests.mjs "$binary"
