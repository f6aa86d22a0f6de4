"""Folders of models in the home folder, written alike for everybody: `path:~/models`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

FROM_HOME = "path:~/"


def in_home() -> str:
    """Return how references to folders in the home folder begin on this computer."""
    return f"path:{Path.home()}/"


def renamed(value: Any, before: str, after: str) -> Any:
    """Rename the beginning of references in the texts of a value; arrays are left as they are.

    Args:
        value: As of `core.runs.encoding.decode`.
        before, after: `FROM_HOME` and `in_home()`, or the reverse.

    Example:
        >>> renamed({"base": ["path:/home/a/model"]}, "path:/home/a/", FROM_HOME)
        {'base': ['path:~/model']}
    """
    again = partial(renamed, before=before, after=after)
    if isinstance(value, str):
        return value.replace(before, after)
    if isinstance(value, list | tuple):
        return [again(each) for each in value]
    if isinstance(value, Mapping):
        return {again(name): again(each) for name, each in value.items()}
    return value
