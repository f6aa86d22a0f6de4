"""Links of Markdown and of the app's sentences, and what is wrong with them."""

from __future__ import annotations

import ast
import posixpath
import re
import unicodedata
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

HOSTS = frozenset(
    {
        "arxiv.org", "colab.research.google.com", "doi.org", "download.pytorch.org", "huggingface.co",
        "universaldependencies.org", "vega.github.io", "www.w3.org",
    }
)  # fmt: skip
"""Hosts that documentation and app may point to; add one here after looking at the page."""
HERE = frozenset({"localhost", "127.0.0.1"})
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")
URL = re.compile(r"https?://[^\s)\"'<>`{}|;]+")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def slug(heading: str) -> str:
    """The anchor that MkDocs and GitHub give a heading."""
    text = unicodedata.normalize("NFKD", re.sub(r"[`*\\]", "", heading))
    text = text.encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower())


def anchors(markdown: str) -> set[str]:
    """Anchors of a page's headings."""
    return {slug(heading) for heading in HEADING.findall(FENCED.sub("", markdown))}


def targets(markdown: str) -> Iterator[str]:
    """Targets of a page's links and images, code apart."""
    yield from LINK.findall(CODE.sub("", FENCED.sub("", markdown)))


def wrong_address(address: str) -> str | None:
    """Why an address should not be there; None where it is well-formed and its host listed."""
    parts = urlsplit(address.rstrip(".,"))
    if parts.hostname in HERE:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return f"{address} is no address"
    return None if parts.hostname in HOSTS else f"{address} is of a host that is not listed"


def dead_links(page: str, pages: Mapping[str, str], files: set[str]) -> list[str]:
    """What is wrong with a page's links.

    Args:
        page: The page's place.
        pages: Markdown by place.
        files: Places of everything else that a link may point to.
    """
    wrong = []
    for target in targets(pages[page]):
        if "://" in target:
            if (reason := wrong_address(target)) is not None:
                wrong.append(reason)
            continue
        path, _, anchor = target.partition("#")
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
        if place not in pages and place not in files:
            wrong.append(f"{target}: there is no {place}")
        elif anchor and anchor not in anchors(pages.get(place, "")):
            wrong.append(f"{target}: {place} has no such heading")
    return wrong


def sentences(source: str) -> Iterator[str]:
    """Every text that a module holds, parts of formatted ones too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
