#!/usr/bin/env bash
# Miri on the unsafe code: kernels, their memory, tiles on threads, environments in registers.
#   scripts/miri.sh           all of it that Miri can run: some 15 minutes on a core
#   scripts/miri.sh --short   a kernel of each kind and a chain of tiles on threads: some minutes,
#                             most of which are compilation
# Needs `rustup toolchain install nightly --component miri --component rust-src`; without it, it says
# that it left this out. AVX2 is checked, and the baseline with it; Miri knows neither AVX-512 nor NEON,
# whose kernels are the same generic code.
set -euo pipefail
cd "$(dirname "$0")/.."

TOOLCHAIN=${QUICKSTUDY_NIGHTLY:-nightly}
if ! cargo "+$TOOLCHAIN" miri --version >/dev/null 2>&1; then
  echo "left out: Miri, as the toolchain $TOOLCHAIN does not have it" \
    "(rustup component add --toolchain $TOOLCHAIN miri rust-src)"
  exit 0
fi

tests=(backend::cpu env::engine)
if [[ ${1:-} = --short ]]; then
  tests=(
    backend::cpu::simd::aligned
    backend::cpu::simd::chain
    backend::cpu::simd::few
    backend::cpu::simd::fused
    backend::cpu::simd::permutation
    backend::cpu::simd::reduce::tests::rows_accumulated
    backend::cpu::simd::row_product
    backend::cpu::simd::elementwise::tests::threefry
    backend::cpu::tile::tests::a_rollout
    env::engine::lanes
  )
fi

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/miri
# Code is compiled for the instruction sets that Miri says the processor has.
[[ $(uname -m) != x86_64 ]] || export RUSTFLAGS="-C target-feature=+avx2,+fma"
# The threads of rayon's pool end with the process; its queues keep addresses in integers.
export MIRIFLAGS="-Zmiri-ignore-leaks -Zmiri-permissive-provenance ${MIRIFLAGS:-}"
cargo "+$TOOLCHAIN" miri test -p quickstudy-kernels --lib -- "${tests[@]}"
