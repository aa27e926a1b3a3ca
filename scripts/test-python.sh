#!/usr/bin/env bash
# Prints the path of an interpreter with Gymnasium, MuJoCo, TensorBoard and Optuna for tests, after making its
# environment if need be.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/python-with.sh "${CARGO_TARGET_DIR:-target}/gymnasium-python" \
  "mujoco, pygame, gymnasium.envs.mujoco, tensorboard, optuna" \
  "mujoco==4.0.0" "gymnasium[classic-control]==1.4.0" "numpy>=2,<3" packaging imageio "tensorboard==2.21.0" \
  "optuna==5.0.0"
