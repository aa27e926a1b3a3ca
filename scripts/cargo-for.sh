#!/usr/bin/env bash
# cargo-for.sh TARGET COMMAND [ARGUMENT...]: run cargo for another target: with the current toolchain if
# it has or can get the target, else with the standard library's source from Debian's rustc-web
# packages. Build outputs lie in target/cross.
set -euo pipefail
target=$1
command=("${@:2}" --target "$target")

has_std() {
  compgen -G "$(rustc --print target-libdir --target "$target" 2>/dev/null)/libstd-*.rlib" >/dev/null
}

# Its own folder: perhaps another compiler.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/cross"
if has_std || {
  command -v rustup >/dev/null && timeout 120 rustup target add "$target" >/dev/null 2>&1 && has_std
}; then
  exec cargo "${command[@]}"
fi
if [[ ! -f $(/usr/bin/rustc --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library/std/Cargo.toml ]]; then
  echo "The Rust toolchain has no $target. With rustup: rustup target add $target. On Debian its source comes with:" >&2
  echo "  apt-get install --no-install-recommends rustc-web cargo-web rust-web-src rust-web-llvm lld-22" >&2
  exit 1
fi
export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1
exec /usr/bin/cargo -Zbuild-std=std,panic_abort "${command[@]}"
