"""What a study found, before it is a result: `Study` adds what every result needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from core.results.export import Result, provenance
from core.results.papers.reference import cite
from core.results.statements import TWO_LINES, Statement, leading
from core.runs.runner import Outputs


@dataclass(frozen=True)
class Findings:
    """What a study's `collect` found.

    Attributes:
        tables, statements, arrays, caution: As in `Result`.
        headline: One text, or sentences, which are joined; where there are none, `nothing` of the
            study's words stands. None for a result that has a caution alone.
        notices: As in `Result`, between those of the text and those of the planned tasks, which
            follow by themselves; empty ones and repeated ones are left out.
        limits: What the numbers cannot show: sentences that end the headline and are notices, too.
        methods: As in `Result`, without the settings of the options, which follow.
        models: References whose fingerprints are recorded.
        corpus: A `core.text.corpora.Corpus` that is recorded; None for a study of weights alone.
        cites: Keys of papers that this result cites beside those of its study.
        failures: Why something failed outside a task, by its name.
        provenance: What is recorded beside versions, models and text.
        spec: What is recorded beside the options.
        parts: Further fields of a result of the kind that the study declares.
    """

    tables: dict[str, pd.DataFrame]
    headline: str | Iterable[str] | None
    statements: Sequence[Statement] = ()
    notices: Iterable[str] = ()
    limits: Sequence[str] = ()
    methods: str = ""
    models: Iterable[str] = ()
    corpus: Any = None
    cites: Iterable[str] = ()
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    caution: str = ""
    failures: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)

    def result(
        self,
        study: str,
        spec: Any,
        ready: Outputs,
        outputs: Outputs,
        *,
        kind: type[Result] = Result,
        cites: Iterable[str] = (),
        nothing: str = "",
    ) -> Result:
        """Make the study's result, of the kind, with the papers and with the headline of `nothing`
        that it declares. Raises ModelError if a model cannot be found."""
        of_text = () if self.corpus is None else self.corpus.notices
        notices = (*of_text, *self.limits, *self.notices, *outputs.notices)
        return kind(
            study=study,
            spec=spec.plain() | {**self.spec},
            headline=self._headline(nothing),
            tables=self.tables,
            arrays=self.arrays,
            notices=tuple(dict.fromkeys(filter(None, notices))),
            failures=ready.reasons | outputs.reasons | {**self.failures},
            provenance=provenance(tuple(dict.fromkeys(self.models)), self.corpus)
            | {**self.provenance},
            methods=f"{self.methods} {spec.settings()}".strip(),
            citations=cite((*cites, *self.cites)),
            caution=self.caution,
            statements=tuple(self.statements),
            **self.parts,
        )

    def _headline(self, nothing: str) -> str:
        if self.headline is None:
            return ""
        sentences = [self.headline] if isinstance(self.headline, str) else self.headline
        said = " ".join(filter(None, sentences)) or nothing
        return " ".join(filter(None, (said, *self.limits)))


def in_two_lines(said: str | Iterable[str]) -> str:
    """Join the first sentences, as many as two lines above a figure hold; one text stays whole."""
    return said if isinstance(said, str) else leading(said, TWO_LINES)
