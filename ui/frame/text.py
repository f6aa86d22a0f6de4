"""Text from outside (file names, links, model names, errors) as markdown that shows it and does nothing else."""

from __future__ import annotations

import re

LONGEST = 200  # characters of a foreign value that a message repeats
_CODE = re.compile(r"(`[^`\n]+`)")
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+.!|$~<>:-])")


def plain(text: str) -> str:
    """The text as it is: markup is escaped, so no link, picture, formula or heading; `code` stays code."""
    parts = _CODE.split(text)
    return "".join(part if number % 2 else _MARKUP.sub(r"\\\1", part) for number, part in enumerate(parts))


def quote(value: str) -> str:
    """A foreign value as inline code, not too long."""
    kept = "".join(char if char.isprintable() and char != "`" else " " for char in value)
    return f"`{kept[:LONGEST]}{'…' if len(kept) > LONGEST else ''}`" if kept.strip() else "nothing"
