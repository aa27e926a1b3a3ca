#!/usr/bin/env bash
# Runs the programs of docs/tracking.md offline, on runs that it trains, and compares what Weights & Biases and MLflow
# have stored with the files of the runs: check-tracking.sh [BINARY], by default target/release/quickstudy.
#
# It needs python3 3.11 or newer with venv and pip, and makes an environment of its own of some 1.5 GB.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
binary=$(realpath "${1:-$target/release/quickstudy}") || {
  echo "the command line is missing: run cargo build --release first" >&2
  exit 1
}
python=$(scripts/python-with.sh "$target/tracking-python" "wandb, mlflow" "wandb==0.31.0" "mlflow==3.17.2")

scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
for program in to_wandb to_mlflow live; do
  sed -n "/^# $program\.py/,/^\`\`\`\$/{/^\`\`\`/!p}" docs/tracking.md >"$scratch/$program.py"
  grep -q "^import" "$scratch/$program.py" || {
    echo "docs/tracking.md has no program $program.py" >&2
    exit 1
  }
done
check=$PWD/scripts/check-tracking.py
# The package finds the command line on the path, as the programs do.
mkdir "$scratch/bin"
ln -s "$binary" "$scratch/bin/quickstudy"
export PATH=$scratch/bin:$PATH PYTHONPATH=$PWD/python WANDB_MODE=offline WANDB_SILENT=true MLFLOW_DISABLE_TELEMETRY=true
export PYTHONWARNINGS=ignore
cd "$scratch"
quickstudy train ppo --env cartpole --seed 0..2 --steps 20k >train.log 2>&1 || {
  cat train.log >&2
  exit 1
}
runs=(runs/*)
"$python" to_wandb.py "${runs[@]}"
"$python" to_mlflow.py "${runs[@]}"
"$python" live.py >live.log 2>&1 || {
  cat live.log >&2
  exit 1
}
"$python" "$check" "${runs[@]}"
