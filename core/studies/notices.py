"""Notices that several studies share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from core.errors import SpecError, TaskError
from core.models.changes import Change, shares_no_start
from core.results.names import short_names
from core.results.numbers import text_of

FEW_SENTENCES = 30  # below, some bands cover less than they say: benchmarks/coverage.txt
ONE_SENTENCE = (
    "The numbers have no bands, because there is only one sentence and bands resample sentences: "
    "use more text."
)


def sentence_notices(sentences: int) -> list[str]:
    """Say that so few different sentences give bands that are too narrow, or none."""
    if sentences < 2:
        return [ONE_SENTENCE]
    return [few_sentences(sentences)] if sentences < FEW_SENTENCES else []


def few_sentences(sentences: int) -> str:
    """Say that so few sentences give bands that may be too narrow."""
    return (
        f"The bands may be too narrow, because only {sentences} sentences were resampled: "
        f"95 % bands from fewer than {FEW_SENTENCES} sentences contain the true value less often "
        "than they should. Use more sentences."
    )


def start_notices(base: str, changes: Mapping[str, Change]) -> list[str]:
    """Name each model that was not trained from the base, with the evidence
    (`models.changes.changes_of`)."""
    names = short_names((base, *changes))
    return [
        f"{names[ref]} was not trained from {names[base]}: "
        f"their weights are {text_of(change.apart, 'per cent')} as far apart as unrelated weights. "
        "The results show how two models without a common start differ, "
        "not what fine-tuning changed."
        for ref, change in changes.items()
        if shares_no_start(change.apart)
    ]


def base_left_out(base: str) -> str:
    """Say that a base was not compared with itself."""
    return f"{base} was left out of the compared models, because it is the base."


def nothing_but_base(base: str) -> SpecError:
    """Make the error of a study whose only compared model is the base."""
    return SpecError(f"{base} cannot be compared with itself: choose another model than the base.")


def nothing_compared(reasons: Iterable[str]) -> TaskError:
    """Make the error of a study for which every model failed, with the first reason."""
    return TaskError(f"No model could be compared. {next(iter(reasons), '')}".strip())
