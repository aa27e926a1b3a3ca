#!/usr/bin/env bash
# Type-check the core with its NEON kernels for 64-bit ARM.
cd "$(dirname "$0")/.." && exec scripts/cargo-for.sh aarch64-unknown-linux-gnu check -p quickstudy-core
