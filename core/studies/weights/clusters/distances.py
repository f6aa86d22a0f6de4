"""Distances between models, and each model's spectra and norms, stored apart from the rest; how the
updates of two models compare.

Singular vectors and sketches take megabytes per model and serve only to compute distances. A study
whose distances are stored or precomputed does not need them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy import ndarray

from core.maths.spectra.projections import FEWEST, METHODS
from core.maths.spectra.registry import VECTORS, Features, calc_distances, relative_size
from core.results.export import Result
from core.runs.runner import Outputs, Progress, run
from core.runs.store import Store, current_store
from core.runs.tasks import Task, key_for
from core.studies.task_kit import Cost, Size, Value, pure
from core.studies.weights.activations import compare_states
from core.studies.weights.clusters.notice_text import said
from core.studies.weights.clusters.selection import Selection
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.tasks import (
    HEAVY,
    bytes_of_update,
    place_models,
    unpack_features,
)

DISTANCES = "distances"  # role of the distances between all models of a study


@pure("weights.light")
def lighten(value: Value) -> Value:
    """Drop singular vectors and sketches, which are not needed once the distances are known."""
    return {name: part for name, part in value.items() if name not in HEAVY}


def _distances_cost(sizes: Mapping[str, Size], values: Sequence[tuple[str, str]], **_: Any) -> Cost:
    """Estimate what is held of all updates at once, each a reference and a key."""
    return Cost(0.0, sum(bytes_of_update(sizes[ref]) for ref, _ in values), torch=False)


@pure("weights.distances", cost=_distances_cost)
def measure_distances(values: Mapping[str, Value], rank: int) -> Value:
    """Measure the distances, in every vector, between models with the same matrices as the
    first."""
    features = {ref: unpack_features(value) for ref, value in values.items()}
    matrices = {ref: (each.families, each.layers, each.shapes) for ref, each in features.items()}
    refs = [ref for ref in features if matrices[ref] == next(iter(matrices.values()))]
    rows = [features[ref] for ref in refs]
    distances = {
        vector: calc_distances(rows, vector, rank) if len(rows) > 1 else np.zeros((1, 1))
        for vector in VECTORS
    }
    return {"models": refs, **distances}


def condense(outputs: Outputs, rank: int) -> dict[Any, Value]:
    """Reduce a study's outputs to what it reads, with the distances under the role DISTANCES."""
    deltas = outputs.of("delta")
    light = {
        role: lighten(value) if role[0] == "delta" else value
        for role, value in outputs.values.items()
    }
    return {**light, DISTANCES: measure_distances(deltas, rank)} if light else light


def run_condensed(
    spec: WeightsSpec,
    tasks: Sequence[Task],
    *,
    store: Store | None = None,
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Outputs:
    """Run a study's tasks and store what it reads of them; run none if that is stored already."""
    store = store or current_store()
    keys = condensed_keys(tasks, spec.rank)
    stored, shipped = store.find(keys.values())
    if len(stored) == len(set(keys.values())):
        if progress is not None:
            count, precomputed = len(keys), sum(key in shipped for key in keys.values())
            progress(Progress(count, count, count, 1.0, "", 0.0, 0.0, precomputed))
        return Outputs({role: stored[key] for role, key in keys.items()}, stored=len(keys))
    outputs = run(tasks, store=store, progress=progress, **options)
    values = condense(outputs, spec.rank)
    if not outputs.failures:
        made = {key: values[role] for role, key in keys.items() if role[0] == "delta"}
        store.put_many({**made, keys[DISTANCES]: values[DISTANCES]})
    return replace(outputs, values=values)


def condensed_keys(tasks: Sequence[Task], rank: int) -> dict[Any, str]:
    """Keys of what a study reads of its tasks, by role."""
    deltas = [task for task in tasks if task.role[0] == "delta"]  # type: ignore[index]
    keys: dict[Any, str] = {
        task.role: key_for(lighten, value=task.key) if task in deltas else task.key
        for task in tasks
    }
    return {**keys, DISTANCES: distances_task(deltas, rank).key}


def distances_task(deltas: Sequence[Task], rank: int) -> Task:
    """Make the task that stands for the distances between what these tasks return; `condense`
    computes it, with their values in place of their keys."""
    together = [(task.role[1], task.key) for task in deltas]  # type: ignore[index]
    return Task.of(DISTANCES, measure_distances, role=DISTANCES, values=together, rank=rank)


def map_task(distances: Sequence[Sequence[float]], drawing: str, seed: int) -> Task:
    """Make the task that places models on a map; UMAP compiles before its first one."""
    return Task.of(
        METHODS[drawing], place_models, role="map", distances=distances, drawing=drawing, seed=seed
    )


def compare(
    spec: WeightsSpec, selection: Selection, outputs: Outputs
) -> tuple[dict[str, Features], dict[str, ndarray], list[str]]:
    """Select the models that every vector can compare: their features, their distances by vector,
    and the notices of what was left out. Raises TaskError if hidden states are
    asked for and none can be compared."""
    values, notices = outputs.values, list(selection.notices)
    every = {
        member.ref: unpack_features(values["delta", member.ref])
        for member in selection.members
        if ("delta", member.ref) in values
    }
    measured = values[DISTANCES]
    features = {ref: every[ref] for ref in measured["models"]}
    notices += [
        said("shapes", model=ref, first=next(iter(features)))
        for ref in every
        if ref not in features
    ]
    by_state: dict[str, ndarray] = {}
    if spec.reads_states:  # every vector then compares the same models
        refs, by_state, of_states = compare_states(spec.base, features, outputs)
        features = {ref: features[ref] for ref in refs}
        notices += of_states
    places = [measured["models"].index(ref) for ref in features]
    every_pair = np.ix_(places, places)
    distances = {vector: np.asarray(measured[vector])[every_pair] for vector in VECTORS}
    return features, distances | by_state, notices


def sizes_of(features: Mapping[str, Features]) -> ndarray:
    """Return the relative size of each model's weight change."""
    return np.array([relative_size(model) for model in features.values()])


def maps_of(result: Result) -> dict[str, str]:
    """Return the titles of the maps for which the result has enough models, by name."""
    return {name: title for name, title in METHODS.items() if len(result.table) >= FEWEST[name]}


def redraw(result: Result, drawing: str, **options: Any) -> Result:
    """Draw the result on another map; it stays where there are too few models for the other."""
    distances = result.arrays[f"distances {result.spec['vector']}"]
    if drawing == result.spec["map"] or drawing not in maps_of(result):
        return result
    task = map_task(distances.tolist(), drawing, result.spec["seed"])
    drawn = run([task], **options).need("map")
    points = drawn["points"]
    models = result.table.assign(x=points[:, 0], y=points[:, 1], z=np.nan)
    return replace(
        result,
        spec=result.spec | {"map": drawing},
        tables={**result.tables, "models": models},
        arrays={**result.arrays, "explained": drawn["explained"]},
    )
