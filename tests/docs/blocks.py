"""Fenced blocks of a page of the documentation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests import ROOT

FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WRITTEN = (*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md")
"""Every page that is written by hand."""


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        language: What stands behind the fence: "python" and "sh" are run by tests, "console" not.
        title: The file that it is, where it is one.
        code: What it holds.
    """

    language: str
    title: str
    code: str


def blocks_of(page: Path, *languages: str) -> list[Block]:
    """The blocks of a page in these languages, in order; all where none is named."""
    text = page.read_text(encoding="utf8")
    blocks = [Block(language, title or "", code) for language, title, code in FENCE.findall(text)]
    return [block for block in blocks if not languages or block.language in languages]


def commands_of(block: Block) -> list[str]:
    """The commands of a block of shell, without comments, continued lines joined."""
    lines = re.sub(r"\\\n\s*", "", block.code).splitlines()
    return [line.partition(" #")[0].strip() for line in lines if line.strip() and line[0] != "#"]
