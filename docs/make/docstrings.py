"""Docstrings as the API pages need them: `Example:` becomes `Examples:`, which griffe knows."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Examples(griffe.Extension):
    """Read a section `Example:` as code that Python's prompt shows."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rename the section in the docstring of every module, class and function."""
        if obj.docstring is not None:
            value = obj.docstring.value
            obj.docstring.value = re.sub(r"^(\s*)Example:$", r"\1Examples:", value, flags=re.M)
