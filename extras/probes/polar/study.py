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

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import core.studies.probes.trees.comparisons as comparisons
import core.studies.probes.trees.planning as planning
import core.studies.probes.trees.tables as trees
import extras.probes.polar.charts as charts
import extras.probes.polar.text as text
from core.errors import CorpusError
from core.maths.structural.bands import COVERAGE, draw_sample
from core.models.identity import Identity
from core.results.metrics import titles_of
from core.studies.kit import (
    Findings,
    Outputs,
    Study,
    Task,
    View,
    changes_of,
    start_notices,
    words_beside,
)
from core.studies.probes.trees.data import Treebank, Trees
from core.studies.probes.trees.text import notice_of
from extras.probes.polar.result import LAS, METRICS, SCORES, PolarResult, polar_groups, polar_probes
from extras.probes.polar.rival_tasks import score_chain, score_parser, score_positions, score_window
from extras.probes.polar.spec import PolarSpec
from extras.probes.polar.tasks import PolarRegime, train_polar


def plan(spec: PolarSpec, ready: Outputs) -> list[Task]:
    """Plan the tasks of a study; a model that was not found has none. Raises CorpusError if the
    text cannot be read, is too small or has no labels, SpecError if a model has no layer of a
    number asked for."""
    treebank: Treebank = ready.need(planning.TREEBANK)
    common = labelled_arguments(treebank)
    how = PolarRegime(spec.rank, spec.weight, spec.seeds, spec.seed, spec.epochs)
    tasks = [
        Task.of("linear chain", score_chain, role=trees.CHAIN, **common),
        Task.of("position-only baseline", score_positions, role=trees.POSITION, how=how, **common),
        *_parser_tasks(spec, treebank),
    ]
    for model in planning.found_models(spec.probed, ready):
        tasks += _model_tasks(spec, model, common, how)
    return tasks


def labelled_arguments(treebank: Treebank) -> dict[str, Any]:
    """The arguments that all tasks on the study's sentences share. Raises CorpusError if no edge of
    the text has a label."""
    labels = tuple(
        tree.labels or ("_",) * len(tree.words) for part in treebank.parts.values() for tree in part
    )
    if not any(label != "_" for row in labels for label in row):
        raise CorpusError(
            f"{treebank.corpus.ref} has no dependency labels. "
            "Set Trees to parser, or use a text with labels."
        )
    return {**planning.training_arguments(treebank), "labels": labels}


def _model_tasks(
    spec: PolarSpec, model: Identity, common: Mapping[str, Any], how: PolarRegime
) -> list[Task]:
    """The probes of one model; of a listed one, on control labels and on its window too."""
    ref = model.ref
    shared = {**planning.model_arguments(spec.as_probes, model), **common}
    listed = ref in spec.models  # no claim is made about the untrained model that is added
    layers = planning.chosen_layers(spec.as_probes, model, control=not listed)
    real = replace(how, rank=min(how.rank, model.d_model))
    tasks = [
        Task.of(ref, train_polar, role=("model", ref), group=ref, layers=layers, how=real, **shared)
    ]
    if not listed:
        return tasks
    tasks.append(
        Task.of(
            f"static window: {ref}",
            score_window,
            role=(trees.WINDOW, ref),
            group=ref,
            how=how,
            **shared,
        )
    )
    if spec.controls:
        tasks.append(
            Task.of(
                f"control labels: {ref}",
                train_polar,
                role=("control", ref),
                group=ref,
                layers=planning.chosen_layers(spec.as_probes, model, control=True),
                how=replace(real, draws=spec.controls, control=True),
                **shared,
            )
        )
    return tasks


def _parser_tasks(spec: PolarSpec, treebank: Treebank) -> list[Task]:
    """The parser's own score, where there are gold trees with labels."""
    judged = treebank.judged or ()
    if not any(label != "_" for tree in judged for label in tree.labels):
        return []
    return [
        Task.of(
            "parser",
            score_parser,
            role=trees.PARSED,
            trees=Trees.of(judged),
            labels=tuple(tree.labels for tree in judged),
            pipeline=spec.pipeline,
            pipeline_identity=treebank.parser,
        )
    ]


def collect(spec: PolarSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make tables, statements and texts of the outputs; scores are in percent."""
    treebank: Treebank = ready.values[planning.TREEBANK]
    sample = trees.sample_of(treebank, spec.draws, spec.seed)
    values = outputs.values
    real = {ref: values["model", ref] for ref in spec.probed if ("model", ref) in values}
    groups = {ref: polar_groups(value, sample) for ref, value in real.items()}
    rivals = {
        role: polar_groups(value, sample)
        for role, value in values.items()
        if role in (trees.POSITION, trees.CHAIN) or role[0] == trees.WINDOW
    }
    learned = {ref: values["control", ref] for ref in groups if ("control", ref) in values}
    controls = {ref: polar_groups(value, sample, control=True) for ref, value in learned.items()}
    named = trees.named_rivals(rivals, groups)
    shown = {name: named[name] for name in (trees.POSITION, *named) if name in named}
    if trees.PARSED in values:
        judged = draw_sample(np.asarray(values[trees.PARSED]["edges"]), spec.draws, spec.seed)
        shown[trees.PARSED] = polar_groups(values[trees.PARSED], judged)
    scores = trees.score_frames(groups, controls, shown)
    made = {
        "polar": trees.as_table(scores, SCORES),
        **comparisons.compared_tables(groups, rivals, spec.models[0], "polar_margins"),
    }
    statements, doubts = text.statements_of(made, spec.probed), text.doubts_of(made, spec)
    others = [metric for metric in METRICS if metric != LAS]
    of_views = [each for metric in others for each in text.statements_of(made, spec.probed, metric)]
    coded = tuple(ref for ref in real if "centres" in real[ref])
    fewer = planning.controls_of(spec.as_probes, "control labels")
    layers = planning.layers_read(spec.as_probes, ready, fewer)
    findings = Findings(
        headline=text.make_headline(statements, parsed=treebank.parsed),
        tables=made,
        notices=(
            *start_notices(spec.models[0], changes_of(ready)),
            *(notice_of(doubt, "LAS") for doubt in doubts),
        ),
        statements=(*statements, *doubts, *of_views),
        models=tuple(real),
        methods=text.make_methods(spec, treebank, coded, layers) + trees.reaches_in_words(values),
        parts={
            "probes": {ref: polar_probes(value) for ref, value in real.items()},
            "test": treebank.parts["test"],
            "parsed": treebank.parsed,
            "pipeline": spec.pipeline,
        },
    )
    return planning.with_treebank(findings, ready, spec.layers, fewer)


STUDY = Study(
    name="probe polar",
    words=words_beside(__file__).filled(coverage=COVERAGE),
    Spec=PolarSpec,
    prepare=planning.prepare_same,
    plan=plan,
    collect=collect,
    cites=text.CITATIONS,
    kind=PolarResult,
    views=(
        View(
            draw=charts.draw_polar,
            choices=lambda result: [
                (metric,)
                for metric in trees.metrics_in(result.table.dropna(subset="layer"), METRICS)
            ],
            asked="Metric",
            titles=titles_of(METRICS),
            headline=text.view_sentences,
            first=charts.first_scores,
            tables=lambda result, metric=LAS: trees.rows_of_metric(
                result.tables, metric, "polar", "polar_margins", "best_layers"
            ),
        ),
    ),
)
