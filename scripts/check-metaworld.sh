#!/usr/bin/env bash
# Runs the tests of Meta-World's benchmarks with real Meta-World. It needs python3 with venv and pip, and makes an
# environment of its own. Some two minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
QUICKSTUDY_TEST_METAWORLD=$(scripts/python-with.sh "${CARGO_TARGET_DIR:-target}/metaworld-python" metaworld \
  "metaworld==3.1.1" packaging)
export QUICKSTUDY_TEST_METAWORLD
exec cargo test --workspace --test python -- --ignored metaworld:: "$@"
