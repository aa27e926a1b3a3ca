#!/usr/bin/env bash
# Builds the Python wheel from the release build, installs it in a new environment, and runs its tests there, in an
# empty folder; then checks its types for Python 3.10 to 3.13, and how its sources are written. What is printed for each
# run is the largest difference between its policy's actions in Python and those of the command line.
#
# It needs python3 with venv and pip, and makes an environment of its own for the tools. The wheel lies in
# target/wheel. QUICKSTUDY_ACTIONS names a built `actions-under-test`; by default it is the one that the tests build.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR=$target
# NumPy's newest version for Python 3.10, whose types mypy can read for all.
python=$(scripts/python-with.sh "$target/wheel-python" "maturin, mypy, numpy" \
  "maturin>=1.9,<2" "mypy>=1.15,<3" "numpy==2.2.6" "ruff>=0.14,<1")
tools=$(dirname "$python")

"$tools/ruff" format --check --quiet --no-cache python || {
  echo "python is not formatted: $tools/ruff format python" >&2
  exit 1
}
"$tools/ruff" check --quiet --no-cache python
for version in 3.10 3.11 3.12 3.13; do
  "$tools/mypy" --strict --python-version "$version" --cache-dir "$target/mypy" python/quickstudy
done

if [[ -z ${QUICKSTUDY_ACTIONS:-} ]]; then
  # As the tests build it: with the profile of tests nothing is compiled twice.
  cargo test --quiet --workspace --test platform --no-run
  QUICKSTUDY_ACTIONS=$target/debug/actions-under-test
fi
QUICKSTUDY_ACTIONS=$(realpath "$QUICKSTUDY_ACTIONS")
export QUICKSTUDY_ACTIONS QUICKSTUDY_SNAPSHOTS=$PWD/tests/golden/snapshots

# Nothing is compiled here if `cargo build --release` has run: it is the same profile and the same folder.
rm -rf "$target/wheel"
(cd python && "$tools/maturin" build --release --locked --quiet --out "$target/wheel")
wheel=$(echo "$target"/wheel/quickstudy-*-py3-none-*.whl)
files=$(python3 -m zipfile -l "$wheel")
for needed in quickstudy/py.typed scripts/quickstudy licenses/LICENSE-MIT licenses/LICENSE-APACHE; do
  grep -q "$needed" <<<"$files" || {
    echo "the wheel has no $needed" >&2
    exit 1
  }
done
! grep -q "tests/" <<<"$files" || {
  echo "the wheel has tests" >&2
  exit 1
}

scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
python3 -m venv "$scratch/fresh"
"$scratch/fresh/bin/pip" install --quiet --disable-pip-version-check "$wheel" "pytest>=8,<10" "gymnasium==1.4.0" \
  "onnx==1.23.2" "onnxruntime==1.32.0"
cp -r python/tests "$scratch/tests"
cd "$scratch"
unset PYTHONPATH
fresh/bin/quickstudy --version
fresh/bin/python -m pytest --quiet -p no:cacheprovider --basetemp "$scratch/runs" tests
echo "$(basename "$wheel"): $(($(stat -c %s "$wheel") / 1024)) kB"
