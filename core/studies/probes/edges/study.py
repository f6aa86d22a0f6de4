"""The edge-probing study: which layers encode tags, labels and heads linearly, and how easily are
they learned?

Each model has a task for each target, and so have the baselines. Scores are accuracy and online
code length.

References: Tenney et al. 2019, ICLR; Voita & Titov 2020, EMNLP; Hewitt & Liang 2019, EMNLP.
Deviations: see `items.edge_items` (single words, linear, layer by layer) and
`core.maths.codelength` (blocks end with a sentence).

The headline's number: `core.maths.structural.bands.ProbeScores.of_shares`. It makes per cent
of what `core.studies.probes.edges.coding.score_classifiers` counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from core.maths.structural.bands import COVERAGE
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
from core.studies.probes.edges import charts, tables, text
from core.studies.probes.edges.planning import RIVALS, TAGGED, plan
from core.studies.probes.edges.spec import EdgeSpec
from core.studies.probes.edges.text import doubts_of, statements_of
from core.studies.probes.trees import comparisons
from core.studies.probes.trees.planning import (
    TREEBANK,
    controls_of,
    layers_read,
    prepare_same,
    with_treebank,
)
from core.studies.probes.trees.tables import (
    BESIDE,
    TAGS,
    WINDOW,
    Rows,
    Scores,
    as_table,
    named_rivals,
    reaches_in_words,
    score_frames,
    windows_of,
)


def collect(spec: EdgeSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make tables, statements and texts of the outputs: accuracy and unseen in percent, bits a
    label, whole code lengths in `codes`; with `conditional`, layers beside the window in
    `added`."""
    treebank = ready.values[TREEBANK]
    values = outputs.values
    models = [ref for ref in spec.probed if any((ref, target) in values for target in spec.targets)]
    frames: dict[str, list[Rows]] = {name: [] for name in tables.COLUMNS}
    for target in spec.targets:
        trained = {ref: values[ref, target] for ref in models if (ref, target) in values}
        _add_target(spec, target, trained, values, frames)
    tables_by_name = {
        name: as_table(frames[name], columns)
        for name, columns in tables.COLUMNS.items()
        if name != "added" or spec.conditional
    }
    scores = tables_by_name["edges"]  # layers are chosen by accuracy
    scores["dev"] = scores["dev"].where(scores["metric"] == tables.ACCURACY)
    statements = statements_of(tables_by_name, spec.probed)
    doubts = doubts_of(tables_by_name, spec)
    controls = controls_of(replace(spec.as_probes, controls=spec.controls), "control labels")
    layers = layers_read(spec.as_probes, ready, controls)
    findings = Findings(
        headline=text.make_headline(statements, doubts),
        tables=tables_by_name,
        notices=(
            *start_notices(spec.models[0], changes_of(ready)),
            *text.make_notices(doubts),
        ),
        statements=(*statements, *doubts),
        models=tuple(models),
        methods=text.make_methods(spec, treebank, layers) + reaches_in_words(values),
        cites=[text.CONDITIONAL] * spec.conditional,
    )
    return with_treebank(findings, ready, spec.layers, controls)


def _add_target(
    spec: EdgeSpec,
    target: str,
    trained: Mapping[str, Value],
    values: Mapping[Any, Value],
    frames: dict[str, list[Rows]],
) -> None:
    """Add the rows of one target to every table."""
    first = next(iter(trained.values()), values.get((RIVALS, target)))
    if first is None:
        return
    sample = tables.samples(first, spec.draws, spec.seed)
    groups = {ref: tables.groups_of(value, sample) for ref, value in trained.items()}
    controls = {
        ref: tables.groups_of(value, sample, control=True)
        for ref, value in trained.items()
        if np.asarray(value["bits"]).shape[1] > 1
    }
    coded: list[tuple[str | Sequence[str], Value]] = [*trained.items()]
    rivals: dict[Any, Scores] = {}
    for kind, names in {RIVALS: tables.RIVALS, TAGGED: tuple(TAGS.values())}.items():
        if (kind, target) in values:
            coded.append((names, values[kind, target]))
            scores = tables.groups_of(values[kind, target], sample)
            rivals |= {
                name: {metric: group.only([row]) for metric, group in scores.items()}
                for row, name in enumerate(names)
            }
    windows = {ref: values[key] for ref in groups if (key := (WINDOW, ref, target)) in values}
    rivals |= {(WINDOW, ref): tables.groups_of(value, sample) for ref, value in windows.items()}
    coded += [((name,), windows[ref]) for ref, name in windows_of(windows).items()]
    frames["codes"] += [
        rows for names, value in coded for rows in tables.code_rows(names, target, value)
    ]
    shown = named_rivals(rivals, groups)
    frames["edges"] += score_frames(groups, controls, shown, tables.SIGNS, probe=target)
    frames["differences"] += comparisons.differences(groups, spec.models[0], probe=target)
    for ref in groups:
        if (BESIDE, ref, target) in values:
            both = tables.groups_of(values[BESIDE, ref, target], sample)
            frames["added"] += comparisons.gains_over_window(ref, both, probe=target)
    frames["edge_margins"] += comparisons.baseline_margins(groups, rivals, probe=target)
    accuracy = {ref: {tables.ACCURACY: group[tables.ACCURACY]} for ref, group in groups.items()}
    frames["best_layers"] += comparisons.best_layers(accuracy, probe=target)


STUDY = Study(
    name="probe edges",
    words=words_beside(__file__).filled(coverage=COVERAGE),
    Spec=EdgeSpec,
    prepare=prepare_same,
    plan=plan,
    collect=collect,
    cites=text.CITATIONS,
    views=(
        View(
            draw=charts.draw_targets,
            choices=lambda result: [
                (view,) for view in charts.VIEWS if charts.drawable(result, view)
            ],
            asked="Measure",
            titles=charts.TITLES,
            tables=tables.rows_of,
            first=charts.first_scores,
        ),
    ),
)
