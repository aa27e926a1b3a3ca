#!/usr/bin/env bash
# Checks how pages and documentation read: typing errors everywhere (typos, by typos.toml), sentences that name nothing,
# and words with better ones (prose.py). It needs git and python3 with pip, and takes some seconds.
set -euo pipefail
cd "$(dirname "$0")/.."
typos=$(scripts/fetch-tool.sh typos typos 1.52.0 418fd85f7fc11dec14e5482e747f6e916af56da96207cde0cdd69540a4b389f6)
"$typos"
python3 scripts/prose.py
