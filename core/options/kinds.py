"""The kinds of options: a field of a spec is one call of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from core.options.option import OPTION, Choices, Kind, Option

LARGEST_SEED = 2**31 - 1


def whole(label: str, default: int, *, low: int, high: int, help: str, shown: bool = True, said: str = "") -> Any:
    """A whole number from `low` to `high`."""
    return _field("whole", label, default, help, low=low, high=high, shown=shown, said=said)


def number(label: str, default: float, *, low: float, high: float, help: str, shown: bool = True) -> Any:
    """A number from `low` to `high`."""
    return _field("number", label, default, help, low=low, high=high, shown=shown)


def seed(help: str) -> Any:
    """The seed of everything that a study draws."""
    return whole("Seed", 0, low=0, high=LARGEST_SEED, help=help)


def flag(label: str, default: bool, *, help: str, shown: bool = True) -> Any:
    """On or off."""
    return _field("flag", label, default, help, shown=shown)


def choice(
    label: str,
    default: str,
    choices: Choices,
    *,
    help: str,
    shown: bool = True,
    titled: bool = False,
    said: str = "",
) -> Any:
    """One of `choices`, name -> what it means (its title, where `titled`)."""
    return _field("choice", label, default, help, choices=choices, shown=shown, titled=titled, said=said)


def choices(
    label: str,
    default: Iterable[str],
    known: Choices,
    *,
    help: str,
    least: int = 1,
    titled: bool = False,
    said: str = "",
) -> Any:
    """Any of `known`, `least` or more, in its order."""
    return _field("choices", label, tuple(default), help, choices=known, low=least, titled=titled, said=said)


def model(label: str, default: str, *, help: str, said: str = "; {}") -> Any:
    """A model's reference."""
    return _field("model", label, default, help, said=said)


def models(
    label: str,
    default: Iterable[str],
    *,
    help: str,
    least: int = 1,
    most: int = 12,
    patterns: bool = False,
    said: str = "; {}",
) -> Any:
    """References, each once, `least` to `most`; with `patterns`, also such as zoo:parse-* and path:/runs/*."""
    return _field("models", label, tuple(default), help, low=least, high=most, patterns=patterns, said=said)


def corpus(default: str = "demo", *, label: str = "Text", help: str = "", shown: bool = True) -> Any:
    """A CorpusRef; may be empty where the default is."""
    return _field("corpus", label, default, help or CORPUS_HELP, shown=shown, said="; {}")


def genres(
    label: str = "Genres of the demo",
    *,
    help: str = "Keep these genres only.",
    default: Iterable[str] = (),
    shown: bool = True,
) -> Any:
    """Genres of the demo to keep; all where empty."""
    return _field(
        "genres", label, tuple(default), help, choices=_genres, placeholder="All ten", shown=shown, said=" ({})"
    )


def sentences(default: int, *, low: int = 20) -> Any:
    """How many sentences of the text are read."""
    help = "Sentences read, from the front of the text."
    return whole("Sentences", default, low=low, high=100_000, help=help, said=", {} sentences")


def layers(label: str = "Layers", *, help: str = "0 is the embedding output.", shown: bool = False) -> Any:
    """Layers by number; all where empty."""
    return _field("layers", label, (), help, shown=shown)


def words(label: str, default: Iterable[str] = (), *, help: str) -> Any:
    """Free words."""
    return _field("words", label, tuple(default), help)


def names(label: str, *, help: str, most: int) -> Any:
    """Names for models, such as zoo:parse-0=Parser: up to `most` of them."""
    return _field("names", label, (), help, high=most)


def line(label: str, default: str = "", *, help: str, shown: bool = True) -> Any:
    """A free line of text, such as a file's path."""
    return _field("line", label, default, help, shown=shown)


def passage(label: str, default: str, *, help: str) -> Any:
    """A few sentences to type."""
    return _field("passage", label, default, help)


CORPUS_HELP = (
    "demo: ten genres written for this app. demo-gold: fewer sentences, with hand-checked trees. Or a path that ends "
    "in .txt or .conllu, or hub:NAME for a data set of the Hugging Face hub."
)


def _field(kind: Kind, label: str, default: Any, help: str, **more: Any) -> Any:
    return field(default=default, metadata={OPTION: Option(kind, label, help, default, **more)})


def _genres() -> Mapping[str, str]:
    from core.text.corpora import GENRES

    return dict.fromkeys(GENRES, "")
