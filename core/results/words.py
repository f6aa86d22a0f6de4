"""Words that can be edited without Python: TOML files beside the code that shows them.

The words of a study stand in `words.toml` in its folder, as the fields of `Words` say. Line breaks
within a text are spaces.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from core.errors import PalimpsestError

FILE = "words.toml"
WANTED = {str: "a text", tuple: "a list of texts", Mapping: "a table"}
Record = TypeVar("Record")
_hints = cache(get_type_hints)


@dataclass(frozen=True)
class ViewWords:
    """Words of a view.

    Attributes:
        name: Its name on the page and in links.
        purpose: What it shows, in a few words.
        how_to_read: What the axes are, what their ends mean and what is grey, in one line.
        missing: What to say and do where nothing can be drawn; without it, the study's.
        question: What its headline answers, the title of the page that shows it.
    """

    name: str
    purpose: str
    how_to_read: str
    missing: str = ""
    question: str = ""


@dataclass(frozen=True)
class Words:
    """Words of a study.

    Attributes:
        title: What the pages call it.
        question: What its only view's headline answers, see `ViewWords`.
        purpose: What it tells, in the words of the command's help.
        reason: Why one would run it, in one sentence.
        how_to_read: Of its only view, see `ViewWords`.
        missing: Of every view that has none.
        nothing: Its headline where nothing could be stated.
        caveats: What would mislead a reader: the point -> its explanation, with *emphasis* and
            `code` as in Markdown. In a file, `{ as_in = "seeds" }` is the explanation that the
            study in the folder `seeds` beside this one has; a package is named in full.
        formulas: What is computed: the words before a formula -> LaTeX; `as_in` as above.
        views: Words of each view, by its key.
        sentences: Whole sentences of results, by the keys that the code has for them.
    """

    title: str
    purpose: str
    reason: str = ""
    question: str = ""
    how_to_read: str = ""
    missing: str = ""
    nothing: str = ""
    caveats: Mapping[str, str] = field(default_factory=dict, hash=False)
    formulas: Mapping[str, str] = field(default_factory=dict, hash=False)
    views: Mapping[str, ViewWords] = field(default_factory=dict, hash=False)
    sentences: Mapping[str, str] = field(default_factory=dict, hash=False)

    def view(self, key: str) -> ViewWords:
        """Look up the words of a view; those of the study for a view without a key. Raises
        PalimpsestError if there are none."""
        if not key:
            return ViewWords(
                self.title,
                self.purpose,
                self.how_to_read,
                self.missing,
                self.question or self.title,
            )
        words = self._entry(self.views, key, "view")
        return replace(words, missing=words.missing or self.missing)

    def sentence(self, key: str, **values: object) -> str:
        """Look up a sentence, with values where it has `{name}`. Raises PalimpsestError if there is
        none, or it has another name."""
        text = self._entry(self.sentences, key, "sentence")
        try:
            return text.format(**values) if values else text
        except KeyError as error:
            raise PalimpsestError(
                f"Sentence {key!r} of {self.title!r} has {{{error.args[0]}}}, which nothing fills: "
                f"take it out of {FILE}."
            ) from None

    def filled(self, **values: object) -> Words:
        """Put values into the caveats that have `{name}`. Raises PalimpsestError if no caveat has
        one of the names."""
        caveats = dict(self.caveats)
        for name, value in values.items():
            mark = f"{{{name}}}"
            if not any(mark in text for text in caveats.values()):
                raise PalimpsestError(f"No caveat of {self.title!r} has {mark}: add it to {FILE}.")
            caveats = {point: text.replace(mark, str(value)) for point, text in caveats.items()}
        return replace(self, caveats=caveats)

    def _entry(self, entries: Mapping[str, Record], key: str, kind: str) -> Record:
        if key not in entries:
            raise PalimpsestError(
                f"{FILE} of {self.title!r} has no {kind} {key!r}: add it under [{kind}s]."
            )
        return entries[key]


def words_beside(module: str) -> Words:
    """Read the words of a study, in the folder of one of its modules (`__file__`)."""
    return _words_in(Path(module).with_name(FILE))


@cache
def _words_in(path: Path) -> Words:
    read = read_toml(path)
    lent = {
        name: {point: _lent(path, name, point, text) for point, text in read[name].items()}
        for name in ("caveats", "formulas")
        if isinstance(read.get(name), dict)
    }
    return as_record(Words, read | lent, str(path))


def _lent(path: Path, name: str, point: str, text: Any) -> Any:
    """The text, or the one that another study has under the same point."""
    if not isinstance(text, dict) or [*text] != ["as_in"]:
        return text
    name_of_lender = str(text["as_in"])
    beside = path.parents[1] / name_of_lender
    folder = (
        beside if "." not in name_of_lender else Path(import_module(name_of_lender).__path__[0])
    )
    lender = folder / FILE
    texts = read_toml(lender).get(name, {})
    if not isinstance(texts.get(point), str):
        raise PalimpsestError(f"{path}: {lender} has no text {point!r} under [{name}].")
    return texts[point]


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file. Raises PalimpsestError if it is missing or not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf8"))
    except FileNotFoundError:
        raise PalimpsestError(f"{path} is missing: restore it, or write it.") from None
    except ValueError as error:  # of TOML and of UTF-8
        raise PalimpsestError(f"{path} is not TOML: {error}.") from None


def as_record(kind: type[Record], values: Any, place: str) -> Record:
    """Make a dataclass of a table of TOML; messages say its place. Raises PalimpsestError if a key
    is not a field's, a field without default is missing, or a value is empty or of another type
    than its field."""
    if not isinstance(values, dict):
        raise PalimpsestError(f"{place} is {values!r}: write a table.")
    hints, names = _hints(kind), [each.name for each in fields(kind)]  # type: ignore[arg-type]
    for name in values:
        if name not in names:
            raise PalimpsestError(f"{place} has {name!r}; there are {', '.join(names)}.")
    for each in fields(kind):  # type: ignore[arg-type]
        if each.name not in values and each.default is each.default_factory is MISSING:
            raise PalimpsestError(f"{place} has no {each.name!r}: add it.")
    return kind(
        **{name: checked(hints[name], value, f"{place}: {name}") for name, value in values.items()}
    )


def checked(hint: Any, value: Any, place: str) -> Any:
    """Return a value of TOML as a type has it, such as `Mapping[str, str]` for texts by name.
    Raises PalimpsestError if it is empty or of another type."""
    kinds = get_args(hint)
    if get_origin(hint) is Literal:
        if value not in kinds:
            raise PalimpsestError(f"{place} is {value!r}; there are {', '.join(map(repr, kinds))}.")
        return value
    if get_origin(hint) is Mapping and isinstance(value, dict):
        return {key: checked(kinds[1], each, f"{place}: {key}") for key, each in value.items()}
    if get_origin(hint) is tuple and isinstance(value, list):
        return tuple(checked(kinds[0], each, place) for each in value)
    if is_dataclass(hint):
        return as_record(hint, value, place)  # type: ignore[arg-type]
    if hint is str and isinstance(value, str) and value.strip():
        return " ".join(value.split())
    if type(value) in (hint, *kinds) and not isinstance(value, str):
        return value
    wanted = WANTED.get(get_origin(hint) or hint, "a number")
    raise PalimpsestError(f"{place} is {value!r}: write {wanted}.")


GLOSSARY = Path(__file__).with_name("glossary.toml")
MEANINGS: dict[str, str] = checked(Mapping[str, str], read_toml(GLOSSARY), str(GLOSSARY))


@cache
def _pattern() -> re.Pattern[str]:
    """Match every term, longer ones first, but never inside a name such as nli-0. Raises
    PalimpsestError if a term is no pattern."""
    for term in MEANINGS:
        try:
            re.compile(term)
        except re.error as error:
            raise PalimpsestError(
                f"{GLOSSARY}: the term {term!r} is no pattern: {error}."
            ) from None
    longest = sorted(MEANINGS, key=len, reverse=True)
    alone = [
        f"(?P<t{number}>(?<![\\w-])(?:{term})(?![\\w-]))" for number, term in enumerate(longest)
    ]
    return re.compile("|".join(alone))


def explained(text: str) -> Iterator[tuple[str, str]]:
    """Split the text into pieces, each with its meaning: "" for plain text and for a term explained
    before."""
    longest = sorted(MEANINGS, key=len, reverse=True)
    seen, at = set(), 0
    for match in _pattern().finditer(text):
        number = int(str(match.lastgroup)[1:])
        if number in seen:
            continue
        seen.add(number)
        if match.start() > at:
            yield text[at : match.start()], ""
        yield match[0], MEANINGS[longest[number]]
        at = match.end()
    if at < len(text):
        yield text[at:], ""
