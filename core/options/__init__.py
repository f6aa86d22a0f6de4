"""The kinds of options that studies declare in their `spec.py`, one line each: check, flag,
control, link and help come from that line. A study's option is added there, not here; here stand
the kinds, and the options that studies of several rooms share.

    @dataclass(frozen=True)
    class RsaSpec(Spec):
        drop_rogue: int = whole(
            "Rogue dimensions dropped", 0, low=0, high=64,
            help="How many dimensions with the largest mean square are removed first.",
        )

A value comes from Python (`RsaSpec(drop_rogue=3)`), from a form, or as text from a flag or a link
(`Option.read`). The same check with the same message refuses an invalid value from any of them.
"""

from core.options import checks as _checks  # noqa: F401
from core.options.kinds import (
    CORPUS_HELP,
    base,
    choice,
    choices,
    corpus,
    draws,
    end,
    flag,
    genres,
    labelled,
    layers,
    line,
    model,
    models,
    most_steps,
    names,
    number,
    passage,
    sampled_words,
    seed,
    sentences,
    sinks,
    steps,
    whole,
    words,
)
from core.options.option import MOST_LAYERS, Option, Spec, named, options_of, refs_of

__all__ = [
    "CORPUS_HELP",
    "MOST_LAYERS",
    "Option",
    "Spec",
    "base",
    "choice",
    "choices",
    "corpus",
    "draws",
    "end",
    "flag",
    "genres",
    "labelled",
    "layers",
    "line",
    "model",
    "models",
    "most_steps",
    "named",
    "names",
    "number",
    "options_of",
    "passage",
    "refs_of",
    "sampled_words",
    "seed",
    "sentences",
    "sinks",
    "steps",
    "whole",
    "words",
]
