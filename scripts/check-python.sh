#!/usr/bin/env bash
# Runs the tests of environments of Python with real Gymnasium and MuJoCo: check-python.sh [ARGUMENT…], which are those
# of `cargo test`.
#
# It needs python3 with venv and pip, and makes an environment of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
QUICKSTUDY_TEST_PYTHON=$(scripts/test-python.sh)
export QUICKSTUDY_TEST_PYTHON QUICKSTUDY_REQUIRE_PYTHON=1
exec cargo test --workspace --test python "$@"
