"""What an edge-probing study plans: text and models of the first stage, then a task for each model
and target, and the baselines of each target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.errors import CorpusError
from core.models.identity import Identity
from core.studies.kit import Outputs, Task
from core.studies.probes.edges import tasks as work
from core.studies.probes.edges.items import TARGETS, edge_items, tags_of
from core.studies.probes.edges.spec import EdgeSpec
from core.studies.probes.trees import planning
from core.studies.probes.trees.data import NAMED, PARTS, Tree, Treebank, Trees
from core.studies.probes.trees.tables import BESIDE, WINDOW
from core.text.reading import UnreadCorpus

RIVALS, TAGGED = "rivals", "parts of speech"  # in roles of tasks


def plan(spec: EdgeSpec, ready: Outputs) -> list[Task]:
    """Plan the tasks of a study; a model that was not found has none. Raises CorpusError if the
    text cannot be read, is too small or has no labels of a target, SpecError if a model has no
    layer of a number asked for."""
    treebank: Treebank = ready.need(planning.TREEBANK)
    models = planning.found_models(spec.probed, ready)
    tasks = []
    for target in spec.targets:
        common = sentences_of(spec, treebank, target)
        tasks.append(
            Task.of(
                f"baselines: {target}",
                work.score_rivals,
                role=(RIVALS, target),
                penalty=spec.penalty,
                **common,
            )
        )
        tasks += _tag_tasks(spec, treebank, target, common)
        for model in models:
            tasks.append(model_task(spec, model, common))
            if model.ref in spec.models:
                tasks.append(
                    Task.of(
                        f"static window, {target}: {model.ref}",
                        work.probe_window,
                        role=(WINDOW, model.ref, target),
                        group=model.ref,
                        **_model_arguments(spec, model, common),
                    )
                )
                if spec.conditional:
                    tasks.append(_beside_task(spec, model, common))
    return tasks


def model_task(spec: EdgeSpec, model: Identity, common: Mapping[str, Any]) -> Task:
    """The classifiers of one target on the layers of a model. Raises SpecError if the model has no
    layer of a number that was asked for."""
    probes, listed = spec.as_probes, model.ref in spec.models
    layers = planning.chosen_layers(probes, model, control=not listed)
    few = planning.chosen_layers(probes, model, control=True)
    # The untrained model that is added needs no control labels: no claim is made about it.
    controls = spec.controls if listed else 0
    # Of a model whose controls are at all layers none says so: its results keep their keys.
    controlled: dict[str, Any] = {"controlled": few} if controls and few != layers else {}
    return Task.of(
        f"{common['target']}: {model.ref}",
        work.probe_edges,
        role=(model.ref, common["target"]),
        group=model.ref,
        controls=controls,
        seed=spec.seed,
        layers=layers,
        **controlled,
        **_model_arguments(spec, model, common),
    )


def _beside_task(spec: EdgeSpec, model: Identity, common: Mapping[str, Any]) -> Task:
    """The classifiers of one target on every layer of a model beside its static window."""
    return Task.of(
        f"{common['target']}, {BESIDE}: {model.ref}",
        work.probe_beside_window,
        role=(BESIDE, model.ref, common["target"]),
        group=model.ref,
        layers=planning.chosen_layers(spec.as_probes, model),
        **_model_arguments(spec, model, common),
    )


def _model_arguments(spec: EdgeSpec, model: Identity, common: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that all tasks of one model and target share."""
    return {
        "model": model.ref, "model_identity": model.content, "penalty": spec.penalty, **common,
    }  # fmt: skip


def _tag_tasks(
    spec: EdgeSpec, treebank: Treebank, target: str, common: Mapping[str, Any]
) -> list[Task]:
    """Classifiers of parts of speech, for targets that are none, where the text has tags."""
    classes = planning.word_classes(treebank, common["trees"].rows) if target != "pos" else ()
    if not classes:
        return []
    return [
        Task.of(
            f"parts of speech: {target}",
            work.score_tags,
            role=(TAGGED, target),
            classes=classes,
            penalty=spec.penalty,
            **common,
        )
    ]


def sentences_of(spec: EdgeSpec, treebank: Treebank, target: str) -> dict[str, Any]:
    """A target's sentences as arguments of tasks, training sentences in the order of coding. Raises
    CorpusError if a part has no labels, or all training labels are the same."""
    tags = tags_of(treebank, target)
    order = np.random.default_rng(spec.seed).permutation(len(treebank.parts["train"]))
    trees: dict[str, list[Tree]] = {part: list(treebank.parts[part]) for part in PARTS}
    trees["train"] = [trees["train"][place] for place in order]
    for part, rows in ({} if isinstance(treebank.corpus, UnreadCorpus) else trees).items():
        asked = edge_items(
            target, [tree.heads for tree in rows], [tree.keep for tree in rows],
            [tags[tree.words, tree.heads] for tree in rows],
        )  # fmt: skip
        if len(set(asked.labels)) < (2 if part == "train" else 1):
            raise CorpusError(
                f"The {NAMED[part]} sentences of {treebank.corpus.ref} have too few labels of "
                f"{target} ({TARGETS[target]}). Use more text, or leave {target} out."
            )
    every = [tree for rows in trees.values() for tree in rows]
    sizes = tuple(len(rows) for rows in trees.values())
    return {
        "trees": Trees.of(every), "target": target, "sizes": sizes,
        "tags": tuple(tags[tree.words, tree.heads] for tree in every),
    }  # fmt: skip
