"""What the source's embedding table predicts of the target's layers: the rival of every map from
hidden states.

Most of what a map between two models' states predicts, the words themselves predict. The source's
layer 0, read through a window of a few words with no layer run, shows how much; the state's gain
over it is what the layers add.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from core.maths.evaluation.costs import (
    MOST_ROWS,
    PRODUCTS,
    SEARCHED,
    TRAINED,
    judged_rows,
    training_networks,
)
from core.maths.evaluation.judging import Judge, by_direction, by_layer
from core.maths.evaluation.split import Parts, split_rows
from core.maths.maps.kernel import KernelRidge
from core.maths.maps.registry import METHODS
from core.maths.maps.static import StaticKernel, beside, near_columns
from core.studies.alignment.seeds.tasks import (
    asked_layers,
    at_layers,
    described,
    layer_groups,
    pair_cost,
)
from core.studies.task_kit import Value, Words, as_identified, extract, pure, span, tick
from core.vectors.activations import Activations
from core.vectors.pairs import Items, Paired, extract_pair
from core.vectors.window import REACHES, places_in, static_window

# Of the weight, a word further away. With equal weights the rival would be weaker than it can be:
# from seed-0 to seed-1 it would leave .586 of the variance unexplained in place of .564.
FADE = 0.6
TRIES = 24  # kernels and penalties that a static window is tried with


def _fitting(methods: Iterable[str], width: int, rows: float, maps: float) -> float:
    """Estimate the processor seconds of maps that read the static window: one factorisation serves
    all layers of a direction."""
    seconds = 0.0
    fitted = min(TRAINED * rows, MOST_ROWS)
    searched = min(fitted, SEARCHED)
    for name in methods:
        if name == "state-and-window":
            seconds += training_networks("kernel", 2 * width, rows) * maps
            continue
        tries = TRIES * (len(REACHES) if name == "static-window" else 1)
        seconds += PRODUCTS * (
            tries * searched**2 * (2 * searched / 3 + width * maps)
            + 2 * fitted**3
            + (3 * fitted + judged_rows(width, rows)) * fitted * width * maps
        )
    return seconds


@pure("alignment.static", version=4, guard=as_identified, cost=partial(pair_cost, fit=_fitting))
def align_static(
    one: str,
    other: str,
    one_identity: str,
    other_identity: str,
    sentences: Words,
    items: str,
    split: str,
    methods: tuple[str, ...],
    layers: tuple[int, ...],
    seed: int,
    sinks: str = "",
) -> Value:
    """Predict every layer of one model from the other's embedding table, alone and beside the
    other's state; as `tasks.align_pair`, of rows that are words. Attention sinks that are no rows
    stay in the windows of their neighbours."""
    with span(0.0, 0.1):
        paired = extract_pair(one, other, Items(sentences, (), items), sinks=sinks)
        parts = split_rows(sentences, paired.sentence, paired.word, split, seed)
    asked = asked_layers(layers, len(paired.base))
    fits = []
    for number, (ref, states, targets) in enumerate(
        ((one, paired.base, paired.compared), (other, paired.compared, paired.base))
    ):
        with span(0.1 + 0.45 * number, 0.55 + 0.45 * number):
            words = Activations(states[:1], paired.sentence, paired.word)
            if sinks:
                words = extract(ref, sentences, layers=[0])
            window, columns = _window(words.vectors[0], words.sentence, words.word)
            window = window[_places(words, paired)]
            given, y = at_layers(states, asked), at_layers(targets, asked)
            fits.append(_fit(given, window, columns, y, parts, methods, seed))
    value = described(paired.base, paired.compared, parts, asked, paired.remarks)
    return value | by_direction(fits, len(asked))


def _places(words: Activations, paired: Paired) -> np.ndarray:
    """Find the rows of a pair among the words of one of its models, both in order."""
    longest = int(words.word.max(initial=0)) + 1
    there, sought = (part.sentence * longest + part.word for part in (words, paired))
    return np.searchsorted(there, sought)


def _window(
    embeddings: np.ndarray, sentence: np.ndarray, word: np.ndarray
) -> tuple[np.ndarray, dict[str, tuple[int, ...]]]:
    """Make the widest window, and say how many of its columns each method may read. A neighbour
    weighs `FADE` times as much as the word one place nearer."""
    width = embeddings.shape[1]
    window = static_window(embeddings, sentence, word, max(REACHES))
    fading = np.repeat([FADE ** abs(place) for place in places_in(max(REACHES))], width)
    near = tuple((2 * reach + 1) * width for reach in REACHES)
    return window * fading.astype(np.float32), {"static-word": (width,), "static-window": near}


def _fit(
    states: np.ndarray,
    window: np.ndarray,
    columns: dict[str, tuple[int, ...]],
    y: np.ndarray,
    parts: Parts,
    methods: tuple[str, ...],
    seed: int,
) -> Value:
    """Fit each method in one direction, scored as every other map."""
    judge, train, held = Judge(y, parts), parts.train, parts.validation
    value: Value = {"target_points": judge.points(y[:, judge.shown])}
    for number, name in enumerate(methods):
        tick(number / len(methods), METHODS[name].label)
        with span(number / len(methods), (number + 1) / len(methods)):
            if name not in columns:
                value |= _beside(name, states, window, y, parts, seed)
                continue

            def same(rows: np.ndarray) -> np.ndarray:  # at every layer, in the memory of one
                return np.broadcast_to(window[rows], (len(y), len(rows), window.shape[1]))

            aligner = StaticKernel(columns[name], seed)
            aligner.fit(same(train), y[:, train], (same(held), y[:, held]))
            value |= judge.scores(name, aligner, same)
            words = aligner.read * len(places_in(max(REACHES))) // window.shape[1]
            value[f"{name}/reach"] = words // 2
    return value


def _beside(
    name: str, states: np.ndarray, window: np.ndarray, y: np.ndarray, parts: Parts, seed: int
) -> Value:
    """Fit the method that reads each layer's state and the window, a few layers at a time."""
    train, held = parts.train, parts.validation
    near = near_columns(window, train, states.shape[-1])
    fits = []
    groups = layer_groups(len(y), 2 * states[:1].nbytes)
    for number, group in enumerate(groups):
        given, targets = beside(states[group], near, train), y[group]
        aligner = KernelRidge(seed)
        with span(number / len(groups), (number + 1) / len(groups)):
            aligner.fit(given[:, train], targets[:, train], (given[:, held], targets[:, held]))
            judge = Judge(targets, parts)
            fits.append(judge.scores(name, aligner, given))
    reach = {f"{name}/reach": np.full(len(y), max(REACHES))}
    return by_layer(fits, directed=False) | reach
