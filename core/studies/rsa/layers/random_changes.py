"""How far a layer's output moves, compared with random changes of equal spectrum.

Some layers are more sensitive than others: any change of their weights moves their output further.
So the distance of a layer's output from the base's (1 - similarity) is divided by the same distance
after the model's own weight change was rotated at random, which keeps its singular values.

Reference: none. Deviations: none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.maths.similarity.costs import scoring
from core.maths.similarity.registry import get_measure
from core.maths.similarity.scoring import JACKKNIFE_GROUPS, distance_ratios
from core.maths.statistics import sentence_labels
from core.studies.rsa.layers.tasks import Settings, compare_cost
from core.studies.task_kit import Cost, Size, Value, as_identified, costs, pure, span, tick
from core.vectors.pairs import Items, extract_pair

PART = "random"  # part of a task's role: outputs after random changes
TURNS = 3  # random changes of a model
ROTATED = 0.2  # processor seconds of a random change, whatever the width
MOST_SENTENCES = 100  # on which their outputs are compared
FloatArray = NDArray[np.float64]
RANDOM = (
    "Layers differ in how far any change of their weights moves their output. "
    "So the distance of each output from the base's (1 - similarity) "
    "was divided by the same distance after the model's own weight change was rotated at random, "
    f"which keeps its singular values (geometric mean of {TURNS} rotations, "
    f"up to {MOST_SENTENCES} sentences); bands are over sentences and rotations. An output moved "
    "further than at random if its band, corrected for the layers (Bonferroni), lies above 1."
)


def _cost(
    sizes: Mapping[str, Size], base: str, other: str, items: Items, how: Settings, **_: Any
) -> Cost:
    sentences = len(items.sentences)
    few = min(sentences, MOST_SENTENCES)
    width, states = costs.shape_of(sizes, base, other)
    scored = scoring(
        how.measure, how.kernel, how.comparison, items.count * few / sentences, width, few
    )
    read = 2 * costs.vectors(sizes[other], few) + ROTATED + costs.turning(sizes[other])
    return replace(
        compare_cost(sizes, base, other, items, how),
        seconds=TURNS * read + (TURNS + 1) * states * scored,
        store=costs.stored(sizes[other], TURNS * few),
    )


@pure("rsa.random_functions", guard=as_identified, cost=_cost)
def compare_random(
    base: str,
    other: str,
    base_identity: str,
    other_identity: str,
    items: Items,
    how: Settings,
    share: float,
    seed: int,
    sinks: str = "",
) -> Value:
    """Compare how far a model moves each layer's output with how far random changes of equal
    spectrum do: `random_similarity`, their mean, `ratio`, `low` and `high` of `distance_ratios`,
    each (layer,). Arguments and errors as for `tasks.compare_functions`."""
    few = replace(
        items, sentences=items.sentences[:MOST_SENTENCES], kept=items.kept[:MOST_SENTENCES]
    )
    pairs = []
    for number, turn in enumerate((None, *(seed + turn for turn in range(TURNS)))):
        with span(0.8 * number / (TURNS + 1), 0.8 * (number + 1) / (TURNS + 1)):
            pairs.append(
                extract_pair(base, other, few, share=share, functions=True, turn=turn, sinks=sinks)
            )
    real, measure = pairs[0], get_measure(how.measure, how.options)
    values = np.zeros((TURNS + 1, len(real.base)))
    replicates = []
    for layer in range(len(real.base)):
        tick(0.8 + 0.2 * layer / len(real.base), f"layer {layer} and random changes")
        kept = how.compared_items(*how.prepared(real.base[layer], real.compared[layer]))
        sentence = real.sentence[kept]
        several = sentence_labels(sentence)[1] > 1
        left_out: list[FloatArray] = []
        for turn, pair in enumerate(pairs):
            x, y = (part[kept] for part in how.prepared(pair.base[layer], pair.compared[layer]))
            values[turn, layer] = measure.similarity(x, y)
            drawn = np.random.default_rng(seed)  # the same groups for all
            left_out.append(
                measure.replicates(x, y, sentence, JACKKNIFE_GROUPS, drawn)
                if several
                else np.zeros(0)
            )
        replicates.append(1.0 - np.stack(left_out))
    ratio, low, high = distance_ratios(1.0 - values.T, replicates)
    return {
        "random_similarity": values[1:].mean(0), "ratio": ratio, "low": low, "high": high,
        "notices": list(real.notices),
    }  # fmt: skip
