#!/usr/bin/env bash
# Runs the second tier of tests: what repeats a kind of the first tier for long, and what needs Python or a GPU.
# Left out is what takes an hour (full learning bars, a hundred kills), prints numbers to look at, draws fresh seeds
# (scripts/fuzz.sh), or needs Meta-World (scripts/check-metaworld.sh).
#
# It needs python3 with venv and pip, and makes an environment of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
QUICKSTUDY_TEST_PYTHON=$(scripts/test-python.sh)
export QUICKSTUDY_TEST_PYTHON
exec cargo test --workspace --tests -- --ignored --skip full_bar --skip a_hundred_kills --skip steps_of_drawn_cases \
  --skip fresh_programs --skip metaworld:: "$@"
