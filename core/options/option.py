"""Options and specs: their attributes, and the conversion of text to values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Literal, cast

from core.errors import SpecError
from core.models.references import SURROGATE
from core.options.layer_numbers import ALL_LAYERS, EVERY_LAYER, SOME_LAYERS

Kind = Literal[
    "whole",
    "number",
    "flag",
    "choice",
    "choices",
    "model",
    "models",
    "corpus",
    "genres",
    "layers",
    "words",
    "names",
    "line",
    "passage",
]
Choices = Mapping[str, str] | Callable[[], Mapping[str, str]]

MOST_LAYERS = 1_000
LONGEST_NUMBER = 20  # digits
LONGEST_LINE = 4_000  # characters of a typed text
LONGEST_NAME = 40  # characters that a model is called in a figure
LONGEST_VALUE = 120  # characters of a refused value in an error message
# values of a flag in a link or a sweep
ON, OFF = ("true", "on", "yes", "1"), ("false", "off", "no", "0")
SWITCHES = dict.fromkeys(ON, True) | dict.fromkeys(OFF, False)
NAMES = {EVERY_LAYER: ALL_LAYERS}
OPTION = "option"  # key of a field's metadata

TAKES: Mapping[Kind, str] = {
    "whole": "a whole number from {low:,} to {high:,}",
    "number": "a number from {low:g} to {high:g}",
    "flag": "true or false",
    "choice": "one of {names}",
    "choices": "any of {names}",
    "genres": "any of {names}",
    "layers": f"{SOME_LAYERS}, {ALL_LAYERS}, or numbers from 0 to {MOST_LAYERS}",
    "model": "a model",
    "models": "{count} models",
    "names": f"MODEL=NAME, names of up to {LONGEST_NAME} characters, each model and name once",
    "corpus": "a text",
    "line": f"up to {LONGEST_LINE:,} characters of text",
    "passage": f"up to {LONGEST_LINE:,} characters of text",
    "words": f"up to {LONGEST_LINE:,} characters of text",
}
"""Kind -> the valid values, as error messages say them."""

CHECKS: dict[str, Callable[[Option, Any], Any]] = {}
"""Kind -> function that checks a value; filled by `core.options.checks`."""


@dataclass(frozen=True)
class Option:
    """An option of a study, declared by a function of `core.options.kinds`.

    Attributes:
        kind: The kind of its values.
        label: Label of its control.
        help: What happens when one changes it, in a sentence.
        default: Default value, in its final form.
        choices: Name -> meaning, for a choice; a function if they are known at run time only.
        low, high: Bounds of a number, or of the number of values.
        name: Name of the field, the flag, the link's parameter and the control.
        placeholder: Text of an empty control.
        shown: Whether it has a control on the page; it always has a flag.
        has_titles: Whether `choices` gives titles rather than meanings.
        patterns: Whether models may be patterns with * and ?, for included models and folders.
        phrase: Format of the value in a study's summary, with its separator, such as ", {}
            sentences"; if empty, the summary has the option only when it is not at its default. See
            `core.options.summary`.
        defines: Whether the value says what is measured, in which units or of which items: results
            that differ in it are not subtracted. See `core.results.differences`.
        where: Other options -> the values at which this one has an effect; at others it has none.
    """

    kind: Kind
    label: str
    help: str
    default: Any
    choices: Choices = field(default_factory=dict)
    low: float = 0
    high: float = 0
    name: str = ""
    placeholder: str = ""
    shown: bool = True
    has_titles: bool = False
    patterns: bool = False
    phrase: str = ""
    defines: bool = False
    where: Mapping[str, str] = field(default_factory=dict)

    @property
    def many(self) -> bool:
        """Whether the option takes several values."""
        return self.kind in ("choices", "models", "genres", "layers", "words", "names")

    @property
    def meanings(self) -> Mapping[str, str]:
        """Return the choices: name -> meaning or title."""
        return self.choices() if callable(self.choices) else self.choices

    def check(self, value: Any) -> Any:
        """Return the value in its final form.

        Raises:
            SpecError: If it is invalid; the message has the option's name, its valid values and the
                given one.
        """
        texts = value if isinstance(value, list | tuple) else (value,)
        strange = [text for text in texts if isinstance(text, str) and SURROGATE.search(text)]
        if strange:
            raise SpecError(
                f"{self.name}: {strange[0][:LONGEST_VALUE]!r} is not UTF-8, "
                "in which results are written: give the file or folder another name."
            )
        return CHECKS[self.kind](self, value)

    def read(self, texts: Sequence[str]) -> Any:
        """Convert the text of a flag or a link to a value.

        Raises:
            SpecError: As `check` does.
        """
        if self.many:
            none = SOME_LAYERS if self.kind == "layers" else ""
            return self.check([text for text in texts if text not in ("", none)])
        if len(texts) != 1:
            raise self.refuse(" ".join(texts))
        text = texts[0]
        if self.kind == "whole":
            return self.check(number_of(text))
        if self.kind == "number":
            return self.check(_decimal(text))
        return self.check(SWITCHES.get(text.lower(), text) if self.kind == "flag" else text)

    def write(self, value: Any) -> list[str]:
        """Write the value as text for a flag or a link; `read` converts it back."""
        if self.kind == "layers":
            return [NAMES.get(layer, str(layer)) for layer in value] or [SOME_LAYERS]
        if self.many:
            return [str(part) for part in value]
        return [str(value).lower() if self.kind == "flag" else str(value)]

    def as_query(self, value: Any) -> list[str]:
        """Write the value as the texts of a link, in which an empty one says that there is none of
        several."""
        return self.write(value) or [""] * self.many

    def refuse(self, value: object) -> SpecError:
        """Make the error for an invalid value, the same for flag, form and link."""
        text = value if isinstance(value, str) else repr(value)
        shown = f"{text[:LONGEST_VALUE]}…" if len(text) > LONGEST_VALUE else text
        return SpecError(f"{self.name} takes {self.takes()}, not {shown or 'nothing'}.")

    def valid_values(self) -> str:
        """Describe the valid values as `takes` does, for help, with the meaning of each choice."""
        if self.kind not in ("choice", "choices"):
            return self.takes()
        choices = [
            f"{name} ({meaning})" if meaning and meaning.lower() != name else name
            for name, meaning in self.meanings.items()
            if name
        ]
        return f"{'one' if self.kind == 'choice' else 'any'} of {', '.join(choices)}"

    def takes(self) -> str:
        """Describe the valid values, for error messages."""
        names = ", ".join(filter(None, self.meanings))
        fewest = f"{self.low} to " if self.low else "up to "
        count = f"{'' if self.low == self.high else fewest}{self.high}"
        return TAKES[self.kind].format(low=self.low, high=self.high, names=names, count=count)


class Spec:
    """Base class of the frozen dataclass of a study's options, which are checked on creation.

    `check` holds rules between fields. `display_only` names options that change only what is shown,
    and no number.
    """

    display_only: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for option in options_of(type(self)):
            object.__setattr__(self, option.name, option.check(getattr(self, option.name)))
        self.check()

    def check(self) -> None:
        """Refuse values that are valid one by one but not together.

        Raises:
            SpecError: If there are any.
        """

    @property
    def refs(self) -> tuple[str, ...]:
        """The models that the study reads: those that the options name."""
        return refs_of(self)

    def plain(self) -> dict[str, Any]:
        """Return the spec as JSON values, by option."""
        values = ((each.name, getattr(self, each.name)) for each in options_of(type(self)))
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values}

    def options_for(self, spec: type[Spec]) -> dict[str, Any]:
        """Return the values of the options that the spec of another study has, too."""
        names = {option.name for option in options_of(spec)}
        return {name: value for name, value in vars(self).items() if name in names}

    def settings(self) -> str:
        """Write the seed and all non-default options as the end of a methods paragraph.

        It ensures that the methods state every setting that changes the numbers.
        """
        changed = self.changed()
        named = [
            f"{option.label[0].lower()}{option.label[1:]} "
            f"{' '.join(option.write(changed[option.name])) or 'none'}"
            for option in options_of(type(self))
            if option.name in changed and option.name not in ("seed", *self.display_only)
        ]
        seed = getattr(self, "seed", None)
        sentences = [f"Seed {seed}."] if seed is not None else []
        if named:
            sentences.append(f"Settings other than the defaults: {'; '.join(named)}.")
        return " ".join(sentences)

    def changed(self) -> dict[str, Any]:
        """Return the options whose values are not the defaults."""
        return {
            each.name: value
            for each in options_of(type(self))
            if (value := getattr(self, each.name)) != each.default
        }


def options_of(spec: type[Spec]) -> tuple[Option, ...]:
    """Return the options that a spec declares, in its order."""
    return _options_of(cast(Any, spec))


@cache
def _options_of(spec: Any) -> tuple[Option, ...]:
    fields = {each.name: each for each in dataclasses.fields(spec) if OPTION in each.metadata}
    return named(**fields)


def named(**declared: Any) -> tuple[Option, ...]:
    """Name options that are no spec's, such as what a page shows of a study, in their order.

    Example:
        >>> from core.options import whole
        >>> [option.name for option in named(word=whole("Word", 0))]
        ['word']
    """
    return tuple(
        dataclasses.replace(each.metadata[OPTION], name=name) for name, each in declared.items()
    )


def refs_of(spec: Any) -> tuple[str, ...]:
    """Return the models that a spec names."""
    named = [
        getattr(spec, option.name)
        for option in options_of(type(spec))
        if option.kind in ("model", "models")
    ]
    return tuple(ref for value in named for ref in ((value,) if isinstance(value, str) else value))


def number_of(text: str) -> int | str:
    """Convert a text to a whole number; return the text itself if it is none."""
    bare = text.strip()
    digits = bare.removeprefix("-")
    return (
        int(bare)
        if digits.isascii() and digits.isdecimal() and len(digits) < LONGEST_NUMBER
        else text
    )


def _decimal(text: str) -> float | str:
    """Convert a text to a number; return the text itself if it is none."""
    try:
        return float(text) if len(text) < LONGEST_NUMBER else text
    except ValueError:
        return text
