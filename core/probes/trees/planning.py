"""Planning that a study and its rank sweep share: the first stage, and the arguments of training.

A position code is appended to a model's vectors where the model adds no positions to them, or where
the spec asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.errors import SpecError
from core.models.changes import change_tasks
from core.models.files import checkpoints
from core.models.identity import Identity, identity_tasks
from core.probes.trees.data import Tree, Treebank, read_treebank
from core.probes.trees.rival_tasks import score_baselines, score_parser, score_positions
from core.probes.trees.spec import ProbeSpec
from core.probes.trees.tables import PARSED, POSITION
from core.probes.trees.tasks import score_probes, train_probes
from core.runs.runner import Task
from core.runs.store import Value
from core.text.reading import Text

TREEBANK = "treebank"  # role of the first stage's task
BASELINES = "baselines"


def prepare(spec: ProbeSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """The first stage: read, parse and split the text, identify the models, compare their weights.

    Args:
        spec: The study.
        texts: Texts that came with the request (an upload), by CorpusRef.
    """
    return [
        Task.of("read the text", read_treebank, role=TREEBANK, fleeting=True, spec=spec, texts=texts),
        *identity_tasks(spec.probed),
        *change_tasks(spec.models[0], spec.models[1:]),
    ]


def training_arguments(spec: ProbeSpec, treebank: Treebank) -> dict[str, Any]:
    """The arguments that all training tasks of a study share."""
    trees = [tree for part in treebank.parts.values() for tree in part]
    sizes = tuple(len(part) for part in treebank.parts.values())
    return {
        "sizes": sizes, "probes": spec.probes, "seed": spec.seed, "epochs": spec.epochs, **as_arguments(trees)
    }  # fmt: skip


def model_arguments(spec: ProbeSpec, model: Identity) -> dict[str, Any]:
    """The arguments that all training tasks of one model share."""
    coded = spec.position == "on" or (spec.position == "auto" and not checkpoints.adds_positions(model.model_type))
    return {"model": model.ref, "model_identity": model.content, "position": coded}


def model_tasks(
    spec: ProbeSpec, model: Identity, common: Mapping[str, Any], *, controls: int, maps: bool = True
) -> list[Task]:
    """The tasks of one model: its probes on real trees and, with `controls`, on control trees.

    Args:
        spec: The study.
        model: Its identity, from the first stage.
        common: See `training_arguments`.
        controls: Draws of control trees.
        maps: Whether the trained maps are stored with their scores.

    Raises:
        SpecError: If the model has no layer of a number that was asked for.
    """
    arguments = {**model_arguments(spec, model), **common, "layers": chosen_layers(spec, model)}
    arguments["ranks"] = (min(spec.rank, model.d_model),)
    ref = model.ref
    real: Callable[..., Value] = train_probes if maps else score_probes
    tasks = [Task.of(ref, real, role=("model", ref), group=ref, control=False, draws=spec.seeds, **arguments)]
    if controls:
        tasks.append(
            Task.of(
                f"control trees: {ref}", train_probes, role=("control", ref), group=ref, control=True, draws=controls,
                **arguments,
            )
        )  # fmt: skip
    return tasks


def rival_tasks(spec: ProbeSpec, treebank: Treebank, common: Mapping[str, Any]) -> list[Task]:
    """The tasks of the baselines, and of the parser where there are gold heads."""
    tasks = [
        Task.of("baselines", score_baselines, role=BASELINES, seed=spec.seed, **as_arguments(treebank.parts["test"])),
        Task.of(
            "position-only baseline", score_positions, role=POSITION, rank=spec.rank,
            draws=spec.seeds, **common,
        ),
    ]
    if treebank.judged is not None:
        judged = as_arguments(treebank.judged)
        tasks.append(
            Task.of(
                "parser", score_parser, role=PARSED, pipeline=spec.pipeline, pipeline_identity=treebank.parser, **judged
            )
        )
    return tasks


def chosen_layers(spec: ProbeSpec, model: Identity) -> tuple[int, ...]:
    """The layers to probe.

    Raises:
        SpecError: If the model has no layer of a number that was asked for.
    """
    missing = [layer for layer in spec.layers if layer > model.layers]
    if missing:
        named = f"layer {missing[0]} is" if len(missing) == 1 else f"layers {', '.join(map(str, missing))} are"
        raise SpecError(f"{model.ref} has layers 0 to {model.layers}; {named} not among them.")
    return spec.layers or tuple(range(model.layers + 1))


def as_arguments(trees: Sequence[Tree]) -> dict[str, Any]:
    """Sentences as a task's arguments."""
    return {
        "words": tuple(tree.words for tree in trees),
        "heads": tuple(tree.heads for tree in trees),
        "keep": tuple(tree.keep for tree in trees),
    }
