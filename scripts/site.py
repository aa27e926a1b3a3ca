"""The parts of build-site.sh that are not mdBook's.

site.py assemble FOLDER: puts the pages of docs/SUMMARY.md, the settings of mdBook, and the files that pages link to
into FOLDER. Pages stay as they are in the repository, but for links: sources are beside the pages as text, and a
folder's link leads to its first page.

site.py check FOLDER: fails where a link or a picture in the built pages leads nowhere, its anchor included, and where a
page would load something from elsewhere.
"""

import os
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

# Links and pictures, in Markdown and in HTML.
TARGET = re.compile(r'(\]\(|\b(?:src|href)=")([^)"\s]+)')
# Files that browsers show by themselves; others go as text.
SHOWN = {".gif", ".png", ".svg", ".csv"}
# Elements that load what they name.
LOADS = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src"}


def is_elsewhere(target):
    return re.match(r"[a-z]+:|//", target) is not None


def resolved(page, target):
    """The path of a link's target from the root, and its anchor."""
    path, _, anchor = target.partition("#")
    path = path.partition("?")[0]
    return os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page, anchor


def stored(page):
    """Where a page of the repository lies on the site."""
    return re.sub(r"README\.md$", "index.md", page)


def assemble(folder):
    source = Path(folder, "src")
    summary = Path("docs/SUMMARY.md").read_text()
    pages = []

    def entry(link):
        pages.append(resolved("docs/SUMMARY.md", link[2])[0])
        return link[1] + stored(pages[-1])

    summary = TARGET.sub(entry, summary)
    for page in sorted(Path("docs").rglob("*.md")):
        if str(page) not in [*pages, "docs/SUMMARY.md"]:
            sys.exit(f"docs/SUMMARY.md has no line for {page}")
    source.mkdir(parents=True)
    Path(source, "SUMMARY.md").write_text(summary)
    shutil.copy("docs/book.toml", folder)
    shutil.copy("docs/site.css", folder)
    Path(folder, "theme").mkdir()
    shutil.copy("web-demo/public/icon.svg", Path(folder, "theme/favicon.svg"))

    demo = Path("web-demo/dist").is_dir()
    for page in pages:

        def on_the_site(link):
            path, anchor = resolved(page, link[2])
            if is_elsewhere(link[2]):
                return link[0]
            if path == "web-demo" and demo:
                path = "demo/index.html"
            elif Path(path).is_dir():
                path = stored(next((other for other in pages if other.startswith(path + "/")), path))
            elif path in pages:
                path = stored(path)
            elif Path(path).is_file():
                to = source / (path if Path(path).suffix in SHOWN else f"{path}.txt")
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, to)
                path = str(to.relative_to(source))
            else:
                sys.exit(f"{page}: a link leads nowhere: {link[2]}")
            return link[1] + os.path.relpath(path, os.path.dirname(page) or ".") + (anchor and f"#{anchor}")

        # Code, in fences and in lines, has no links.
        parts = re.split(r"(^ *```.*?^ *```$|``.*?``|`[^`]*`)", Path(page).read_text(), flags=re.M | re.S)
        text = "".join(part if i % 2 else TARGET.sub(on_the_site, part) for i, part in enumerate(parts))
        if page == "web-demo/README.md" and demo:
            text = text.replace("\n", "\n\n**[Open the demo](../demo/index.html)**\n", 1)
        to = source / stored(page)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text)


class Page(HTMLParser):
    """Reads a page's anchors, its links, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loads = {"", "top"}, [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.anchors.update(named[key] for key in ("id", "name") if named.get(key))
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        if named.get(LOADS.get(tag)):
            self.loads.append(named[LOADS[tag]])


def check(folder):
    root = Path(folder)
    pages = {str(path.relative_to(root)): Page(path.read_text()) for path in sorted(root.rglob("*.html"))}
    faults, links = [], 0
    for name, page in pages.items():
        faults += [f"{name} loads {target}" for target in page.loads if re.match(r"https?:|//", target)]
        for target in page.links + page.loads:
            if is_elsewhere(target):
                continue
            path, anchor = resolved(name, unquote(target))
            if (root / path).is_dir():
                path = os.path.join(path, "index.html")
            anchors = pages[path].anchors if path in pages else {""}
            # What follows "#" has "=" where the demo is told what to show.
            if not (root / path).is_file() or anchor not in anchors and "=" not in anchor:
                faults.append(f"{name}: a link leads nowhere: {target}")
            links += 1
    for style in root.rglob("*.css"):
        loaded = re.findall(r"(?:@import|url\()[\s\"']*(?:https?:)?//[^)\"'\s]*", style.read_text())
        faults += [f"{style.relative_to(root)} loads {target}" for target in loaded]
    if faults:
        sys.exit("\n".join(faults))
    print(f"{len(pages)} pages, {links} links that lead somewhere")


if __name__ == "__main__":
    {"assemble": assemble, "check": check}[sys.argv[1]](sys.argv[2])
