#!/usr/bin/env bash
# Type-check the core for the browser.
exec "$(dirname "$0")/check-target.sh" wasm32-unknown-unknown --no-default-features
