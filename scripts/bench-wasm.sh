#!/usr/bin/env bash
# bench-wasm.sh [--browser] [--only REGEX] [--seconds N]: speeds of the CPU backend as WebAssembly on
# one thread, in Node.js or in a worker of headless Chromium: GFLOP/s and elements per second of
# kernels, environment steps per second of PPO.
# bench-wasm.sh --bodies [SECONDS]: environment steps per second of bodies as the npm package has them, beside MuJoCo's
# own npm package, in Node.js. MuJoCo and Gymnasium's bodies are installed under target.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
if [[ ${1:-} = --bodies ]]; then
  scripts/cargo-for.sh wasm32-unknown-unknown build -p quickstudy-bodies --lib --profile wasm
  python=$(scripts/python-with.sh "$target/mujoco-python" "mujoco, gymnasium.envs.mujoco" \
    "mujoco==4.0.0" "gymnasium==1.4.0" "numpy>=2,<3" packaging imageio)
  npm --prefix "$target/mujoco-npm" install --no-audit --no-fund --silent @mujoco/mujoco@3.14.0
  assets=$("$python" -c "import gymnasium.envs.mujoco as m; print(m.__path__[0] + '/assets')")
  exec node wasm/bench/bodies.mjs "$target/cross/wasm32-unknown-unknown/wasm/quickstudy_bodies.wasm" \
    "$target/mujoco-npm/node_modules/@mujoco/mujoco" "$assets" "${2:-3}"
fi
scripts/cargo-for.sh wasm32-unknown-unknown build -p quickstudy-core --no-default-features --features standalone \
  --example wasm_speed --profile wasm
folder=$target/cross/wasm32-unknown-unknown/wasm/examples
exec node wasm/bench/run.mjs "$folder/wasm_speed.wasm" "$@"
