"""What was found: a study makes statements from its tables, and writes the sentences of headline
and views from the statements.

Tests check the statements, and of the sentence only that it names their numbers, so that wording
can be improved without changing a test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from math import nan
from typing import Any

from core.results.estimates import Estimate

TWO_LINES = 160  # characters above a figure, at 1280 pixels


@dataclass(frozen=True)
class Statement:
    """One fact of a headline or of a view.

    Attributes:
        subject: A model, a method, a vector.
        verdict: What was found, one of the study's few verdicts ("differs", "too few to tell").
        estimate: The number behind it; None where there is none.
        layers: The layers concerned, in order; layer 0 is the embeddings.
        baseline: What the subject is compared with; empty without a comparison.
        metric: What of the subject is measured (a metric, a target of probes, a kind of pairs);
            empty where a study measures one thing, and where the fact is about no one metric.
    """

    subject: str
    verdict: str
    estimate: Estimate | None = None
    layers: tuple[int, ...] = ()
    baseline: str = ""
    metric: str = ""

    @property
    def number(self) -> Estimate:
        """The number behind it. Raises ValueError if it has none."""
        if self.estimate is None:
            raise ValueError(f"{self} has no number.")
        return self.estimate

    def named_in(self, sentence: str) -> bool:
        """Tell whether a sentence contains the number, with or without its sign."""
        return (
            self.estimate is None
            or self.estimate.value_text in sentence
            or self.estimate.size in sentence
        )

    def as_record(self) -> dict[str, Any]:
        """Convert to plain JSON values; a missing end of an interval is None, an empty metric is
        left out."""
        record = asdict(self)
        if not self.metric:
            del record["metric"]
        if self.estimate is not None:
            record["estimate"] = {
                name: None if part != part else part for name, part in asdict(self.estimate).items()
            }
        return record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Statement:
        """Read a statement from a record of `as_record`. Raises TypeError or KeyError if it is
        none."""
        estimate = record["estimate"]
        parts: dict[str, Any] = {
            name: nan if part is None else part for name, part in (estimate or {}).items()
        }
        return cls(
            **{
                **record,
                "estimate": estimate and Estimate(**parts),
                "layers": tuple(record["layers"]),
            }
        )


def leading(sentences: Iterable[str], letters: int) -> str:
    """Join the first sentences, as many as `letters` hold, and the first of all in any case.

    Example:
        >>> leading(["It rises.", "By 2.", "Slowly."], 15)
        'It rises. By 2.'
    """
    shown = ""
    for sentence in sentences:
        if shown and len(f"{shown} {sentence}") > letters:
            break
        shown = f"{shown} {sentence}".strip()
    return shown


def lead_and_rest(headline: str) -> tuple[str, str]:
    """Split a headline longer than two lines behind its first sentence; a shorter one has no
    rest."""
    lead, end, rest = headline.partition(". ")
    if len(headline) <= TWO_LINES or not end:
        return headline, ""
    return f"{lead}.", rest.lstrip()


def lead_of(headline: str) -> str:
    """Return the first sentence of a headline longer than two lines, and a shorter one whole."""
    return lead_and_rest(headline)[0]
