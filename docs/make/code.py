"""Where the numbers of a study are computed: from its headline to a function in two steps."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from core.runs.precomputed import default_precomputed
from core.runs.store import Store, using
from core.study import Study, run_first_stage

HEADLINE = "make_headline"  # the name of the function in every study


@cache
def functions_of(study: Study, spec: Any) -> tuple[Callable[..., Any], ...]:
    """List the functions whose outputs a study's tables are made of, in the order of its plan."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-docs-") as folder:
        store = Store(Path(folder), precomputed=default_precomputed())
        with using(store):
            ready = run_first_stage(study.prepare(spec, None), store=store)
            return tuple(dict.fromkeys(task.function for task in study.plan(spec, ready)))


def file_of(function: Callable[..., Any]) -> str:
    """Name the file of a function, from the root of the repository."""
    return function.__module__.replace(".", "/") + ".py"


def writer_of(study: Study) -> str:
    """Name the file whose function writes a study's headline; "" where it needs none."""
    folder = Path(inspect.getfile(study.Spec)).parent
    package = study.Spec.__module__.rpartition(".")[0].replace(".", "/")
    texts = (path.name for path in sorted(folder.glob("*.py")) if _defines(path, HEADLINE))
    return next((f"{package}/{name}" for name in texts), "")


def _defines(path: Path, function: str) -> bool:
    return f"\ndef {function}(" in path.read_text(encoding="utf8")


def code_lines(study: Study, spec: Any) -> list[str]:
    """Say in which files a study's sentences are written and its numbers are computed.

    Returns:
        Lines of Markdown: the sentences first, then the tables, then each task.
    """
    writer = writer_of(study)
    writes = f"`{HEADLINE}` in `{writer}` writes the headline, from the result's statements."
    lines = [
        *([writes] if writer else []),
        f"`{study.collect.__name__}` in `{file_of(study.collect)}` makes the tables and the "
        "statements, from what the tasks computed:",
    ]
    for function in functions_of(study, spec):
        first = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")
        lines.append(f"`{function.__name__}` in `{file_of(function)}`: {first}")
    return lines
