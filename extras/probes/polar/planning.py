"""What a study of polar probes plans: text and models of the first stage, then the probes of every
model and the baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from core.errors import CorpusError
from core.models.identity import Identity
from core.studies.kit import Outputs, Task
from core.studies.probes.trees import planning
from core.studies.probes.trees.data import Treebank, Trees
from core.studies.probes.trees.tables import CHAIN, PARSED, POSITION, WINDOW
from extras.probes.polar.rival_tasks import score_chain, score_parser, score_positions, score_window
from extras.probes.polar.spec import PolarSpec
from extras.probes.polar.tasks import PolarRegime, train_polar


def plan(spec: PolarSpec, ready: Outputs) -> list[Task]:
    """The tasks of a study; none for a model not found. Raises CorpusError if the text cannot be
    read, is too small or has no labels, SpecError if a model has no layer of a number asked for."""
    treebank: Treebank = ready.need(planning.TREEBANK)
    common = labelled_arguments(treebank)
    how = PolarRegime(spec.rank, spec.weight, spec.seeds, spec.seed, spec.epochs)
    tasks = [
        Task.of("linear chain", score_chain, role=CHAIN, **common),
        Task.of("position-only baseline", score_positions, role=POSITION, how=how, **common),
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
            role=(WINDOW, ref),
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
            role=PARSED,
            trees=Trees.of(judged),
            labels=tuple(tree.labels for tree in judged),
            pipeline=spec.pipeline,
            pipeline_identity=treebank.parser,
        )
    ]
