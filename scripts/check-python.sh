#!/usr/bin/env bash
# Runs the tests of environments of Python with real Gymnasium and MuJoCo: check-python.sh [ARGUMENT…], which are those
# of a test binary: the names of some tests, for example.
#
# It needs python3 with venv and pip, and makes an environment of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
QUICKSTUDY_TEST_PYTHON=$(scripts/test-python.sh)
export QUICKSTUDY_TEST_PYTHON
exec cargo test --workspace --test python -- --include-ignored --skip metaworld:: "$@"
