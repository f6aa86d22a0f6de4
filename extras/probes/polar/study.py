"""The study of polar probes: which layers encode the labels and directions of dependency edges?

prepare: read, parse and split the text as for the structural probes, identify the models. plan: two
tasks for each model, on real and on control labels, one for its static window, and the baselines.
collect: labelled, directed and undirected scores by layer with bands, differences from the base,
margins over baselines, a headline, a methods paragraph, and the trained probes, which draw any
sentence.

References: Diego-Simón et al. 2024, NeurIPS; Hewitt & Manning 2019, NAACL; Hewitt & Liang 2019,
EMNLP. Deviations: see `core.maths.angular.directions` and `core.maths.angular.arcs`; control
labels, the static window, bands and paired differences are added.

The headline's number: `core.maths.angular.arcs.score_arcs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import CorpusError
from core.maths.structural.bands import COVERAGE, draw_sample
from core.models.identity import Identity
from core.studies.kit import (
    Findings,
    Outputs,
    Study,
    Task,
    Text,
    Value,
    View,
    changes_of,
    depths,
    identities,
    start_notices,
    words_beside,
)
from core.studies.probes.edges.tables import CONTROL, REAL
from core.studies.probes.trees.comparisons import (
    BEST_LAYERS,
    DIFFERENCES,
    MARGINS,
    baselines_of,
    best_layers,
    differences,
    margins,
)
from core.studies.probes.trees.data import Treebank, Trees
from core.studies.probes.trees.planning import (
    TREEBANK,
    chosen_layers,
    model_arguments,
    training_arguments,
    with_limits,
)
from core.studies.probes.trees.planning import prepare as prepare_probes
from core.studies.probes.trees.study import notes_of
from core.studies.probes.trees.tables import (
    CHAIN,
    PARSED,
    POSITION,
    WINDOW,
    as_table,
    reaches_in_words,
)
from extras.probes.polar import tables
from extras.probes.polar.charts import draw_polar, drawable
from extras.probes.polar.result import PolarResult, polar_probes
from extras.probes.polar.rival_tasks import score_chain, score_parser, score_positions, score_window
from extras.probes.polar.spec import PolarSpec
from extras.probes.polar.statements import doubts_of, statements_of
from extras.probes.polar.tables import UNLAYERED, polar_groups, score_rows
from extras.probes.polar.tasks import PolarRegime, train_polar
from extras.probes.polar.text import (
    CITATIONS,
    make_headline,
    make_methods,
    make_notices,
    view_sentence,
)

if TYPE_CHECKING:
    import pandas as pd

    from core.maths.structural.bands import Group, Sample


def prepare(spec: PolarSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """The first stage: read, parse and split the text, identify the models."""
    return prepare_probes(spec.as_probes, texts)


def plan(spec: PolarSpec, ready: Outputs) -> list[Task]:
    """The tasks of a study, from the outputs of its first stage; none for a model not found.

    Raises:
        CorpusError: If the text could not be read, is too small, or has no labels.
        SpecError: If a model has no layer of a number that was asked for.
    """
    treebank: Treebank = ready.need(TREEBANK)
    identified = identities(ready)
    common = labelled_arguments(treebank)
    how = PolarRegime(spec.rank, spec.weight, spec.seeds, spec.seed, spec.epochs)
    tasks = [
        Task.of("linear chain", score_chain, role=CHAIN, **common),
        Task.of("position-only baseline", score_positions, role=POSITION, how=how, **common),
        *_parser_tasks(spec, treebank),
    ]
    for ref in spec.probed:
        if ref in identified:
            tasks += _model_tasks(spec, identified[ref], common, how)
    return tasks


def labelled_arguments(treebank: Treebank) -> dict[str, Any]:
    """The arguments that all tasks on the study's sentences share.

    Raises:
        CorpusError: If a part of the text has no labelled edge.
    """
    labels = tuple(
        tree.labels or ("_",) * len(tree.words) for part in treebank.parts.values() for tree in part
    )
    if not any(label != "_" for row in labels for label in row):
        raise CorpusError(
            f"{treebank.corpus.ref} has no dependency labels. "
            "Set Trees to parser, or use a text with labels."
        )
    return {**training_arguments(treebank), "labels": labels}


def _model_tasks(
    spec: PolarSpec, model: Identity, common: Mapping[str, Any], how: PolarRegime
) -> list[Task]:
    """The probes of one model; of a listed one, on control labels and on its window too."""
    ref = model.ref
    shared = {**model_arguments(spec.as_probes, model), **common}
    layers = chosen_layers(spec.as_probes, model)
    real = replace(how, rank=min(how.rank, model.d_model))
    tasks = [
        Task.of(ref, train_polar, role=("model", ref), group=ref, layers=layers, how=real, **shared)
    ]
    if ref not in spec.models:  # no claim is made about the untrained model that is added
        return tasks
    name = f"static window: {ref}"
    tasks.append(Task.of(name, score_window, role=(WINDOW, ref), group=ref, how=how, **shared))
    if spec.controls:
        control = replace(real, draws=spec.controls, control=True)
        role, name = ("control", ref), f"control labels: {ref}"
        tasks.append(
            Task.of(name, train_polar, role=role, group=ref, layers=layers, how=control, **shared)
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
            role=PARSED,
            trees=Trees.of(judged),
            labels=tuple(tree.labels for tree in judged),
            pipeline=spec.pipeline,
            pipeline_identity=treebank.parser,
        )
    ]


def collect(spec: PolarSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make tables, statements, headline, notices and methods of the tasks' outputs.

    Returns:
        A result with the tables `polar` (SCORES of `tables`, in percent), `differences`,
        `polar_margins` and `best_layers`.
    """
    treebank: Treebank = ready.values[TREEBANK]
    lengths = np.array([len(tree.words) for tree in treebank.parts["test"]])
    sample = draw_sample(lengths, spec.draws, spec.seed)
    values = outputs.values
    real = {ref: values["model", ref] for ref in spec.probed if ("model", ref) in values}
    groups = {ref: polar_groups(value, sample) for ref, value in real.items()}
    rivals = {
        role: polar_groups(value, sample)
        for role, value in values.items()
        if role in (POSITION, CHAIN) or role[0] == WINDOW
    }
    samples = dict.fromkeys(tables.METRICS, sample)
    made = {
        "polar": score_table(spec, groups, rivals, values, sample),
        "differences": as_table(differences(groups, spec.models[0], samples), DIFFERENCES),
        "polar_margins": as_table(
            [
                frame
                for ref, theirs in baselines_of(groups, rivals)
                for frame in margins({ref: groups[ref]}, theirs, samples, str, UNLAYERED)
            ],
            MARGINS,
        ),
        "best_layers": as_table(best_layers(groups, samples, str), BEST_LAYERS),
    }
    statements, doubts = statements_of(made, spec.probed), doubts_of(made, spec)
    starts = start_notices(spec.models[0], changes_of(ready))
    notices = (*starts, *make_notices(doubts), *treebank.notices, *notes_of(values.values()))
    coded = tuple(ref for ref in real if "centres" in real[ref])
    result = Findings(
        headline=make_headline(statements, parsed=treebank.parsed),
        tables=made,
        notices=notices,
        statements=(*statements, *doubts),
        models=tuple(real),
        corpus=treebank.corpus,
        methods=make_methods(spec, treebank, coded, depths(ready)) + reaches_in_words(values),
        cites=CITATIONS,
        kind=PolarResult,
        parts={
            "probes": {ref: polar_probes(value) for ref, value in real.items()},
            "test": treebank.parts["test"],
            "parsed": treebank.parsed,
            "pipeline": spec.pipeline,
        },
    )
    return with_limits(result, ready, real, spec.layers)


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
        frames += score_rows(ref, REAL, of_model, sample)
        if ("control", ref) in values:
            control = polar_groups(values["control", ref], sample, control=True)
            frames += score_rows(ref, CONTROL, control, sample)
            frames += score_rows(ref, "", of_model, sample, control=control)
    shown = {name: rivals[name] for name in (POSITION, CHAIN) if name in rivals}
    if (WINDOW, spec.models[0]) in rivals:
        shown[WINDOW] = rivals[WINDOW, spec.models[0]]
    for name, scores in shown.items():
        frames += score_rows(name, REAL, scores, sample, layered=False)
    if PARSED in values:
        edges = np.asarray(values[PARSED]["edges"])
        judged = sample  # the test sentences, or others where these have no gold trees
        if len(edges) != len(sample.lengths):
            judged = draw_sample(edges, spec.draws, spec.seed)
        scores = polar_groups(values[PARSED], judged)
        frames += score_rows(PARSED, REAL, scores, judged, layered=False)
    return as_table(frames, tables.SCORES)


STUDY = Study(
    name="probe polar",
    words=words_beside(__file__).filled(coverage=COVERAGE),
    Spec=PolarSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    views=(
        View(
            draw=draw_polar,
            choices=lambda result: [(metric,) for metric in drawable(result)],
            headline=view_sentence,
            tables=tables.rows_of,
        ),
    ),
)
