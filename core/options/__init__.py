"""Options of studies, each declared once: check, flag, control, link and help come from one line.

    @dataclass(frozen=True)
    class RsaSpec(Spec):
        draws: int = whole("Bootstrap draws", 500, low=20, high=10_000, help="Resamples of sentences
        for the 95 % intervals.")

A value comes from Python (`RsaSpec(draws=500)`), from a form, or as text from a flag or a link
(`Option.read`). The same check with the same message refuses an invalid value from any of them.
"""

from core.options import checks as _checks  # noqa: F401
from core.options.kinds import (
    CORPUS_HELP,
    choice,
    choices,
    corpus,
    flag,
    genres,
    layers,
    line,
    model,
    models,
    names,
    number,
    passage,
    seed,
    sentences,
    whole,
    words,
)
from core.options.option import ALL_LAYERS, MOST_LAYERS, Option, Spec, options_of

__all__ = [
    "ALL_LAYERS",
    "CORPUS_HELP",
    "MOST_LAYERS",
    "Option",
    "Spec",
    "choice",
    "choices",
    "corpus",
    "flag",
    "genres",
    "layers",
    "line",
    "model",
    "models",
    "names",
    "number",
    "options_of",
    "passage",
    "seed",
    "sentences",
    "whole",
    "words",
]
