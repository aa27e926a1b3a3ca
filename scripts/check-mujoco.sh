#!/usr/bin/env bash
# Compares steps, episodes and first states of bodies with those of real MuJoCo: check-mujoco.sh [ARGUMENT…], which
# are those of tests/compare-mujoco.py.
#
# It needs python3 with venv and pip, and makes an environment of its own for MuJoCo and Gymnasium.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
python=$(scripts/test-python.sh)
# As the tests build it: with the profile of tests nothing is compiled twice.
cargo test --quiet --workspace --test platform --no-run
exec "$python" tests/compare-mujoco.py --program "$target/debug/steps-under-test" "$@"
