"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from core.maths.maps.registry import METHODS
from core.models import costs
from core.runs.price import Price
from core.runs.process.cores import TASKS_AT_ONCE
from core.studies.alignment.prices import (
    MAPPING,
    NETWORKS,
    PRODUCTS,
    READ,
    TRAINING,
    linear_maps,
    static_rivals,
    tasks_of,
    training_networks,
)
from core.studies.alignment.seeds.tasks import GROUP, PARTS, SLOWEST

if TYPE_CHECKING:
    from core.studies.alignment.seeds.spec import AlignSpec

GRIDDED = 6  # products of a row per map of a layer into a layer; decompositions are shared
KEPT = 25_000  # bytes stored per map, pair and layer


def align_price(spec: AlignSpec) -> Price:
    """Price the main study: every map of every pair, in both directions, at all layers."""
    sizes = costs.sizes_of(ref for group in spec.groups.values() for ref in group)
    pairs = [
        (spec.methods_of(group), source, target)
        for group, source, target in spec.pairs()
        if source in sizes and target in sizes
    ]
    sentences = costs.sentences_of(spec)
    rows = sentences * (costs.WORDS if spec.items == "words" else 1)
    tasks = [costs.STARTING, *(costs.vectors(size, sentences) for size in sizes.values())]
    memory = kept = 0.0
    for number, (methods, source, target) in enumerate(pairs):
        width = max(sizes[source].d_model, sizes[target].d_model)
        states = len(spec.layers) or min(sizes[source].layers, sizes[target].layers) + 1
        tasks += fitting(methods, width, rows, 2 * states, parts=1 if states == 1 else PARTS)
        if spec.grid and not number:
            maps = (sizes[source].layers + 1) * (sizes[target].layers + 1)
            tasks.append(maps * PRODUCTS * GRIDDED * rows * width**2)
        at_once = min(TASKS_AT_ONCE, len(pairs) * tasks_of(methods))
        read = min(sizes[source].layers, sizes[target].layers) + 1
        memory = max(memory, at_once * bytes_mapped(2 * rows * width, read, states, methods))
        kept += KEPT * len(methods) * states
    kept += sum(costs.stored(size, sentences) for size in sizes.values())
    work = f"{costs.counted(len(pairs), 'pair')} of {costs.counted(len(sizes), 'model')}"
    return costs.price_of(sizes, tasks, memory + costs.resident(sizes), store=kept, work=work)


def fitting(
    methods: Iterable[str], width: int, rows: float, maps: float, parts: int = 1
) -> list[float]:
    """Estimate the processor seconds of each task that fits maps: linear ones and controls
    together, others alone.

    Args:
        methods: Names in the registry.
        width: Of both spaces.
        rows: Paired rows, training and test.
        maps: Number of layers, directions and forms that are fitted together.
        parts: Tasks among which the layers of the slowest map are shared out.
    """
    names = [*methods]
    by_kind = {
        kind: [name for name in names if METHODS[name].kind == kind]
        for kind in ("non-linear", "static")
    }
    quick = sum(
        linear_maps(maps, width, rows)
        for name in names
        if METHODS[name].kind in ("control", "linear")
    )
    tasks = []
    for name in by_kind["non-linear"]:
        count = parts if (name,) == SLOWEST else 1
        tasks += [training_networks(name, width, rows) * maps / count] * count
    static = sum(static_rivals(name, width, rows, maps) for name in by_kind["static"])
    return [*tasks, *([quick] if quick else []), *([static] if static else [])]


def bytes_mapped(numbers: float, read: int, mapped: int, methods: Iterable[str]) -> float:
    """Bytes of memory of a task that maps a few of its layers at a time, each of so many numbers in
    both models."""
    at_once = max(1.0, min(mapped, GROUP // (numbers * costs.SINGLE)))
    trained = any(name in NETWORKS for name in methods)
    return numbers * (READ * read + (TRAINING if trained else MAPPING) * at_once)
