"""Preprocessor of the book. mdBook starts it in docs/ and gives it the book as JSON.

A page that consists of one link to a Markdown file outside docs/ shows that file. A link to a file that the book shows leads to its
page; a link to any other file of the repository leads to GitHub.
"""

import json
import os
import posixpath
import re
import sys

REPOSITORY = "https://github.com/smbd-rs/smbd/blob/main/"
BOOK = "docs"
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WINDOW = re.compile(r"\AThis page is \[[^\]]*\]\((\.\./[^)#]*\.md)\)\.\s*\Z")
LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def chapters(items):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter:
            if chapter.get("path"):
                yield chapter
            yield from chapters(chapter["sub_items"])


def source(chapter):
    """The file of the repository that a chapter shows."""
    page = posixpath.join(BOOK, chapter["path"])
    window = WINDOW.match(chapter["content"])
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), window[1])) if window else page


def target(link, shown, chapter, pages):
    """The link of the book for a link of the file `shown`."""
    path, mark, anchor = link.partition("#")
    if path.startswith(REPOSITORY):
        path = path[len(REPOSITORY):]
    elif not path or re.match(r"[a-z]+:", path):
        return link
    else:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(shown), path))
    if path in pages:
        return posixpath.relpath(pages[path], posixpath.dirname(chapter["path"]) or ".") + mark + anchor
    if path.startswith(BOOK + "/") and path.endswith(".png"):
        return posixpath.relpath(path, posixpath.dirname(posixpath.join(BOOK, chapter["path"]))) + mark + anchor
    return REPOSITORY + path + mark + anchor


def main():
    if sys.argv[1:2] == ["supports"]:
        return
    _, book = json.load(sys.stdin)
    found = list(chapters(book.get("items", book.get("sections"))))
    pages = {source(chapter): chapter["path"] for chapter in found}
    for chapter in found:
        shown = source(chapter)
        if shown != posixpath.join(BOOK, chapter["path"]):
            with open(os.path.join(ROOT, shown), encoding="utf-8") as file:
                chapter["content"] = file.read()
        chapter["content"] = LINK.sub(
            lambda it: it[1] + target(it[2], shown, chapter, pages) + it[3], chapter["content"])
    json.dump(book, sys.stdout)


main()
