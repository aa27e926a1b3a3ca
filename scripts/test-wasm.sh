#!/usr/bin/env bash
# Run the core's unit tests as WebAssembly under Node.js, one after the other: its kernels there are others.
# With debug assertions and overflow checks, which the tests of the whole workspace do without in the core.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$(scripts/cargo-for.sh wasm32-unknown-unknown test -p quickstudy-core --lib --no-default-features \
  --features standalone,debug --no-run \
  --config profile.test.package.quickstudy-core.debug-assertions=true \
  --config profile.test.package.quickstudy-core.overflow-checks=true --message-format json-render-diagnostics \
  | sed -n 's/.*"executable":"\([^"]*\.wasm\)".*/\1/p')
exec node scripts/run-wasm-tests.mjs "$binary"
