"""Errors for users: the message says what is wrong, where, and what to do next; and the lists and
counts of such sentences."""

from __future__ import annotations

import difflib
import errno
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from core.limits import current_limits

_START = r"(?<![\w/:.~-])"  # of an absolute path, not of an address
_FOLDERS = re.compile(rf"{_START}(?:/(?:[^\s/'\"]+/)+|[A-Za-z]:\\(?:[^\s\\'\"]+\\)+)")
_ROOTS = (  # variables that name folders of the server
    *("HOME", "USERPROFILE", "PWD", "XDG_CACHE_HOME"),
    *("PALIMPSEST_STORE", "PALIMPSEST_ZOO", "HF_HOME", "HF_HUB_CACHE"),
)
_APP = Path(__file__).resolve().parents[1]


class PalimpsestError(Exception):
    """Base class of errors whose message is written for users; any other exception is a bug.

    On a shared instance the message names files without the server's folders.
    """

    def __str__(self) -> str:
        text = super().__str__()
        return _without_folders(text) if current_limits().shared else text


class PalimpsestWarning(UserWarning):
    """Base class of warnings whose message is written for users."""


class ModelError(PalimpsestError):
    """A model reference is invalid, or its model cannot be found, trusted or loaded."""


def not_finite(what: str) -> ModelError:
    """Make the error for numbers of a model, such as "Some vectors of zoo:seed-0", that are NaN or
    infinite."""
    return ModelError(
        f"{what} are not finite, because the model overflows on this text or its weights are "
        "damaged: choose another text, or get the model again."
    )


class CorpusError(PalimpsestError):
    """A corpus cannot be found, read or used; the message names file, line and reason."""


class ShapeError(PalimpsestError, ValueError):
    """Arrays have shapes or sizes that the computation cannot use."""


class SpecError(PalimpsestError, ValueError):
    """A study's settings are invalid; the message lists valid values."""


class StoreError(PalimpsestError):
    """The store cannot be opened or written."""


class DrawingError(PalimpsestError):
    """Figures could not be drawn; everything else of a result is unaffected."""


class TaskError(PalimpsestError):
    """A task of a study failed; the message names the task and the reason."""


class CancelledError(PalimpsestError):
    """The user cancelled the run; what was computed stays in the store."""


class GaveWayError(CancelledError):
    """A run that nobody watches stopped for one that somebody watches; it can be resumed."""


class NotStoredError(PalimpsestError):
    """Some of the requested results are not in the store and have to be computed."""


class RecipeError(PalimpsestError):
    """The recipe of the included models cannot continue; a rerun resumes where it stopped."""


def _without_folders(text: str) -> str:
    """Leave out the folders of absolute paths, those of the server's own also where a name holds a
    space."""
    named = (Path(value) for value in map(os.environ.get, _ROOTS) if value)
    roots = [root for root in (_APP, *named) if root.is_absolute()]
    shown = {str(at) for root in roots for at in (root, root.parent) if at.name}
    folders = "|".join(map(re.escape, sorted(shown, key=len, reverse=True)))
    return _FOLDERS.sub("", re.sub(rf"{_START}(?:{folders})[/\\](?:[^\s/\\'\"]+[/\\])*", "", text))


def readable_error(error: BaseException) -> BaseException:
    """Return an error as it is, or one for users where a name in their input is too long."""
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return PalimpsestError(
            f"{str(error.filename)[:80]}… is no file, because its name is too long: check the path."
        )
    return error


def nearest(name: str, names: Iterable[str], alike: float = 0.6) -> str:
    """Find the name that is most like a misspelt one; "" where none is that much alike.

    Args:
        name: What was given.
        names: What there is.
        alike: Least similarity, 1 for the same word (`difflib.SequenceMatcher.ratio`).

    Example:
        >>> nearest("sentnces", ["seed", "sentences"]), nearest("x", ["seed"])
        ('sentences', '')
    """
    return next(iter(difflib.get_close_matches(name, list(names), n=1, cutoff=alike)), "")


def first_of(names: Sequence[Any], most: int) -> Sequence[Any]:
    """Choose those that a sentence names: the first few, and the last too rather than leave out
    one.

    Example:
        >>> first_of("abc", 2), first_of("abcd", 2)
        ('abc', 'ab')
    """
    return names if len(names) <= most + 1 else names[:most]


def listed(names: Sequence[str], most: int = 0, *, word: str = "and", rest: str = "more") -> str:
    """Join names with commas and "and"; "" for none.

    Args:
        names: In order.
        most: How many to name, see `first_of`; all where it is 0.
        word: Before the last one.
        rest: Behind the number of those that are not named.

    Example:
        >>> listed(["a", "b", "c"]), listed(["a", "b"], word="or"), listed(["a"])
        ('a, b and c', 'a or b', 'a')
        >>> listed(["a", "b", "c", "d"], 2)
        'a, b and 2 more'
    """
    shown = list(first_of(names, most or len(names)))
    if len(shown) < len(names):
        shown.append(f"{len(names) - len(shown):,} {rest}")
    return f" {word} ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def sentence_of(*clauses: str) -> str:
    """Join clauses, of which some may be empty, with semicolons, and make a sentence of them with a
    capital and a full stop; "" for none.

    Example:
        >>> sentence_of("it rises", "", "seed-1 falls")
        'It rises; seed-1 falls.'
    """
    text = "; ".join(filter(None, clauses))
    return f"{text[0].upper()}{text[1:]}." if text else ""


def by_number(count: int, one: str, many: str) -> str:
    """Choose the word that agrees with a count: "is" or "are"."""
    return one if count == 1 else many


def counted(count: int, noun: str, nouns: str = "") -> str:
    """Write a count with its noun.

    Args:
        count: How many.
        noun: Of one.
        nouns: Of several; with an "s" by default.

    Example:
        >>> counted(1, "word"), counted(1200, "word"), counted(2, "has", "have")
        ('1 word', '1,200 words', '2 have')
    """
    return f"{count:,} {by_number(count, noun, nouns or f'{noun}s')}"


def more_in_table(count: int) -> str:
    """Say how many models a sentence left to the table; "" for none.

    Example:
        >>> more_in_table(1), more_in_table(2)
        ('1 more model is in the table.', '2 more models are in the table.')
    """
    return f"{counted(count, 'more model is', 'more models are')} in the table." if count else ""
