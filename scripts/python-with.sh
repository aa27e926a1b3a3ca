#!/usr/bin/env bash
# python-with.sh FOLDER MODULES PACKAGE…: makes a Python environment with these packages in FOLDER, unless one there can
# import MODULES already, and prints the path of its interpreter. It needs python3 with venv and pip.
set -euo pipefail
folder=$1
if ! "$folder/bin/python" -c "import $2" >/dev/null 2>&1; then
  rm -rf "$folder"
  python3 -m venv "$folder" || {
    echo "python3 with venv is missing: install Debian's packages python3 and python3-venv" >&2
    exit 1
  }
  "$folder/bin/pip" install --quiet --disable-pip-version-check "${@:3}"
fi
realpath -s "$folder/bin/python"
