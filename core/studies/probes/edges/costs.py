"""What the tasks of edge probing cost: classifiers in processor seconds, what is held in bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.maths.classifier import LARGE
from core.studies.probes.costs import CLASSES, USED, WINDOW_WORDS, bytes_held
from core.studies.probes.trees.data import Trees
from core.studies.probes.trees.tables import TAGS
from core.studies.probes.trees.tasks import probing
from core.studies.task_kit import Cost, Size, costs

FITTED = 5e-9  # processor seconds per item, coefficient and class of a classifier, to convergence
FACTORED, BY_ITEM = 0.6, 0.23  # of these above `LARGE` coefficients, and where each item has one
BOUND, SINGLE = 6e-11, 1.5e-11  # processor seconds per cubed coefficient: an inverse, a factor
PRODUCT = 1.2e-11  # processor seconds per item, feature and coefficient of the products
CODED, BLOCKS = 0.63, 7  # of a text's words, items of training; portions coded one after the other
CHOOSING = 2.7  # choice of a penalty, over coding and fitting one set of labels


def fitted(
    target: str, width: int, states: int, words: float, penalty: float, sets: float = 1
) -> float:
    """Estimate the processor seconds of fitting classifiers of a target to vectors of this width,
    for all states and their mean number of sets of labels; the penalty is 0 where it is chosen."""
    # A classifier has a coefficient for each dimension, or for each item where these are fewer, and
    # a portion has half of the next one's items.
    portions = [CODED * words / 2**portion for portion in range(BLOCKS)]
    wide = _features(target, width)
    sizes = [min(wide, items) for items in portions]
    large = BY_ITEM if wide > portions[0] else FACTORED
    share = large if sizes[0] > LARGE else 1.0
    fits = sets + CHOOSING * (not penalty)
    seconds = FITTED * words * sizes[0] * CLASSES[target] * fits * share
    seconds += sum((SINGLE if size > LARGE else BOUND) * size**3 for size in sizes)
    return float(states * (seconds + PRODUCT * portions[0] * wide * sizes[0]))


def _features(target: str, width: int) -> int:
    """Features of an item of words of this width: a label's are of the word and of its head."""
    return width * (2 if target == "label" else 1)


def layers_cost(
    sizes: Mapping[str, Size], /, model: str, target: str, trees: Trees, layers: Sequence[int],
    penalty: float, controls: int, controlled: Sequence[int] = (), **_: Any,
) -> Cost:  # fmt: skip
    """Estimate classifiers on each layer, with those of control labels, and the reading."""
    size, words = sizes[model], costs.WORDS * len(trees.words)
    sets = 1 + controls * len(controlled or layers) / len(layers)
    seconds = fitted(target, size.d_model, len(layers), words, penalty, sets)
    held = bytes_held({model: size}, range(len(layers)), words)
    shared = probing(sizes, model, trees, len(layers))
    return Cost(seconds, shared={**shared, model: replace(shared[model], memory=held)})


def window_cost(
    sizes: Mapping[str, Size], /, model: str, target: str, trees: Trees, penalty: float, **_: Any
) -> Cost:
    """Estimate classifiers on the window of each reach, whose features are held, with
    their products, the metric and its factor."""
    size, words = sizes[model], costs.WORDS * len(trees.words)
    sets = 1 / len(WINDOW_WORDS)  # the window that is chosen codes and scores, too
    seconds = sum(
        fitted(target, wide * size.d_model, 1, words, penalty, sets) for wide in WINDOW_WORDS
    )
    wide = _features(target, max(WINDOW_WORDS) * size.d_model)
    square = min(wide, CODED * words) ** 2
    held = bytes_held({model: size}, (), words) + costs.SINGLE * (words * wide + 3 * square)
    return Cost(seconds, shared={("window", model, target): Cost(0.0, held)})


def beside_cost(
    sizes: Mapping[str, Size], /, model: str, target: str, trees: Trees, layers: Sequence[int],
    penalty: float, **_: Any,
) -> Cost:  # fmt: skip
    """Estimate the window alone, and each layer and nothing beside it."""
    window = window_cost(sizes, model, target, trees, penalty)
    width, words = (USED + 1) * sizes[model].d_model, costs.WORDS * len(trees.words)
    more = fitted(target, width, len(layers) + 1, words, penalty)
    return replace(window, seconds=window.seconds + more)


def tags_cost(sizes: Any, /, target: str, trees: Trees, penalty: float, **_: Any) -> Cost:
    """Estimate classifiers on the tags of the word, and of the words around it."""
    widths = [(2 * reach + 1) * CLASSES["pos"] for reach in TAGS]
    words = costs.WORDS * len(trees.words)
    return Cost(sum(fitted(target, width, 1, words, penalty) for width in widths))
