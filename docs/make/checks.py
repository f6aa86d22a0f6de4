"""What must hold of the built site: a reader's browser fetches nothing from another host."""

from __future__ import annotations

import re
from pathlib import Path

ELEMENT = re.compile(
    r"<(?:script|link|img|iframe|source|video|object|embed)\b[^>]*>", re.IGNORECASE
)
ADDRESS = re.compile(r"(?:src|href|data|srcset)=[\"']?((?:https?:)?//[^\"'\s>]+)", re.IGNORECASE)
STYLE = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s;]+)", re.IGNORECASE)


def fetched(text: str) -> list[str]:
    """List addresses on other hosts that a page or a style sheet loads; links to follow are not."""
    elements = (
        address for element in ELEMENT.findall(text) for address in ADDRESS.findall(element)
    )
    return [*elements, *STYLE.findall(text)]


def foreign_files(site: Path) -> dict[str, list[str]]:
    """List what each page and style sheet of a site loads from other hosts, by its place."""
    files = (path for path in sorted(site.rglob("*")) if path.suffix in (".html", ".css"))
    loads = {
        str(path.relative_to(site)): fetched(path.read_text(encoding="utf8")) for path in files
    }
    return {place: addresses for place, addresses in loads.items() if addresses}
