#!/usr/bin/env bash
# Measures environments of Python beside what else steps them: bench-gymnasium.sh [ARGUMENT…], which are those of
# tests/bench-gymnasium.py.
#
# It builds the command line, makes an environment of Python with Gymnasium and MuJoCo, and for the part `training` one
# with Stable-Baselines3, which brings PyTorch and takes several GB; where that cannot be had, name the other parts.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
python=$(scripts/test-python.sh)
arguments=()
parts=" $* "
if [[ $parts == *" training "* || ! $parts =~ " "(loop|vector|overhead)" " ]]; then
  peer=$(scripts/python-with.sh "$target/stable-baselines" stable_baselines3 stable-baselines3)
  arguments=(--stable-baselines "$peer")
fi
cargo build --release --quiet -p quickstudy
exec "$python" tests/bench-gymnasium.py --binary "$(realpath "$target/release/quickstudy")" "${arguments[@]}" "$@"
