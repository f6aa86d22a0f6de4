"""Untrusted text (file names, links, model names, errors) as Markdown that shows it literally."""

from __future__ import annotations

import re

LONGEST = 200  # characters of an untrusted value in a message
_CODE = re.compile(r"(`[^`\n]+`)")
# words without markup: an underscore within a word is none
_BARE = re.compile(r"[^\W_]+(?:(?:_+|[ ./@+-]+)[^\W_]+)*")
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+.!|$~<>:-])")


def plain(text: str) -> str:
    """Escape all Markdown in a text, such as links, images and formulas; keep `code`."""
    parts = _CODE.split(text)
    return "".join(
        part if number % 2 else _MARKUP.sub(r"\\\1", part) for number, part in enumerate(parts)
    )


def plain_label(text: str) -> str:
    """Escape a label only if Markdown would change it: a screen reader says the escapes, too."""
    return text if _BARE.fullmatch(text) else plain(text)


def quote(value: str) -> str:
    """Write an untrusted value as inline code, truncated to `LONGEST` characters."""
    kept = "".join(char if char.isprintable() and char != "`" else " " for char in value)
    return f"`{kept[:LONGEST]}{'…' if len(kept) > LONGEST else ''}`" if kept.strip() else "nothing"
