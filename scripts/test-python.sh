#!/usr/bin/env bash
# Prints the path of an interpreter with Gymnasium, MuJoCo and TensorBoard for tests, after making its environment if
# need be.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/python-with.sh "${CARGO_TARGET_DIR:-target}/gymnasium-python" \
  "mujoco, pygame, gymnasium.envs.mujoco, tensorboard" \
  "mujoco==4.0.0" "gymnasium[classic-control]==1.4.0" "numpy>=2,<3" packaging imageio "tensorboard==2.21.0"
