#!/usr/bin/env bash
# Compares the statistics of `quickstudy compare` with rliable's: check-rliable.sh [BINARY], the release build without
# one, or check-rliable.sh --write, which writes rliable's numbers for the tests in Rust. It makes an environment of
# Python of its own. arch, which rliable imports, does not work with pandas 3.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
python=$(scripts/python-with.sh "$target/rliable-python" "rliable.library, rliable.metrics" \
  "rliable==1.2.0" "arch==7.2.0" "pandas==2.3.3" "scipy==1.17.1" "numpy==2.4.6")
exec "$python" scripts/check-rliable.py "${@:-$target/release/quickstudy}"
