#!/usr/bin/env bash
# The unit tests of the kernels, of the core and of the GPU backend with the address sanitiser: some 10 minutes,
# most of which are compilation. Needs a nightly toolchain (`rustup toolchain install nightly`);
# without it, it says that it left this out.
set -euo pipefail
cd "$(dirname "$0")/.."

TOOLCHAIN=${QUICKSTUDY_NIGHTLY:-nightly}
HOST=$(rustc -vV | sed -n 's/^host: //p')
library=$(rustc "+$TOOLCHAIN" --print sysroot 2>/dev/null)/lib/rustlib/$HOST/lib/librustc-nightly_rt.asan.a
if [[ ! -e $library ]]; then
  echo "left out: the address sanitiser, as the toolchain $TOOLCHAIN does not have it" \
    "(rustup toolchain install nightly)"
  exit 0
fi

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/sanitised
export RUSTFLAGS="-Zsanitizer=address -Cdebuginfo=line-tables-only"
# Drivers of graphics cards keep what they allocate until the process ends, which is no fault of ours.
# A test asks for more memory than there can be, and must get an error.
ASAN_OPTIONS="allocator_may_return_null=1:detect_leaks=${QUICKSTUDY_LEAKS:-0}"
export ASAN_OPTIONS="$ASAN_OPTIONS:detect_stack_use_after_return=1:strict_init_order=1"
cargo "+$TOOLCHAIN" test --target "$HOST" -p quickstudy-kernels -p quickstudy-core --lib "$@"
cargo "+$TOOLCHAIN" test --target "$HOST" -p quickstudy-gpu --lib "$@"
