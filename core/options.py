"""Options of studies, each declared once: the check, the flag, the control, the link and the help come from one line.

    @dataclass(frozen=True)
    class RsaSpec(Spec):
        draws: int = whole("Bootstrap draws", 500, low=20, high=10_000, help="Resamples of sentences behind a band.")

A value arrives as Python gives it (`RsaSpec(draws=500)`), as a form holds it, or as text from a flag or a link
(`Option.read`). Whichever way it comes, the same sentence refuses what makes no sense.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, cast

from core.errors import SpecError

Kind = Literal[
    "whole", "flag", "choice", "choices", "model", "models", "corpus", "genres", "layers", "words", "line", "passage"
]
Choices = Mapping[str, str] | Callable[[], Mapping[str, str]]

LARGEST_SEED = 2**31 - 1
MOST_LAYERS = 1_000
LONGEST_NUMBER = 20  # digits
LONGEST_LINE = 4_000  # characters of a free text
LONGEST_VALUE = 120  # characters of a refused value that a sentence repeats
ALL_LAYERS = "all"
OPTION = "option"  # key of a field's metadata


@dataclass(frozen=True)
class Option:
    """One option of a study. Made by the functions below, never by hand.

    Attributes:
        kind: What its values are.
        label: What stands above its control.
        help: One sentence for people who do not know it.
        default: In its final form.
        choices: Name -> what it means, for a choice; a function where that is known at run time only.
        low, high: Bounds of a number, or of how many there are.
        name: The field's name: flag, link and form use the same.
        placeholder: What an empty control says.
        shown: Whether it has a control on the page; a flag it always has.
        titled: Whether `choices` gives a title for people rather than a meaning.
    """

    kind: Kind
    label: str
    help: str
    default: Any
    choices: Choices = field(default_factory=dict)
    low: int = 0
    high: int = 0
    name: str = ""
    placeholder: str = ""
    shown: bool = True
    titled: bool = False

    @property
    def many(self) -> bool:
        """Whether it takes several values."""
        return self.kind in ("choices", "models", "genres", "layers", "words")

    @property
    def known(self) -> Mapping[str, str]:
        """The choices, name -> meaning."""
        return self.choices() if callable(self.choices) else self.choices

    def check(self, value: Any) -> Any:
        """The value in its final form.

        Raises:
            SpecError: With the option's name, what it takes, and what it was given.
        """
        return _CHECKS[self.kind](self, value)

    def read(self, texts: Sequence[str]) -> Any:
        """The value that a flag or a link gives as text.

        Raises:
            SpecError: As `check`.
        """
        if self.many:
            given: Any = [part for text in texts for part in _split(self, text)]
            return self.check(given)
        if len(texts) != 1:
            raise self.refuse(" ".join(texts))
        text = texts[0]
        if self.kind == "whole":
            return self.check(_number(text))
        return self.check({"true": True, "false": False}.get(text.lower(), text) if self.kind == "flag" else text)

    def write(self, value: Any) -> list[str]:
        """The value as text for a flag or a link: `read` gives it back."""
        if self.kind == "layers":
            return [str(layer) for layer in value] or [ALL_LAYERS]
        if self.many:
            return [str(part) for part in value]
        return [str(value).lower() if self.kind == "flag" else str(value)]

    def refuse(self, value: object) -> SpecError:
        """The error for this value: one sentence, the same from flag, form and link."""
        text = value if isinstance(value, str) else repr(value)
        shown = f"{text[:LONGEST_VALUE]}…" if len(text) > LONGEST_VALUE else text
        return SpecError(f"{self.name} takes {self.takes()}, not {shown or 'nothing'}.")

    def takes(self) -> str:
        """What values it takes, in words: part of help and of refusals."""
        if self.kind == "whole":
            return f"a whole number from {self.low:,} to {self.high:,}"
        if self.kind == "flag":
            return "true or false"
        if self.kind in ("choice", "genres", "choices"):
            names = ", ".join(name for name in self.known if name)
            return f"one of {names}" if self.kind == "choice" else f"any of {names}"
        if self.kind == "layers":
            return f"{ALL_LAYERS}, or numbers from 0 to {MOST_LAYERS}"
        if self.kind == "models":
            return f"{self.low or 'no'} to {self.high} models" if self.low else f"up to {self.high} models"
        if self.kind in ("line", "passage", "words"):
            return f"up to {LONGEST_LINE:,} characters of text"
        return {"model": "a model", "corpus": "a text"}[self.kind]


class Spec:
    """Base of every study's frozen dataclass: its options are checked and brought to their final form.

    Rules between fields are an explicit `check`.
    """

    def __post_init__(self) -> None:
        for option in options_of(type(self)):
            object.__setattr__(self, option.name, option.check(getattr(self, option.name)))
        self.check()

    def check(self) -> None:
        """Refuse what options allow one by one and not together.

        Raises:
            SpecError: In one sentence.
        """

    def plain(self) -> dict[str, Any]:
        """The spec as JSON values, by option."""
        values = {option.name: getattr(self, option.name) for option in options_of(type(self))}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def changed(self) -> dict[str, Any]:
        """The options whose values are not the defaults."""
        values = {option.name: getattr(self, option.name) for option in options_of(type(self))}
        return {
            option.name: values[option.name]
            for option in options_of(type(self))
            if values[option.name] != option.default
        }


def options_of(spec: type[Spec]) -> tuple[Option, ...]:
    """The options that a spec declares, in its order."""
    return _options_of(cast(Any, spec))


@lru_cache(maxsize=64)
def _options_of(spec: Any) -> tuple[Option, ...]:
    fields = [each for each in dataclasses.fields(spec) if OPTION in each.metadata]
    return tuple(dataclasses.replace(each.metadata[OPTION], name=each.name) for each in fields)


def whole(label: str, default: int, *, low: int, high: int, help: str, shown: bool = True) -> Any:
    """A whole number from `low` to `high`."""
    return _field("whole", label, default, help, low=low, high=high, shown=shown)


def seed(help: str) -> Any:
    """The seed of everything that a study draws."""
    return whole("Seed", 0, low=0, high=LARGEST_SEED, help=help)


def flag(label: str, default: bool, *, help: str, shown: bool = True) -> Any:
    """On or off."""
    return _field("flag", label, default, help, shown=shown)


def choice(label: str, default: str, choices: Choices, *, help: str, shown: bool = True, titled: bool = False) -> Any:
    """One of `choices`, name -> what it means (its title, where `titled`)."""
    return _field("choice", label, default, help, choices=choices, shown=shown, titled=titled)


def choices(
    label: str, default: Iterable[str], known: Choices, *, help: str, least: int = 1, titled: bool = False
) -> Any:
    """Any of `known`, `least` or more, in its order."""
    return _field("choices", label, tuple(default), help, choices=known, low=least, titled=titled)


def model(label: str, default: str, *, help: str) -> Any:
    """A model's reference."""
    return _field("model", label, default, help)


def models(label: str, default: Iterable[str], *, help: str, least: int = 1, most: int = 12) -> Any:
    """References, each once, `least` to `most`."""
    return _field("models", label, tuple(default), help, low=least, high=most)


def corpus(default: str = "demo", *, label: str = "Text", help: str = "", shown: bool = True) -> Any:
    """A CorpusRef; may be empty where the default is."""
    return _field("corpus", label, default, help or CORPUS_HELP, shown=shown)


def genres(
    label: str = "Genres of the demo",
    *,
    help: str = "Keep these genres only.",
    default: Iterable[str] = (),
    shown: bool = True,
) -> Any:
    """Genres of the demo to keep; all where empty."""
    return _field("genres", label, tuple(default), help, choices=_genres, placeholder="All ten", shown=shown)


def sentences(default: int, *, low: int = 20) -> Any:
    """How many sentences of the text are read."""
    return whole("Sentences", default, low=low, high=100_000, help="Sentences read, from the front of the text.")


def layers(label: str = "Layers", *, help: str = "0 is the embedding output.", shown: bool = False) -> Any:
    """Layers by number; all where empty."""
    return _field("layers", label, (), help, shown=shown)


def words(label: str, default: Iterable[str] = (), *, help: str) -> Any:
    """Free words."""
    return _field("words", label, tuple(default), help)


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


def _split(option: Option, text: str) -> list[str]:
    """`all` for layers is none named; everything else is one value."""
    return [] if option.kind == "layers" and text == ALL_LAYERS else [text]


def _number(text: str) -> int | str:
    """The whole number that a text writes; the text itself where it is none."""
    bare = text.strip()
    digits = bare.removeprefix("-")
    return int(bare) if digits.isascii() and digits.isdecimal() and len(digits) < LONGEST_NUMBER else text


def _check_whole(option: Option, value: Any) -> int:
    if isinstance(value, float) and value.is_integer():  # number inputs of a form
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not option.low <= value <= option.high:
        raise option.refuse(value)
    return value


def _check_flag(option: Option, value: Any) -> bool:
    if not isinstance(value, bool):
        raise option.refuse(value)
    return value


def _check_choice(option: Option, value: Any) -> str:
    if not isinstance(value, str) or value not in option.known:
        raise option.refuse(value)
    return value


def _check_choices(option: Option, value: Any) -> tuple[str, ...]:
    given, known = _several(option, value), option.known
    unknown = [part for part in given if not isinstance(part, str) or part not in known]
    if unknown:
        raise option.refuse(unknown[0])
    if len(given) < option.low:
        raise SpecError(f"{option.name} needs at least {option.low}: {option.takes()}.")
    return tuple(name for name in known if name in given)


def _check_model(option: Option, value: Any) -> str:
    from core.models.references import parse_ref

    if not isinstance(value, str):
        raise option.refuse(value)
    return str(parse_ref(value))


def _check_models(option: Option, value: Any) -> tuple[str, ...]:
    refs = tuple(dict.fromkeys(_check_model(option, part) for part in _several(option, value)))
    if len(refs) < option.low:
        raise SpecError(f"Choose at least {option.low} for {option.label.lower()} ({option.name}).")
    if len(refs) > option.high:
        raise option.refuse(f"{len(refs)}")
    return refs


def _check_corpus(option: Option, value: Any) -> str:
    from core.text.corpora import corpus_problem

    if not isinstance(value, str):
        raise option.refuse(value)
    value = value.strip()
    if not value and not option.default:
        return ""
    problem = corpus_problem(value)
    if problem:
        raise SpecError(f"{option.name}: {problem}")
    return value


def _check_layers(option: Option, value: Any) -> tuple[int, ...]:
    given: tuple[Any, ...] = tuple(
        _number(layer) if isinstance(layer, str) else layer for layer in _several(option, value)
    )
    for layer in given:
        if isinstance(layer, bool) or not isinstance(layer, int) or not 0 <= layer <= MOST_LAYERS:
            raise option.refuse(layer)
    return tuple(dict.fromkeys(given))


def _check_words(option: Option, value: Any) -> tuple[str, ...]:
    given = _several(option, value)
    if sum(len(_check_line(option, word)) for word in given) > LONGEST_LINE:
        raise option.refuse(" ".join(given))
    return tuple(word.strip() for word in given if word.strip())


def _check_line(option: Option, value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_LINE:
        raise option.refuse(value)
    return value


def _several(option: Option, value: Any) -> tuple[Any, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise option.refuse(value)
    return tuple(value)


_CHECKS: dict[str, Callable[[Option, Any], Any]] = {
    "whole": _check_whole,
    "flag": _check_flag,
    "choice": _check_choice,
    "choices": _check_choices,
    "genres": _check_choices,
    "model": _check_model,
    "models": _check_models,
    "corpus": _check_corpus,
    "layers": _check_layers,
    "words": _check_words,
    "line": _check_line,
    "passage": _check_line,
}

__all__ = [
    "Option", "Spec", "choice", "choices", "corpus", "flag", "genres", "layers", "line", "model", "models",
    "options_of", "passage", "seed", "sentences", "whole", "words",
]  # fmt: skip
