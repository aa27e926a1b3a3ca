#!/usr/bin/env bash
# Feeds what reads bytes of others (tests/src/inputs) with changed copies of its corpus, with an eye on memory, for a
# minute in all.
#   scripts/fuzz.sh [SECONDS [SEED]]   SEED begins the changes: today's date, so that each day tries others
# `cargo +nightly fuzz run TARGET` (fuzz/) has the same targets for libFuzzer, which goes deeper and takes hours.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
targets=$(find tests/corpus -mindepth 1 -maxdepth 1 -type d | wc -l)
export QUICKSTUDY_FUZZ_SECONDS=$(((seconds + targets - 1) / targets))
export QUICKSTUDY_FUZZ_SEED=${2:-$(date +%Y%m%d)}
export RAYON_NUM_THREADS=1
# The whole workspace's features, so that the gate compiles nothing twice.
cargo test --workspace --test platform --no-run
# Memory that is asked for and never used is a fault as well: an address space of 4 GiB holds all that a reader should
# need.
(
  ulimit -v $((4 << 20))
  cargo test --workspace --test platform -- --exact inputs::fuzzed_inputs_are_read_or_refused --nocapture
)
