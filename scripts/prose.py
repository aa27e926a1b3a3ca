"""The part of check-prose.sh that is not typos's: how pages and documentation in Rust read.

Words for which there are better ones are faults anywhere. A sentence of which four words in five are function words
names nothing, and whoever reads it alone, in an editor's hover or by a search, cannot tell what it is about: such a
sentence is a fault in a page, and at the beginning of documentation.
"""

import re
import subprocess
import sys

FUNCTION_WORDS = set(
    """
    a about after all also an and any are as at be been before being both but by can could did do does each every for
    from had has have here how if in into is it its many may might more most much must no nor not of on one ones only or
    other others out over own same shall should so some such than that the their them then there these they this those
    to too under up was were what when where whether which while who whom whose will with would
    """.split()
)
SHARE = 0.8
# Shorter sentences are not judged: those in pages may be cells of a table, whose heading names the thing.
WORDS_OF_PAGE, WORDS_OF_RUST = 4, 3

BETTER = {
    r"vectors? of numbers": "continuous actions, a vector",
    r"beside each other": "side by side",
    r"mend(s|ed|ing)?": "repair, fix",
    r"(browser|notebook)['’]s tab": "browser tab",
    r"(those|all|any|ones|these|first|others) that there (is|are)": "the existing ones, or name them",
    r"what else one should know|that one should know": "notes",
    r"(?-i:(?<!\w )(?<![,;] )Who (?!is |are |may |can )\w+s\b[^?]*?(?=[.]))": "if you …, or name who",
    r"(?-i:([a-z]{2,}) \1)": "once",
}


def faults_of_words(text):
    for pattern, better in BETTER.items():
        for found in re.finditer(rf"\b(?:{pattern})\b", text, flags=re.I):
            yield f"“{found[0]}”: {better}"


def is_empty(sentence, least):
    words = re.findall(r"[^\W\d_][\w’'-]*", sentence)
    known = sum(word.lower() in FUNCTION_WORDS for word in words)
    return len(words) >= least and known >= SHARE * len(words)


def plain(text):
    """A block's text in one line, with code and addresses of links left out."""
    text = re.sub(r"``.*?``|`[^`]*`", "CODE", " ".join(text.split()))
    return re.sub(r"\[([^\]]*)\](\([^)]*\))?", r"\1", text)


def sentences(text):
    return re.split(r"(?<=[.?!]) ", plain(text))


def blocks_of_page(text):
    """Paragraphs, items, headings and cells, each with its line."""
    hidden = re.sub(r"^ *```.*?^ *```$", lambda fence: "\n" * fence[0].count("\n"), text, flags=re.M | re.S)
    for block in re.finditer(r"(?:(?!\n[ \t]*\n|\n *(?:[-*|#]|\d+\.) |\|).)+", hidden, flags=re.S):
        yield hidden.count("\n", 0, block.start()) + 1, block[0].strip()


def blocks_of_rust(text):
    """Comments of documentation, each with its line."""
    kind, first, lines = None, 0, []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        found = re.match(r"\s*(//[/!])(?!/) ?(.*)", line)
        if kind and (not found or found[1] != kind):
            yield first, "\n".join(lines)
            kind = None
        if found and not kind:
            kind, first, lines = found[1], number, []
        if found:
            lines.append(found[2])


def main():
    faults, count = [], 0
    for file in subprocess.check_output(["git", "ls-files", "*.md", "*.rs"], text=True).split():
        with open(file) as source:
            text = source.read()
        page = file.endswith(".md")
        for line, block in blocks_of_page(text) if page else blocks_of_rust(text):
            said = sentences(block) if page else sentences(block.split("\n\n")[0])[:1]
            least = WORDS_OF_PAGE if page else WORDS_OF_RUST
            found = [f"nothing is named in “{sentence}”" for sentence in said if is_empty(sentence, least)]
            faults += [f"{file}:{line}: {fault}" for fault in [*found, *faults_of_words(plain(block))]]
            count += 1
    print(f"{count} paragraphs and comments, {len(faults)} faults")
    if faults:
        sys.exit("\n".join(faults))


main()
