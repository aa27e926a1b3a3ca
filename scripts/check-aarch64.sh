#!/usr/bin/env bash
# Type-check kernels, with those of NEON, and core for 64-bit ARM.
cd "$(dirname "$0")/.." && exec scripts/cargo-for.sh aarch64-unknown-linux-gnu check -p quickstudy-core
