#!/usr/bin/env bash
# Compares single steps of bodies with those of real MuJoCo: check-mujoco.sh [ARGUMENT…], which are those of
# tests/compare-mujoco.py.
#
# It needs python3 with venv and pip, and makes an environment of its own for MuJoCo and Gymnasium.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
venv=$target/mujoco-python
packages=("mujoco==4.0.0" "gymnasium==1.4.0" "numpy>=2,<3" packaging imageio)
if ! "$venv/bin/python" -c "import mujoco, gymnasium.envs.mujoco" 2>/dev/null; then
  rm -rf "$venv"
  python3 -m venv "$venv" || {
    echo "python3 with venv is missing: install Debian's packages python3 and python3-venv" >&2
    exit 1
  }
  "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
fi
# As the tests build it: with the profile of tests nothing is compiled twice.
cargo build --quiet --profile test --workspace --bin steps-under-test
exec "$venv/bin/python" tests/compare-mujoco.py --program "$target/debug/steps-under-test" "$@"
