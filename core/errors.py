"""Errors that a user may read: one clear sentence that says what happened and what to do next."""

from __future__ import annotations


class PalimpsestError(Exception):
    """Base of every error whose message is written for the user. Anything else is a bug."""


class ModelError(PalimpsestError):
    """A model reference cannot be read, found, trusted or loaded."""


class CorpusError(PalimpsestError):
    """A corpus cannot be found, read or used; names file, line and reason where there are any."""


class ShapeError(PalimpsestError, ValueError):
    """Arrays whose shapes or sizes do not fit the computation asked for."""


class SpecError(PalimpsestError, ValueError):
    """A study was asked for with values that make no sense; lists what would."""


class StoreError(PalimpsestError):
    """The store cannot be opened or written."""


class TaskError(PalimpsestError):
    """One task of a study failed; the message names the task and the reason."""


class CancelledError(PalimpsestError):
    """The user cancelled the run; what was computed stays in the store."""


class GaveWayError(CancelledError):
    """A run that nobody waits for stopped at a task's border for one that somebody waits for; it can go on later."""


class NotStoredError(PalimpsestError):
    """Not everything that was looked for is in the store: it has to be computed."""


class RecipeError(PalimpsestError):
    """The recipe that makes the box cannot go on; a rerun resumes where it stopped."""
