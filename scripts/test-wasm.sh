#!/usr/bin/env bash
# Run the unit tests of kernels and core as WebAssembly under Node.js, one after the other: kernels there are others.
# With debug assertions and overflow checks, which the tests of the whole workspace do without in the kernels.
set -euo pipefail
cd "$(dirname "$0")/.."
binaries=$(scripts/cargo-for.sh wasm32-unknown-unknown test -p quickstudy-kernels -p quickstudy-core --lib \
  --no-default-features --features standalone,debug --no-run \
  --config profile.test.package.quickstudy-kernels.debug-assertions=true \
  --config profile.test.package.quickstudy-kernels.overflow-checks=true --message-format json-render-diagnostics \
  | sed -n 's/.*"executable":"\([^"]*\.wasm\)".*/\1/p')
for binary in $binaries; do
  node scripts/run-wasm-tests.mjs "$binary"
done
