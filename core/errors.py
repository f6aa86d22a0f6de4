"""Errors for users: the message says what is wrong, where, and what to do next."""

from __future__ import annotations

import errno
import re

from core.limits import current_limits

_FOLDERS = re.compile(r"(?<![\w/:.~-])/(?:[^\s/'\"]+/)+")  # of an absolute path, not of an address


class PalimpsestError(Exception):
    """Base class of errors whose message is written for users; any other exception is a bug.

    On a shared instance the message names files without the server's folders.
    """

    def __str__(self) -> str:
        text = super().__str__()
        return _FOLDERS.sub("", text) if current_limits().shared else text


class PalimpsestWarning(UserWarning):
    """Base class of warnings whose message is written for users."""


class ModelError(PalimpsestError):
    """A model reference is invalid, or its model cannot be found, trusted or loaded."""


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


def explained(error: BaseException) -> BaseException:
    """Return an error as it is, or one for users where a name in their input is too long."""
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return PalimpsestError(
            f"{str(error.filename)[:80]}… is no file, because its name is too long: check the path."
        )
    return error
