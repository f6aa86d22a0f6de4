"""What a study found, before it is a result: `Study` adds what every result needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from core.results.export import Result, provenance
from core.results.papers.reference import cite
from core.results.statements import Statement
from core.runs.runner import Outputs


@dataclass(frozen=True)
class Findings:
    """What a study's `collect` found.

    Attributes:
        tables, headline, statements, arrays, caution: As in `Result`.
        notices: As in `Result`, between those of the text and those of the planned tasks, which
            follow by themselves; empty ones and repeated ones are left out.
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
    headline: str
    statements: Sequence[Statement] = ()
    notices: Iterable[str] = ()
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
    ) -> Result:
        """Make the study's result, of the kind and with the papers that it declares. Raises
        ModelError if a model cannot be found."""
        of_text = () if self.corpus is None else self.corpus.notices
        notices = (*of_text, *self.notices, *outputs.notices)
        return kind(
            study=study,
            spec=spec.plain() | {**self.spec},
            headline=self.headline,
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
