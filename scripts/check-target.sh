#!/usr/bin/env bash
# check-target.sh TARGET [ARGUMENT...]: type-check the core for another target (cargo's arguments follow).
set -euo pipefail
cd "$(dirname "$0")/.."
exec scripts/cargo-for.sh "$1" check -p quickstudy-core "${@:2}"
