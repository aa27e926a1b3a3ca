#!/usr/bin/env bash
# Build the npm package `quickstudy` into wasm/dist: WebAssembly, its bindings, the TypeScript API and types.
# Needs Rust, Node.js 20 with npm, and what cargo-for.sh says if the toolchain has no wasm32-unknown-unknown.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
wasm=$target/cross/wasm32-unknown-unknown/wasm/quickstudy_wasm.wasm
dist=wasm/dist

# The generator of bindings must have exactly the version of the crate that is compiled in.
bindgen() {
  local version
  version=$(awk -F'"' '/^name = "wasm-bindgen"$/ { getline; print $2; exit }' Cargo.lock)
  if [[ $(wasm-bindgen --version 2>/dev/null) = "wasm-bindgen $version" ]]; then
    wasm-bindgen --target web --out-dir "$2" "$1"
  else
    cargo run --quiet --locked --manifest-path wasm/bindgen/Cargo.toml --target-dir "$target/bindgen" -- "$1" "$2"
  fi
}

optimise() {
  wasm/node_modules/.bin/wasm-opt -O3 --enable-simd --enable-bulk-memory --enable-nontrapping-float-to-int \
    --enable-sign-ext --enable-mutable-globals --enable-reference-types --enable-multivalue "$1" -o "$1"
}

if ! command -v npm >/dev/null || ! node -e 'process.exit(Number.parseInt(process.versions.node) < 20 ? 1 : 0)'; then
  echo "The package is built with Node.js 20 or newer and npm: install both" >&2
  exit 1
fi
npm --prefix wasm ci --no-audit --no-fund
scripts/cargo-for.sh wasm32-unknown-unknown build -p quickstudy-wasm --lib --profile wasm
rm -rf "$dist"
bindgen "$wasm" "$dist"
optimise "$dist/quickstudy_wasm_bg.wasm"
wasm/node_modules/.bin/tsc -p wasm
cp LICENSE-* wasm/ # npm takes nothing from outside of its folder
