"""The pipelines that parse: which there are, and where their files lie. spaCy is not imported.

A pipeline is called `box` (the one trained for this project on UD English EWT, in `zoo/parser`) or
by the name of an installed `en_core_web_*`. The first predicts Universal Dependencies. The
`en_core_web_*` pipelines predict ClearNLP dependencies (Stanford style): prepositions and
auxiliaries are heads of words that are their heads in UD, so distances and depths of the two are
not comparable; `CLEARNLP_NOTICE` says so to readers.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from core.errors import ModelError
from core.models.zoo import how_to_restore_file, zoo_folder
from core.runs.process.remembered import remembered

BOX = "box"
CLEARNLP_NOTICE = (
    "{pipeline} predicts ClearNLP dependencies, not Universal Dependencies: prepositions and "
    "auxiliaries head their phrases, so trees and scores are not comparable with those of the "
    "included parser or of a UD treebank."
)
# None of these is a keyword of a programming language, or a word of French, German, Spanish and
# their neighbours: 27 to 43 % of the words of English prose, at most 8 % of those of texts in 60
# other languages, and 5 % of those of code without its comments.
_FUNCTION_WORDS = (
    "the and but of to with into about after before than then that this these those there here "
    "which who whom whose what when where how why you she it they him them my your his its our "
    "their are were be been being does did have has had will would could may might should must up "
    "out all any each only more most very just also too own such"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
FEWEST_FUNCTION_WORDS = 0.1  # share of the words of English prose, at least
FEWEST_WORDS = 100  # of a text that can be judged
NOT_ENGLISH = (
    "This text is not English prose ({share} of its words are common ones such as “the” and “of”), "
    "so trees and parts of speech by the English parser mean nothing on it: use a text with "
    "annotated trees (CoNLL-U)."
)
_INSTALLED = re.compile(r"en_core_web_[a-z]+")


@cache
def available_pipelines() -> tuple[str, ...]:
    """List the names that `parse_sentences` accepts: `box`, then the `en_core_web_*` that were
    installed when it was first asked, sorted."""
    names = {entry.name for entry in importlib.metadata.entry_points(group="spacy_models")}
    return (BOX, *sorted(name for name in names if _INSTALLED.fullmatch(name)))


def foreign_notice(sentences: Iterable[Sequence[str]]) -> str:
    """Say that a text is no English prose, which is all that the pipelines can parse; "" where it
    is, and of a text too short to be judged.

    Example:
        >>> foreign_notice([["the", "end", "of", "it"]] * 25), foreign_notice([["CCO"]] * 25)
        ('', '')
        >>> foreign_notice([["CCO"]] * 100)[:33]
        'This text is not English prose (0'
    """
    words = [word.lower() for words in sentences for word in words if any(map(str.isalnum, word))]
    share = sum(word in FUNCTION_WORDS for word in words) / max(len(words), 1)
    if len(words) < FEWEST_WORDS or share >= FEWEST_FUNCTION_WORDS:
        return ""
    return NOT_ENGLISH.format(share=f"{100 * share:.0f} %")


def pipeline_fingerprint(pipeline: str = BOX) -> str:
    """Compute sha256 over the pipeline's files and spaCy's version; spaCy is not imported. Raises
    ModelError if there is no such pipeline."""
    folder = pipeline_folder(pipeline)
    return _fingerprint(
        str(folder), (folder / "meta.json").stat().st_mtime_ns if pipeline == BOX else 0
    )


def box_scores() -> dict[str, Any]:
    """Read the scores of the included parser (dev UAS, LAS, tag accuracy in per cent); {} if
    unknown."""
    path = zoo_folder() / "parser" / "scores.json"
    return json.loads(path.read_text(encoding="utf8")) if path.is_file() else {}


def pipeline_folder(pipeline: str) -> Path:
    """Find the folder of a pipeline's files without importing it.

    Raises:
        ModelError: If there is no such pipeline.
    """
    if pipeline == BOX:
        folder = zoo_folder() / "parser"
        if not all((folder / name).is_file() for name in ("config.cfg", "meta.json")):
            raise ModelError(
                f"The included parser is missing or incomplete ({folder}). "
                f"{how_to_restore_file(folder)} Or choose an installed spaCy pipeline."
            )
        return folder
    if not _INSTALLED.fullmatch(pipeline):
        raise ModelError(
            f"{pipeline!r} is not a parser: choose one of {', '.join(available_pipelines())}."
        )
    spec = importlib.util.find_spec(pipeline)
    if spec is None or spec.origin is None:
        raise ModelError(
            f"The spaCy pipeline {pipeline} is not installed: install it with `python -m spacy "
            f"download {pipeline}`, or choose one of {', '.join(available_pipelines())}."
        )
    return Path(spec.origin).parent


@remembered(8)
def _fingerprint(folder: str, changed: int) -> str:
    digest = hashlib.sha256(importlib.metadata.version("spacy").encode())
    for path in sorted(p for p in Path(folder).rglob("*") if p.is_file() and p.suffix != ".pyc"):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
