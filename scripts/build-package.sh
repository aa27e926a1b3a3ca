#!/usr/bin/env bash
# Build the npm package `quickstudy` into wasm/dist: WebAssembly, its bindings, the TypeScript API and types.
# Needs Rust, Node.js 20 with npm, and what cargo-for.sh says if the toolchain has no wasm32-unknown-unknown.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
wasm=$target/cross/wasm32-unknown-unknown/wasm
build=wasm/build # bindings and API before they are bundled
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

# wasm-opt inlines nothing: what it inlines on top of the compiler makes the file larger and nothing faster.
optimise() {
  wasm/node_modules/.bin/wasm-opt -O2 --flexible-inline-max-function-size 0 --always-inline-max-function-size 0 \
    --one-caller-inline-max-function-size 0 --dae-optimizing --rse --reorder-functions --enable-simd \
    --enable-bulk-memory --enable-nontrapping-float-to-int --enable-sign-ext --enable-mutable-globals \
    --enable-reference-types --enable-multivalue "$1" -o "$2"
}

# Each file more is a round trip before the first iteration: what a page loads at once is one file, a worker's another.
bundle() {
  wasm/node_modules/.bin/esbuild --bundle --format=esm --target=es2022 --log-level=warning --legal-comments=none "$@"
}

if ! command -v npm >/dev/null || ! node -e 'process.exit(Number.parseInt(process.versions.node) < 20 ? 1 : 0)'; then
  echo "The package is built with Node.js 20 or newer and npm: install both" >&2
  exit 1
fi
npm --prefix wasm ci --no-audit --no-fund
rm -rf "$build" "$dist"
scripts/cargo-for.sh wasm32-unknown-unknown build -p quickstudy-wasm --lib --profile wasm
bindgen "$wasm/quickstudy_wasm.wasm" "$build"
mkdir -p "$dist"
node scripts/settings-types.mjs | tee "$build/settings.d.ts" >"$dist/settings.d.ts"
wasm/node_modules/.bin/tsc -p wasm
bundle --splitting --chunk-names='[name]-[hash]' "$build/index.js" --outdir="$dist"
bundle "$build/worker.js" --outfile="$dist/worker.js"
optimise "$build/quickstudy_wasm_bg.wasm" "$dist/quickstudy_wasm_bg.wasm"
scripts/notices.mjs quickstudy-wasm wasm32-unknown-unknown >wasm/THIRD-PARTY-NOTICES.txt
cp LICENSE-* wasm/ # npm takes nothing from outside of its folder
cat <<INSTALL
The package is built. In the folder of a project, with the package.json that it has or that \`npm init -y\` makes:
  npm install "$PWD/wasm"
A file to pass on is made by \`npm pack "$PWD/wasm"\`.
INSTALL
