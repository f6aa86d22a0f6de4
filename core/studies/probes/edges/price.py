"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.models import costs, parse_ref
from core.models.sizes import Size
from core.runs.price import Price
from core.studies.probes.prices import (
    BLOCKS,
    BOUND,
    CHOOSING,
    CLASSES,
    CODED,
    FITTED,
    PARSING,
    USED,
    WINDOW_WORDS,
    bytes_held,
)

if TYPE_CHECKING:
    from core.studies.probes.edges.spec import EdgeSpec


def edges_price(spec: EdgeSpec) -> Price:
    """The price of edge probing: classifiers of each target, layer and set of labels."""
    sizes, sentences = costs.sizes_of(spec.probed), costs.sentences_of(spec)
    words = costs.WORDS * sentences
    tasks = [costs.STARTING, PARSING * sentences]
    for ref, size in sizes.items():
        tasks.append(costs.vectors(size, sentences))
        sets = 1 + (spec.controls if not parse_ref(ref).random else 0)
        tasks += classifiers(spec, size, sets, words)
        if ref in spec.models:
            tasks += classifiers(spec, size, 1, words, window=True)
            if spec.conditional:
                states = (len(spec.layers) or size.layers + 1) + 1
                tasks += _fitted(spec, (USED + 1) * size.d_model, states, words)
                tasks += classifiers(spec, size, 1, words, window=True)
    windows = [_window(spec, sizes[ref].d_model, words) for ref in spec.models if ref in sizes]
    memory = bytes_held(sizes, spec.layers, words) + max(windows, default=0.0)
    kept = sum(costs.stored(size, sentences) for size in sizes.values())
    return costs.price_of(sizes, tasks, memory, store=kept, work=costs.counted(len(sizes), "model"))


def classifiers(
    spec: EdgeSpec, size: Size, sets: int, words: float, *, window: bool = False
) -> list[float]:
    """Processor seconds of the classifiers of each target, on every layer and set of labels, or on
    the static window."""
    if window:
        tried = [_fitted(spec, wide * size.d_model, 1, words) for wide in WINDOW_WORDS]
        return [sum(times) for times in zip(*tried, strict=True)]
    return _fitted(spec, size.d_model, len(spec.layers) or size.layers + 1, words, sets)


def _fitted(spec: EdgeSpec, width: int, states: int, words: float, sets: int = 1) -> list[float]:
    """Processor seconds to fit classifiers of each target to vectors of a word of this width."""
    seconds = []
    for target in spec.targets:
        wide = width * (2 if target == "label" else 1)
        fits = sets + CHOOSING * (not spec.penalty)
        fitted = FITTED * words * wide * CLASSES[target] * fits
        # A portion has half of the next one's items, and few items are fitted in their span.
        cubes = sum(min(wide, CODED * words / 2**portion) ** 3 for portion in range(BLOCKS))
        seconds.append(states * (fitted + BOUND * cubes))
    return seconds


def _window(spec: EdgeSpec, width: int, words: float) -> float:
    """Bytes of a static window's features, and of a factor in double and single precision."""
    wide = max(WINDOW_WORDS) * width * (2 if "label" in spec.targets else 1)
    factor = (costs.DOUBLE + costs.SINGLE) * min(wide, CODED * words) ** 2
    return costs.SINGLE * words * wide + factor
