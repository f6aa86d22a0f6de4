"""The study of polar probes: which layers encode the labels and directions of dependency edges?

planning: two tasks for each model, on real and on control labels, one for its static window, and
the baselines. collect: labelled, directed and undirected scores by layer with bands, differences
from the base, margins over baselines, a headline, a methods paragraph, and the trained probes,
which draw any sentence.

References: Diego-Simón et al. 2024, NeurIPS; Hewitt & Manning 2019, NAACL; Hewitt & Liang 2019,
EMNLP. Deviations: see `core.maths.angular.directions` and `core.maths.angular.arcs`; control
labels, the static window, bands and paired differences are added.

The headline's number: `core.maths.angular.arcs.score_arcs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.maths.structural.bands import COVERAGE, Group, Sample, draw_sample
from core.studies.kit import (
    Findings,
    Outputs,
    Study,
    Value,
    View,
    changes_of,
    start_notices,
    words_beside,
)
from core.studies.probes.edges.tables import CONTROL, REAL
from core.studies.probes.trees import comparisons
from core.studies.probes.trees import tables as trees
from core.studies.probes.trees.planning import TREEBANK, controls_of, layers_read, with_limits
from extras.probes.polar import charts, planning, statements, tables, text
from extras.probes.polar.result import PolarResult, polar_probes
from extras.probes.polar.spec import PolarSpec


def collect(spec: PolarSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make tables, statements, headline, notices and methods of the tasks' outputs.

    Returns:
        A result with the tables `polar` (SCORES of `tables`, in percent), `differences`,
        `polar_margins` and `best_layers`.
    """
    treebank = ready.values[TREEBANK]
    lengths = np.array([len(tree.words) for tree in treebank.parts["test"]])
    sample = draw_sample(lengths, spec.draws, spec.seed)
    values = outputs.values
    real = {ref: values["model", ref] for ref in spec.probed if ("model", ref) in values}
    groups = {ref: tables.polar_groups(value, sample) for ref, value in real.items()}
    rivals = {
        role: tables.polar_groups(value, sample)
        for role, value in values.items()
        if role in (trees.POSITION, trees.CHAIN) or role[0] == trees.WINDOW
    }
    samples = dict.fromkeys(tables.METRICS, sample)
    differing = comparisons.differences(groups, spec.models[0], samples)
    above = [
        frame
        for ref, theirs in comparisons.baselines_of(groups, rivals)
        for frame in comparisons.margins({ref: groups[ref]}, theirs, samples, {})
    ]
    best = comparisons.best_layers(groups, samples, {})
    made = {
        "polar": score_table(spec, groups, rivals, values, sample),
        "differences": trees.as_table(differing, comparisons.DIFFERENCES),
        "polar_margins": trees.as_table(above, comparisons.MARGINS),
        "best_layers": trees.as_table(best, comparisons.BEST_LAYERS),
    }
    said, doubts = statements.statements_of(made, spec.probed), statements.doubts_of(made, spec)
    starts = start_notices(spec.models[0], changes_of(ready))
    notices = (*starts, *text.make_notices(doubts), *treebank.notices, *outputs.notices)
    coded = tuple(ref for ref in real if "centres" in real[ref])
    controls = controls_of(spec.as_probes, "control labels")
    layers = layers_read(spec.as_probes, ready, controls)
    result = Findings(
        headline=text.make_headline(said, parsed=treebank.parsed),
        tables=made,
        notices=notices,
        statements=(*said, *doubts),
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
    return with_limits(result, ready, real, spec.layers, controls)


def score_table(
    spec: PolarSpec,
    groups: Mapping[str, Mapping[str, Group]],
    rivals: Mapping[Any, Mapping[str, Group]],
    values: Mapping[Any, Value],
    sample: Sample,
) -> pd.DataFrame:
    """Models, their control labels and selectivity, then the baselines and the parser: SCORES.

    Args:
        spec: The study.
        groups, rivals: Scores by model, and of the baselines by their tasks' roles.
        values: Outputs of the study's tasks.
        sample: The test sentences.
    """
    frames: list[pd.DataFrame] = []
    for ref, of_model in groups.items():
        frames += tables.score_rows(ref, REAL, of_model, sample)
        if ("control", ref) in values:
            control = tables.polar_groups(values["control", ref], sample, control=True)
            frames += tables.score_rows(ref, CONTROL, control, sample)
            frames += tables.score_rows(ref, "", of_model, sample, control=control)
    shown = {name: rivals[name] for name in (trees.POSITION, trees.CHAIN) if name in rivals}
    windows = trees.windows_of(ref for ref in groups if (trees.WINDOW, ref) in rivals)
    shown |= {name: rivals[trees.WINDOW, ref] for ref, name in windows.items()}
    for name, scores in shown.items():
        frames += tables.score_rows(name, REAL, scores, sample, layered=False)
    if trees.PARSED in values:
        edges = np.asarray(values[trees.PARSED]["edges"])
        judged = sample  # the test sentences, or others where these have no gold trees
        if len(edges) != len(sample.lengths):
            judged = draw_sample(edges, spec.draws, spec.seed)
        scores = tables.polar_groups(values[trees.PARSED], judged)
        frames += tables.score_rows(trees.PARSED, REAL, scores, judged, layered=False)
    return trees.as_table(frames, tables.SCORES)


STUDY = Study(
    name="probe polar",
    words=words_beside(__file__).filled(coverage=COVERAGE),
    Spec=PolarSpec,
    prepare=planning.prepare,
    plan=planning.plan,
    collect=collect,
    kind=PolarResult,
    views=(
        View(
            draw=charts.draw_polar,
            choices=lambda result: [(metric,) for metric in charts.drawable(result)],
            asked="Metric",
            titles=tables.NAMES,
            headline=text.view_sentence,
            first=charts.first_scores,
            tables=tables.rows_of,
        ),
    ),
)
