"""What a headline states, as facts. A study makes statements of its tables, and its sentence of the statements.

Tests ask the statements what was found, and the sentence only whether it names their numbers, so that wording can be
improved without touching a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from core.results.estimates import Estimate


@dataclass(frozen=True)
class Statement:
    """One fact of a headline.

    Attributes:
        subject: What it is said of: a model, a method, a vector.
        verdict: What was found, one of the few words that its study has for it ("differs", "too few to tell").
        estimate: The number that it rests on; None where it rests on none.
        layers: The layers that it is said of, in order; layer 0 is the embeddings.
        baseline: What the subject is compared with; empty where with nothing.
    """

    subject: str
    verdict: str
    estimate: Estimate | None = None
    layers: tuple[int, ...] = ()
    baseline: str = ""

    def named_in(self, sentence: str) -> bool:
        """Whether a sentence gives the number: as it is, or a difference without its sign."""
        return self.estimate is None or self.estimate.value_text in sentence or self.estimate.size in sentence

    def as_record(self) -> dict[str, Any]:
        """Plain JSON values; a missing end of a band is None."""
        record = asdict(self)
        if self.estimate is not None:
            record["estimate"] = {name: None if part != part else part for name, part in asdict(self.estimate).items()}
        return record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Statement:
        """The statement that `as_record` wrote.

        Raises:
            TypeError, KeyError: If the record is none.
        """
        estimate = record["estimate"]
        return cls(
            **{
                **record,
                "estimate": estimate and Estimate(**{name: _number(part) for name, part in estimate.items()}),
                "layers": tuple(record["layers"]),
            }
        )


def _number(part: Any) -> Any:
    return float("nan") if part is None else part
