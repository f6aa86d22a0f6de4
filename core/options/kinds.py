"""The kinds of options: each field of a spec is declared by one of these functions.

A function of a kind takes further attributes of `core.options.option.Option` by name: `shown`,
`phrase`, `has_titles`, `defines`, `where`. An option of several studies is declared once, as a
`functools.partial` of its kind here or in the spec of its room; a study may give it another default
or help.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import partial
from typing import Any

from core.options.option import OPTION, Choices, Kind, Option

LARGEST_SEED = 2**31 - 1
MOST_STEPS = 500  # of a run on the Hub; as many as a pattern may match


def whole(label: str, default: int, *, low: int, high: int, help: str, **more: Any) -> Any:
    """Declare a whole number from `low` to `high`."""
    return _field("whole", label, default, help, low=low, high=high, **more)


def number(label: str, default: float, *, low: float, high: float, help: str, **more: Any) -> Any:
    """Declare a number from `low` to `high`."""
    return _field("number", label, default, help, low=low, high=high, **more)


def seed(help: str) -> Any:
    """Declare the seed of all random numbers of a study."""
    return whole("Seed", 0, low=0, high=LARGEST_SEED, help=help)


def flag(label: str, default: bool, *, help: str, **more: Any) -> Any:
    """Declare a switch."""
    return _field("flag", label, default, help, **more)


def choice(label: str, default: str, choices: Choices, *, help: str, **more: Any) -> Any:
    """Declare a choice of one of `choices`: name -> meaning, or title if `has_titles`."""
    return _field("choice", label, default, help, choices=choices, **more)


def choices(
    label: str,
    default: Iterable[str],
    choices: Choices,
    *,
    help: str,
    least: int = 1,
    **more: Any,
) -> Any:
    """Declare a choice of `least` or more of `choices`, kept in its order."""
    return _field("choices", label, tuple(default), help, choices=choices, low=least, **more)


def model(label: str, default: str, *, help: str, phrase: str = "; {}") -> Any:
    """Declare a model's reference."""
    return _field("model", label, default, help, phrase=phrase)


def models(
    label: str,
    default: Iterable[str],
    *,
    help: str,
    least: int = 1,
    most: int = 12,
    phrase: str = "; {}",
    patterns: bool = False,
) -> Any:
    """Declare `least` to `most` references; with `patterns`, also such as zoo:parse-*."""
    return _field(
        "models",
        label,
        tuple(default),
        help,
        low=least,
        high=most,
        phrase=phrase,
        patterns=patterns,
    )


def steps(
    label: str = "Checkpoints", *, most: int, read: str = "Earlier steps of the same run"
) -> Any:
    """Declare checkpoints of a training run; `read` says which in the help."""
    return models(
        label,
        ("zoo:seed-0@step-*",),
        most=most,
        patterns=True,
        help=f"{read}: zoo:seed-0@step-*, hub:NAME@step* for the revisions of a Hub model, "
        "or models one by one.",
    )


def corpus(
    default: str = "demo", *, label: str = "Text", help: str = "", shown: bool = True
) -> Any:
    """Declare a CorpusRef, which may be empty if the default is."""
    return _field("corpus", label, default, help or CORPUS_HELP, shown=shown, phrase="; {}")


def genres(
    label: str = "Genres of the demo",
    *,
    help: str = "Restricts the demo text to these genres; leave it empty for all of them.",
    shown: bool = True,
) -> Any:
    """Declare genres of the demo text; empty for all."""
    return _field(
        "genres",
        label,
        (),
        help,
        choices=_genres,
        placeholder="All ten",
        shown=shown,
        phrase=" ({})",
    )


def sampled_words(help: str, *, default: int = 1_000, low: int = 10, high: int = 20_000) -> Any:
    """Declare the number of words sampled from all sentences."""
    return whole("Words sampled", default, low=low, high=high, help=help)


def draws(
    default: int = 500,
    help: str = "How often sentences are resampled for each band; "
    "more draws make its ends steadier and take longer.",
) -> Any:
    """Declare the number of bootstrap resamples; by default, of sentences for bands."""
    return whole("Bootstrap draws", default, low=20, high=10_000, help=help)


def layers(
    label: str = "Layers",
    *,
    help: str = "Restricts the study to these layers; layer 0 is the output of the embeddings.",
) -> Any:
    """Declare layers by number; empty for `core.options.layer_numbers.layers_of` to choose."""
    return _field("layers", label, (), help, shown=False)


def sinks() -> Any:
    """Declare what is done with words that are attention sinks, see `core.vectors.sinks`."""
    return choice(
        "Attention sinks",
        "auto",
        {
            "auto": "left out where a model is a decoder",
            "drop": "left out of every model",
            "keep": "kept in every model",
        },
        help="Leaves out words whose states hold massive activations, mostly a sentence's first "
        "word, because they would dominate the result; choose keep to see by how much.",
    )


base = partial(
    model, "Base model", "zoo:seed-0", help="The model that the fine-tunes were trained from."
)
end = partial(model, "Final model", "zoo:seed-0")  # of a training run
sentences = partial(
    whole,
    "Sentences",
    low=20,
    high=100_000,
    help="Sets how many sentences of the text are read; more of them narrow the intervals.",
    phrase=", {} sentences",
)
most_steps = partial(
    whole,
    "Checkpoints at most",
    low=2,
    high=MOST_STEPS,
    help="Reads so many of the revisions that a pattern such as hub:NAME@step* matches, spread "
    "evenly; other checkpoints are all read.",
)


def words(label: str, default: Iterable[str] = (), *, help: str) -> Any:
    """Declare a list of words."""
    return _field("words", label, tuple(default), help)


def names(label: str, *, help: str, most: int) -> Any:
    """Declare names for up to `most` models, such as zoo:parse-0=Parser."""
    return _field("names", label, (), help, high=most)


def line(label: str, default: str = "", *, help: str, **more: Any) -> Any:
    """Declare a line of text, such as a file's path."""
    return _field("line", label, default, help, **more)


def passage(label: str, default: str, *, help: str) -> Any:
    """Declare a text of a few sentences."""
    return _field("passage", label, default, help)


labelled = partial(
    line,
    "Labelled sentences",
    shown=False,
    help="A file of lines `label<TAB>sentence`; "
    "if empty, the included sentiment sentences are used.",
)
CORPUS_HELP = (
    "demo: ten genres written for this app. demo-gold: fewer sentences, with hand-checked trees. "
    "You can also name a .txt or .conllu file, or a data set of the Hugging Face Hub as hub:NAME."
)


def _field(kind: Kind, label: str, default: Any, help: str, **more: Any) -> Any:
    return field(default=default, metadata={OPTION: Option(kind, label, help, default, **more)})


def _genres() -> Mapping[str, str]:
    from core.text.corpora import GENRES

    return dict.fromkeys(GENRES, "")
