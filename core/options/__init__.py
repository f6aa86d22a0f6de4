"""Options of studies, each declared once: the check, the flag, the control, the link and the help come from one line.

    @dataclass(frozen=True)
    class RsaSpec(Spec):
        draws: int = whole("Bootstrap draws", 500, low=20, high=10_000, help="Resamples of sentences behind a band.")

A value arrives as Python gives it (`RsaSpec(draws=500)`), as a form holds it, or as text from a flag or a link
(`Option.read`). Whichever way it comes, the same sentence refuses what makes no sense.
"""

from core.options import checks as _checks  # noqa: F401 - enters the checks of all kinds
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
