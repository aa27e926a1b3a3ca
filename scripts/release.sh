#!/usr/bin/env bash
# Builds the files of a release into target/release-files, then installs each and trains with it where there is no Rust:
#   scripts/release.sh [PART…]   all parts, in this order, or those that are named
#     binary      the command line as an archive, its wheel, and the JSON schema of its results
#     npm         the npm package as a file
#     page        the web demo as an archive; it takes the package that `npm` has built
#     checksums   SHA256SUMS of all of these
#     check       reads which C library the binary needs, and tries the files in bare Debian systems, without a network
#     workflow    lints .github/workflows/release.yml; only when named
# On Linux the binary runs with glibc 2.28 and newer: zig links it against that version. It loads Vulkan at run time,
# which a fully static binary could not. Needs Rust, Node.js 20 with npm, python3 with venv and, on other systems than
# Linux, maturin; `check` needs Linux on x86-64, root, mmdebstrap and objdump. Begin from a clean clone of the tag.
set -euo pipefail
cd "$(dirname "$0")/.."
OLD=bullseye # glibc 2.31: Debian's mirrors have no older release
NEW=trixie   # the first with Python 3.10 and Node.js 20
GLIBC=2.28   # of Debian 10, RHEL 8 and Ubuntu 18.10
target=$(realpath "$(mkdir -p "${CARGO_TARGET_DIR:-target}" && echo "${CARGO_TARGET_DIR:-target}")")
export CARGO_TARGET_DIR=$target
files=$target/release-files
version=$(awk -F'"' '/^version = / { print $2; exit }' Cargo.toml)

fail() {
  echo "error: $*" >&2
  exit 1
}

# An archive NAME.tar.gz of a folder NAME with these files.
pack() {
  local folder=$files/$1
  mkdir "$folder"
  cp -RL "${@:2}" "$folder" # licences are links
  tar -czf "$folder.tar.gz" -C "$files" "$1"
  rm -r "$folder"
}

binary() {
  local PATH=$PATH triple program options=(--release --locked --out "$files")
  if [[ $(uname -s) = Linux ]]; then
    triple=x86_64-unknown-linux-gnu
    PATH=$(dirname "$(scripts/python-with.sh "$target/release-python" "maturin, ziglang" "maturin[zig]>=1.9,<2")"):$PATH
    options+=(--zig --compatibility "manylinux_${GLIBC/./_}")
  else
    triple=$(rustc --print host-tuple)
  fi
  scripts/notices.mjs quickstudy "$triple" >python/LICENSE-THIRD-PARTY
  rm -f "$files"/*.whl
  (cd python && maturin build "${options[@]}" --target "$triple")
  program=$target/$triple/release/quickstudy
  [[ ! -f $program.exe ]] || program+=.exe
  pack "quickstudy-$version-$triple" "$program" python/LICENSE-*
  "$program" list --json-schema >"$files/json.schema.json"
}

npm_file() {
  scripts/build-package.sh
  scripts/check-package.mjs
  npm pack --ignore-scripts --pack-destination "$files" ./wasm
}

page() {
  [[ -f wasm/dist/index.js ]] || fail "the page needs the npm package: scripts/release.sh npm page"
  npm --prefix web-demo ci --no-audit --no-fund
  npm --prefix web-demo run build
  pack "quickstudy-page-$version" web-demo/dist/. wasm/LICENSE-* wasm/THIRD-PARTY-NOTICES.txt
}

checksums() {
  (cd "$files" && rm -f SHA256SUMS && sha256sum -- * | tee SHA256SUMS)
}

# The newest version of glibc that the binary asks for, which must not be above that of the release.
glibc_needed() {
  local newest
  newest=$(objdump -T "$1" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
  echo "the binary needs $newest, and has $(stat -c %s "$1") bytes"
  [[ $(printf '%s\n' "$newest" "GLIBC_$GLIBC" | sort -V | tail -n 1) = "GLIBC_$GLIBC" ]] ||
    fail "the binary needs a newer glibc than $GLIBC"
}

# A bare Debian system of this release, with other options of mmdebstrap, and the files to check in /release.
debian() {
  mmdebstrap --mode=root --variant=minbase "${@:2}" "$1" "$roots/$1"
  cp -r "$files" "$roots/$1/release"
  echo "== $1: $(within "$1" 'ldd --version | head -n 1')"
  within "$1" 'tar -xzf /release/quickstudy-*-linux-gnu.tar.gz --strip-components=1 -C /usr/local/bin'
}

# Runs a script in such a system, without a network.
within() {
  unshare --mount --pid --fork --net --mount-proc="$roots/$1/proc" chroot "$roots/$1" \
    /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/root bash -euo pipefail -c "cd /root; $2"
}

# Serves the page, reads every file that its service worker lists, and all that index.html names.
check_page() {
  mkdir "$roots/page"
  tar -xzf "$files/quickstudy-page-$version.tar.gz" -C "$roots/page" --strip-components=1
  python3 - "$roots/page" <<'PYTHON'
import http.server, json, os, re, sys, threading, urllib.request
class Handler(http.server.SimpleHTTPRequestHandler):
    log_message = lambda *_: None
os.chdir(sys.argv[1])
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
def read(path):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/{path}") as answer:
        return answer.read()
listed = json.loads(re.search(r"FILES = (\[.*?\]);", read("service-worker.js").decode())[1])
named = re.findall(r'(?:src|href)="(?:\./)?([^"#:]+)"', read("index.html").decode())
empty = [path for path in {*listed, *named} if not read(path)]
assert len(listed) > 10 and named and not empty, (listed, named, empty)
print(f"== the page: {len(listed)} files, {sum(len(read(path)) for path in listed)} bytes")
PYTHON
}

check() {
  [[ $(id -u) = 0 ]] || fail "check makes Debian systems with chroot: run it as root"
  for tool in mmdebstrap objdump; do
    command -v "$tool" >/dev/null || fail "check needs $tool: apt-get install mmdebstrap binutils"
  done
  [[ -f $files/SHA256SUMS ]] || fail "build the files first: scripts/release.sh binary npm page checksums"
  (cd "$files" && sha256sum --check --quiet SHA256SUMS)
  roots=$(mktemp -d)
  chmod 755 "$roots" # apt downloads as a user of its own
  trap 'rm -rf --one-file-system "$roots"' EXIT
  check_page

  debian "$OLD"
  glibc_needed "$roots/$OLD/usr/local/bin/quickstudy"
  within "$OLD" '
    quickstudy train ppo --env cartpole --steps 20k
    quickstudy devices
    quickstudy list --json-schema | cmp - /release/json.schema.json'

  debian "$NEW" --include=libvulkan1,mesa-vulkan-drivers,python3-numpy,python3-venv,nodejs
  within "$NEW" '
    quickstudy train ppo --env cartpole --steps 20k
    quickstudy devices | grep llvmpipe
    GALLIVM_PERF=nopt quickstudy train ppo --env cartpole --steps 256 --device gpu --out runs/gpu'

  # NumPy is Debian'"'"'s, so that pip needs no network.
  echo "== $NEW: the wheel"
  within "$NEW" '
    python3 -m venv --system-site-packages wheel
    wheel/bin/pip install --quiet --no-index /release/*.whl
    wheel/bin/python -c "
import quickstudy
training = quickstudy.train(\"ppo\", \"cartpole\", steps=20_000, out=\"runs/wheel\")
for row in training:
    last = row
print(last[\"time/env_steps\"], last[\"eval/return_mean\"])
print(quickstudy.load(training.run).act([0.0, 0.1, 0.02, -0.3]))"'

  # Debian'"'"'s npm would bring 350 packages; this one runs nothing when it installs.
  echo "== $NEW: the npm file"
  npm install --silent --offline --ignore-scripts --prefix "$roots/$NEW/root" "$files/quickstudy-$version.tgz"
  within "$NEW" '
    cat >train.mjs <<MODULE
import { train } from "quickstudy";
let last;
for await (const { envSteps, returnMean } of train({ algorithm: "ppo", env: "cartpole", seed: 1, steps: 20000 }))
  last = [envSteps, returnMean];
console.log(...last);
MODULE
    node train.mjs'
}

# zizmor looks for what lets others change a release, check-jsonschema for keys and values that there are not.
workflow() {
  local tools
  tools=$(dirname "$(scripts/python-with.sh "$target/lint-python" "check_jsonschema" \
    "check-jsonschema>=0.37,<1" "zizmor>=1.20,<2")")
  "$tools/check-jsonschema" --builtin-schema vendor.github-workflows .github/workflows/release.yml
  "$tools/zizmor" --offline .github/workflows/release.yml
}

if [[ ${1:-} = --help ]]; then
  sed -n '/^#!/d; /^#/!q; s/^# \{0,1\}//p' "$0"
  exit
fi
for part in "$@"; do
  [[ $part =~ ^(binary|npm|page|checksums|check|workflow)$ ]] ||
    fail "there is no part '$part': scripts/release.sh --help"
done
if (($# == 0)); then
  rm -rf "$files"
  set -- binary npm page checksums check
fi
mkdir -p "$files"
for part in "$@"; do
  SECONDS=0
  printf '\n== %s\n' "$part"
  case $part in
    npm) npm_file ;;
    *) "$part" ;;
  esac
  echo "== $SECONDS s: $part"
done
