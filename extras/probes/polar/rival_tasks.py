"""The pure tasks of the baselines of polar probes: window, positions, linear chain, parser.

Their values are those of `polar.tasks` without maps, for one layer numbered 0, the rank lowered to
the width of what is read; of the window also the `reach` (layer,).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from core.maths.angular.arcs import SCORED
from core.maths.structural.positions import SIZE, position_code, with_positions
from core.studies.probes.costs import USED, WINDOW_WORDS
from core.studies.probes.edges.items import Tags, edge_items
from core.studies.probes.trees.data import PartSizes, Trees
from core.studies.probes.trees.rival_tasks import BASELINES, parser_cost, score_best_window
from core.studies.probes.trees.tasks import without_maps
from core.studies.task_kit import Cost, Size, Value, as_identified, pure, tick
from extras.probes.polar.tasks import (
    TARGET,
    LabelledTrees,
    PolarRegime,
    arcs,
    train_and_score,
)


def _cost(
    models: Mapping[str, Size], /, model: str, trees: Trees, how: PolarRegime, exact: bool = True,
    **_: Any,
) -> Cost:  # fmt: skip
    """Estimate a probe on the window of each reach, and all draws on one of them."""
    wide = (*WINDOW_WORDS, *[USED] * how.draws)
    widths = [words * models[model].d_model for words in wide]
    seconds = sum(arcs(how, width, trees, draws=1, exact=exact) for width in widths)
    return Cost(seconds)


@pure("probes.polar_window", version=2, guard=as_identified, cost=_cost)
def score_window(
    model: str,
    model_identity: str,
    trees: Trees,
    labels: Tags,
    sizes: PartSizes,
    position: bool,
    how: PolarRegime,
    exact: bool = True,
) -> Value:
    """Train polar probes on the model's static window, of the reach that is best on the development
    sentences: the score that no layer is needed for. Raises ModelError if the model cannot be
    loaded."""
    labelled = LabelledTrees.of(trees, labels, sizes)

    def trained(vectors: np.ndarray, draws: int) -> Value:
        if position:
            vectors, _, _ = with_positions(vectors, trees.lengths, sizes[0])
        return train_and_score(vectors, (0,), labelled, replace(how, draws=draws), exact)

    return score_best_window(
        model, trees, trained, how.draws, lambda scored: float(np.mean(scored["dev"]))
    )


@pure(
    "probes.polar_positions",
    cost=lambda models, /, trees, how, **_: Cost(arcs(how, SIZE, trees)),
)
def score_positions(trees: Trees, labels: Tags, sizes: PartSizes, how: PolarRegime) -> Value:
    """Train polar probes on position codes alone: the score that word order reaches."""
    labelled = LabelledTrees.of(trees, labels, sizes)
    vectors = position_code(trees.lengths)[:, None]
    return without_maps(train_and_score(vectors, (0,), labelled, how))


@pure("probes.polar_chain", cost=lambda models, /, **_: Cost(BASELINES))
def score_chain(trees: Trees, labels: Tags, sizes: PartSizes) -> Value:
    """Score the linear chain: given both words of an edge, its head is the side that is most
    frequent in training, and its label the most frequent one on the true side."""
    labelled = LabelledTrees.of(trees, labels, sizes)
    tick(0.1, "baselines")
    items, numbers = labelled.items, labelled.targets[0]
    before = items.head < items.word  # the head stands before the dependent
    places = [np.cumsum(row) for row in trees.keep]  # of a kept word among the kept ones
    apart = np.array(
        [
            abs(int(places[s][head]) - int(places[s][word]))
            for s, head, word in zip(items.sentence, items.head, items.word, strict=True)
        ]
    )
    training = items.sentence < sizes[0]
    pairs = list(zip(before.tolist(), numbers.tolist(), strict=True))
    near = Counter(pair for pair, used in zip(pairs, training & (apart == 1), strict=True) if used)
    side, label = near.most_common(1)[0][0] if near else (True, 0)
    named = {
        way: Counter(numbers[training & (before == way)].tolist()).most_common(1)
        for way in (True, False)
    }
    usual = {way: most[0][0] if most else -2 for way, most in named.items()}
    oftener = bool(before[training].mean() >= 0.5)
    right = {
        "hits": apart == 1,
        "directed": (apart == 1) & (before == side),
        "labelled": (apart == 1) & (before == side) & (numbers == label),
        "named": numbers == np.where(before, usual[True], usual[False]),
        "oriented": before == oftener,
    }
    start, total = sizes[0] + sizes[1], sum(sizes)

    def by_sentence(values: np.ndarray) -> np.ndarray:
        return np.bincount(items.sentence, weights=values, minlength=total)[start:]

    scores = {name: by_sentence(right[name]).astype(np.float32)[None] for name in SCORED}
    edges = by_sentence(np.ones(len(items))).astype(np.float32)
    return {"layers": np.zeros(1, int), "draws": np.zeros(1, int), "edges": edges, **scores}


@pure("probes.polar_parser", cost=parser_cost)
def score_parser(trees: Trees, labels: Tags, pipeline: str, pipeline_identity: str) -> Value:
    """Score a parser's labelled trees against gold ones; `named` and `oriented` are left out.
    Raises ModelError if the parser is not there."""
    from core.text.parsing import parse_sentences

    items = edge_items(TARGET, trees.heads, trees.keep, labels)
    parses = parse_sentences(trees.words, pipeline)
    right: dict[str, list[bool]] = {"hits": [], "directed": [], "labelled": []}
    for s, head, word, label in zip(
        items.sentence, items.head, items.word, items.labels, strict=True
    ):
        above, named = parses[s].heads, parses[s].deprel[word].partition(":")[0]
        directed = above[word] == head + 1
        right["directed"].append(directed)
        right["hits"].append(directed or above[head] == word + 1)
        right["labelled"].append(directed and named == label)
    counts = {
        name: np.bincount(items.sentence, weights=values, minlength=len(parses)).astype(np.float32)
        for name, values in {**right, "edges": [True] * len(items)}.items()
    }
    edges = counts.pop("edges")
    scores = {name: values[None] for name, values in counts.items()}
    return {"layers": np.zeros(1, int), "draws": np.zeros(1, int), "edges": edges, **scores}
