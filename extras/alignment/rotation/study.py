"""Rotation or linear map: are two models' spaces rotations of each other?

One task for each pair of models fits rotations and linear maps at all layers in both directions.

Reference: Schönemann 1966 (orthogonal Procrustes). Deviations: see
`extras.alignment.rotation.tasks`.

The headline's number: `extras.alignment.rotation.tasks.spectrum`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import pandas as pd

from core.models.weights.auditing import describe_seeds, look_tasks, usable_seeds
from core.studies.kit import (
    Findings,
    Outputs,
    Study,
    Task,
    Text,
    View,
    contents,
    prepare_named,
    sink_argument,
    words_beside,
)
from extras.alignment.rotation.charts import figures
from extras.alignment.rotation.spec import RotationSpec
from extras.alignment.rotation.tables import ERRORS, GAPS, SPECTRA, error_tables, spectrum_table
from extras.alignment.rotation.tasks import compare_rotation
from extras.alignment.rotation.text import make_headline, make_methods, planted_gap, statements_of

CITATIONS = ("schonemann1966", "ren2023")


def prepare(spec: RotationSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Plan the first stage: read the text and identify the models."""
    return [*prepare_named(spec, texts), *look_tasks(spec.refs)]


def plan(spec: RotationSpec, ready: Outputs) -> list[Task]:
    """Plan one task for each pair; roles are (first, second). Raises CorpusError if the text could
    not be read."""
    content = contents(ready)
    usable = [ref for ref in usable_seeds(ready, spec.models) if ref in content]
    return [
        Task.of(
            f"{first} ↔ {second}",
            compare_rotation,
            role=(first, second),
            group=second,
            one=first,
            other=second,
            one_identity=content[first],
            other_identity=content[second],
            sentences=ready.need("text").words,
            items=spec.items,
            split=spec.split,
            draws=spec.draws,
            seed=spec.seed,
            **sink_argument(spec.sinks, ready, first, second),
        )
        for first, second in combinations(usable, 2)
    ]


def collect(spec: RotationSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `rotation` (ERRORS), `rotation_gaps` (GAPS) and `spectra` (SPECTRA), and the
    answer."""
    errors, gaps, spectra = (pd.DataFrame(columns=list(each)) for each in (ERRORS, GAPS, SPECTRA))
    if outputs.values:
        (errors, gaps), spectra = error_tables(outputs.values), spectrum_table(outputs.values)
    corpus = ready.need("text")
    statements = statements_of(errors, gaps, spectra)
    refs = tuple(dict.fromkeys(ref for pair in outputs.values for ref in pair))
    return Findings(
        headline=make_headline(spec, statements, planted_gap(gaps)),
        statements=statements,
        tables={"rotation": errors, "rotation_gaps": gaps, "spectra": spectra},
        notices=describe_seeds(ready, spec.models),
        models=refs,
        corpus=corpus,
        methods=make_methods(spec, len(corpus.sentences)),
    )


STUDY = Study(
    name="align rotation",
    words=words_beside(__file__),
    Spec=RotationSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=CITATIONS,
    views=(View(draw=figures),),
)
