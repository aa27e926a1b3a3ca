#!/usr/bin/env bash
# check-target.sh TARGET [ARGUMENT...]: type-check the core for another target (cargo's arguments follow): with the current
# toolchain if it has or can get the target, else with the standard library's source from Debian's rustc-web packages.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$1
args=(check -p quickstudy-core --target "$target" "${@:2}")

has_std() {
  compgen -G "$(rustc --print target-libdir --target "$target" 2>/dev/null)/libstd-*.rlib" >/dev/null
}

if has_std || { command -v rustup >/dev/null && timeout 120 rustup target add "$target" >/dev/null 2>&1 && has_std; }; then
  exec cargo "${args[@]}"
fi
if [[ ! -f $(/usr/bin/rustc --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library/std/Cargo.toml ]]; then
  echo "The toolchain has no $target. On Debian its source comes with:" >&2
  echo "  apt-get install --no-install-recommends rustc-web cargo-web rust-web-src rust-web-llvm lld-22" >&2
  exit 1
fi
# Its own folder: another compiler, other flags.
export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/wasm-check"
exec /usr/bin/cargo "${args[@]}" -Zbuild-std=std,panic_abort
