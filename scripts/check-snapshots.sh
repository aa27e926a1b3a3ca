#!/usr/bin/env bash
# Runs the Python program of docs/snapshots.md on freshly trained policies, with a normaliser and without, and compares
# what it says with `quickstudy eval`: check-snapshots.sh [BINARY], by default target/release/quickstudy.
#
# It needs python3 with venv and pip, and makes an environment of its own for numpy, safetensors and Gymnasium.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
binary=$(realpath "${1:-$target/release/quickstudy}") || {
  echo "the command line is missing: run cargo build --release first" >&2
  exit 1
}
python=$(scripts/python-with.sh "$target/snapshots-python" "numpy, safetensors, gymnasium" \
  "numpy>=2,<3" "safetensors>=0.5,<1" "gymnasium>=1,<2")

scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
# The page's Python: the program, and the function that reads a replay buffer.
sed -n '/^```python$/,/^```$/{/^```/!p}' docs/snapshots.md >"$scratch/play.py"
grep -q "class Network" "$scratch/play.py" || {
  echo "docs/snapshots.md has no program" >&2
  exit 1
}
cd "$scratch"

# ALGORITHM ENVIRONMENT STEPS [SETTING…]
check() {
  local name=$2-$1 settings=() setting ours theirs
  for setting in "${@:4}"; do settings+=(--set "$setting"); done
  "$binary" train "$1" --env "$2" --steps "$3" --out "$name" "${settings[@]}" >"$name.log" 2>&1 || {
    cat "$name.log"
    return 1
  }
  ours=$("$binary" eval "$name" --best --episodes 100 | tail -n 1)
  theirs=$("$python" play.py "$name/best.safetensors" 100)
  printf '%s\n  quickstudy %s\n  Python     %s\n' "$name" "$ours" "$theirs"
  # First states differ, so that means do, by chance: by four standard errors at most.
  awk -v ours="$ours" -v theirs="$theirs" 'BEGIN {
    split(ours, a); split(theirs, b)
    off = a[2] - b[2]
    exit !(a[6] == b[6] && off * off <= 16 * (a[4] * a[4] + b[4] * b[4]) + 1e-6)
  }' || {
    echo "  these are not the same" >&2
    return 1
  }
  # The best policy of the run, and the last one, which has the rest of the state beside it.
  "$python" play.py "$name/last.safetensors" 2 >/dev/null
  tested=$((tested + 1))
}

tested=0
check ppo cartpole 100k
check ppo mountain-car-continuous 20k
check trpo acrobot 40k
check ppo pendulum 40k normalise_observations=true
check sac pendulum 2k hidden=[32,32] batch_size=64
# Of values of choices the program finds the network by itself.
check dqn cartpole 10k hidden=[64]
check dqn acrobot 10k hidden=[64] dueling=true
check dql cartpole 4k hidden=[64]
check td3 pendulum 2k hidden=[32,32] batch_size=64 learning_starts=100 normalise_observations=true
check dql acrobot 4k hidden=[64] normalise_observations=true
# Where observations are normalised nobody gets a network without its normaliser.
"$python" - <<'P'
import play
from safetensors.numpy import load_file, save_file
from safetensors import safe_open

path = "mountain-car-continuous-ppo/best.safetensors"
network = play.Network(path)
assert "mean" in network.layers[0] and all("weight" in layer for layer in network.layers[1:])
with safe_open(path, framework="numpy") as file:
    metadata = file.metadata()
save_file({k: v for k, v in load_file(path).items() if not k.startswith("policy.0.")}, "without.safetensors", metadata)
try:
    play.Network("without.safetensors")
except AssertionError:
    pass
else:
    raise SystemExit("a network without its first layer was read")
P
# What is in segments is what one file has.
"$binary" export pendulum-sac -o pendulum-sac.safetensors >/dev/null
"$python" - <<'P'
import numpy as np
import play
from safetensors.numpy import load_file

expected = load_file("pendulum-sac.safetensors")["memory.transitions"]
assert len(expected) == 2000 and np.abs(expected).sum() > 0
assert np.array_equal(play.transitions("pendulum-sac"), expected)
P
echo "$((tested + 2)) passed, 0 failed"
