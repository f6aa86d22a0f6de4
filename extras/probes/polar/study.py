"""The study of polar probes: which layers encode the labels and directions of dependency edges?

Each model has a task on real and one on control labels and one on its static window; positions,
the linear chain and the parser are the other baselines. Scores are labelled, directed and
undirected, and the trained probes draw any sentence.

References: Diego-Simón et al. 2024, NeurIPS; Hewitt & Manning 2019, NAACL; Hewitt & Liang 2019,
EMNLP. Deviations: see `core.maths.angular.directions` and `core.maths.angular.arcs`; control
labels, the static window, bands and paired differences are added.

The headline's number: `core.maths.angular.arcs.score_arcs`.
"""

from __future__ import annotations

import numpy as np

from core.maths.structural.bands import COVERAGE, draw_sample
from core.results.metrics import titles_of
from core.studies.kit import (
    Findings,
    Outputs,
    Study,
    View,
    changes_of,
    start_notices,
    words_beside,
)
from core.studies.probes.trees import comparisons
from core.studies.probes.trees import tables as trees
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.planning import (
    TREEBANK,
    controls_of,
    layers_read,
    prepare_same,
    with_limits,
)
from core.studies.probes.trees.text import notice_of
from extras.probes.polar import charts, planning, tables, text
from extras.probes.polar.result import PolarResult, polar_probes
from extras.probes.polar.spec import PolarSpec


def collect(spec: PolarSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make tables, statements and texts of the outputs; scores are in percent."""
    treebank: Treebank = ready.values[TREEBANK]
    sample = trees.sample_of(treebank, spec.draws, spec.seed)
    values = outputs.values
    real = {ref: values["model", ref] for ref in spec.probed if ("model", ref) in values}
    groups = {ref: tables.polar_groups(value, sample) for ref, value in real.items()}
    rivals = {
        role: tables.polar_groups(value, sample)
        for role, value in values.items()
        if role in (trees.POSITION, trees.CHAIN) or role[0] == trees.WINDOW
    }
    learned = {ref: values["control", ref] for ref in groups if ("control", ref) in values}
    controls = {
        ref: tables.polar_groups(value, sample, control=True) for ref, value in learned.items()
    }
    named = trees.named_rivals(rivals, groups)
    shown = {name: named[name] for name in (trees.POSITION, *named) if name in named}
    if trees.PARSED in values:
        judged = draw_sample(np.asarray(values[trees.PARSED]["edges"]), spec.draws, spec.seed)
        shown[trees.PARSED] = tables.polar_groups(values[trees.PARSED], judged)
    scores = trees.score_frames(groups, controls, shown)
    made = {
        "polar": trees.as_table(scores, tables.SCORES),
        **comparisons.compared_tables(groups, rivals, spec.models[0], "polar_margins"),
    }
    statements, doubts = text.statements_of(made, spec.probed), text.doubts_of(made, spec)
    starts = start_notices(spec.models[0], changes_of(ready))
    doubted = (notice_of(doubt, "LAS") for doubt in doubts)
    notices = (*starts, *doubted, *treebank.notices, *outputs.notices)
    coded = tuple(ref for ref in real if "centres" in real[ref])
    fewer = controls_of(spec.as_probes, "control labels")
    layers = layers_read(spec.as_probes, ready, fewer)
    result = Findings(
        headline=text.make_headline(statements, parsed=treebank.parsed),
        tables=made,
        notices=notices,
        statements=(*statements, *doubts),
        models=tuple(real),
        corpus=treebank.corpus,
        methods=text.make_methods(spec, treebank, coded, layers) + trees.reaches_in_words(values),
        cites=text.CITATIONS,
        kind=PolarResult,
        parts={
            "probes": {ref: polar_probes(value) for ref, value in real.items()},
            "test": treebank.parts["test"],
            "parsed": treebank.parsed,
            "pipeline": spec.pipeline,
        },
    )
    return with_limits(result, ready, real, spec.layers, fewer)


STUDY = Study(
    name="probe polar",
    words=words_beside(__file__).filled(coverage=COVERAGE),
    Spec=PolarSpec,
    prepare=prepare_same,
    plan=planning.plan,
    collect=collect,
    kind=PolarResult,
    views=(
        View(
            draw=charts.draw_polar,
            choices=lambda result: [
                (metric,)
                for metric in trees.metrics_in(result.table.dropna(subset="layer"), tables.METRICS)
            ],
            asked="Metric",
            titles=titles_of(tables.METRICS),
            headline=text.view_sentence,
            first=charts.first_scores,
            tables=lambda result, metric=tables.LAS: trees.rows_of_metric(
                result.tables, metric, "polar", "polar_margins", "best_layers"
            ),
        ),
    ),
)
