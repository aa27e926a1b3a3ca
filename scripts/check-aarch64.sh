#!/usr/bin/env bash
# Type-check the core with its NEON kernels for 64-bit ARM.
exec "$(dirname "$0")/check-target.sh" aarch64-unknown-linux-gnu
