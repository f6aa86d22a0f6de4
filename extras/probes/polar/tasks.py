"""The pure tasks of the study of polar probes on one model: train its probes and score them.

A value holds `layers` and `draws` (probe,); `dev` (probe,), the share of development edges whose
head and label are right; of the test sentences `edges` (sentence,) and SCORED (probe, sentence);
`notices`. On real labels also, of the first draw, `probe_maps` (layer, rank, d_model), `label_maps`
(layer, label, rank), the labels' directions, and `classes`; with position codes `centres` (layer,
d_model) and `deviations` (layer,) of the vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Any

import numpy as np

from core.maths.angular.arcs import SCORED, LabelledEdges, score_arcs
from core.maths.structural.costs import CONVERGED, training_seconds
from core.maths.structural.predict import predict_distances, project_sentences
from core.models import load_tokenizer
from core.studies.probes.edges.items import Items, Tags, drawn_controls, edge_items, numbered
from core.studies.probes.trees.data import PartSizes, Trees, gold_of
from core.studies.probes.trees.tasks import probing, read_for_probes, taking_turns, training_device
from core.studies.task_kit import Cost, Size, Value, as_identified, costs, pure, span, tick

TARGET = "label"  # of edge probes, whose labels these are
POLAR = 2.5  # training of a polar probe without its angles, over that of a distance probe
ANGLES = 2.5e-8  # processor seconds per word and rank to turn the edges
DIRECTED = 6e-5  # processor seconds per sentence of the text to direct and label predicted edges


@dataclass(frozen=True)
class LabelledTrees:
    """Sentences with labelled trees, for training, then development, then test.

    Attributes:
        trees: The sentences.
        sizes: How many of them are for training, development and test.
        items: Their labelled edges.
        classes: The labels of the training edges.
        targets: Number of each edge's label, a row for each set of labels.
    """

    trees: Trees
    sizes: PartSizes
    items: Items
    classes: tuple[str, ...]
    targets: np.ndarray

    @classmethod
    def of(cls, trees: Trees, labels: Tags, sizes: PartSizes) -> LabelledTrees:
        """Number the labels of the edges between words that are in the trees."""
        items = edge_items(TARGET, trees.heads, trees.keep, labels)
        training = int((items.sentence < sizes[0]).sum())
        classes = tuple(sorted(set(items.labels[:training])))
        return cls(trees, sizes, items, classes, numbered(items.labels, classes)[None])

    def with_controls(self, model: str, draws: int, seed: int) -> LabelledTrees:
        """Replace the labels by random ones for each type of dependent, a row for each draw."""
        forms = load_tokenizer(model).forms(self.trees.words)
        training = self.targets[0, self.items.sentence < self.sizes[0]]
        drawn = drawn_controls(forms, self.items, training, len(self.classes), TARGET, seed)
        return replace(self, targets=np.stack([*islice(drawn, draws)]))

    @property
    def edges(self) -> LabelledEdges:
        """The edges with numbered labels."""
        return LabelledEdges(self.items.sentence, self.items.head, self.items.word, self.targets)


@dataclass(frozen=True)
class PolarRegime:
    """How a task's probes are trained, in plain values.

    Attributes:
        rank: Rows of a probe's map.
        weight: Of the loss of the angles.
        draws: Probes of each layer: with different initial maps and orders of sentences, and on
            control labels each on its own set of them.
        seed: Of maps, the order of sentences and the control labels.
        epochs: Most epochs.
        control: Whether the labels are draws of control labels.
    """

    rank: int
    weight: float
    draws: int
    seed: int
    epochs: int
    control: bool = False


def arcs(
    how: PolarRegime, width: int, trees: Trees, *, draws: int | None = None, exact: bool = True
) -> float:
    """Estimate the processor seconds of training polar probes and directing the test edges."""
    words, rank = costs.WORDS * len(trees.words), min(how.rank, width)
    bank = POLAR * training_seconds(("distance",), rank, width, words, how.epochs, exact)
    angles = ANGLES * min(how.epochs, CONVERGED) * words * rank
    return (draws or how.draws) * (bank + angles + DIRECTED * len(trees.words))


def _cost(
    models: Mapping[str, Size], /, model: str, trees: Trees, layers: Sequence[int],
    how: PolarRegime, exact: bool = True, **_: Any,
) -> Cost:  # fmt: skip
    seconds = len(layers) * arcs(how, models[model].d_model, trees, exact=exact)
    return Cost(seconds, shared=probing(models, model, trees, len(layers)))


@pure("probes.polar", guard=as_identified, cost=_cost)
def train_polar(
    model: str,
    model_identity: str,
    trees: Trees,
    labels: Tags,
    sizes: PartSizes,
    layers: tuple[int, ...],
    position: bool,
    how: PolarRegime,
    exact: bool = True,
) -> Value:
    """Train the polar probes of one model and score them on the test sentences. Raises ModelError
    if the model cannot be loaded, SpecError if it has no such layer or fewer dimensions than the
    rank."""
    labelled = LabelledTrees.of(trees, labels, sizes)
    if how.control:
        labelled = labelled.with_controls(model, how.draws, how.seed)
    with span(0.0, 0.2):
        vectors, value = read_for_probes(model, trees, layers, sizes, position, how.control)
    with taking_turns(vectors.nbytes), span(0.2, 1.0):
        return value | train_and_score(vectors, layers, labelled, how, exact)


def train_and_score(
    vectors: np.ndarray,
    layers: tuple[int, ...],
    labelled: LabelledTrees,
    how: PolarRegime,
    exact: bool = True,
) -> Value:
    """Train the probes on the training vectors and score them on the others; see `train_polar`."""
    import torch

    from core.maths.angular.training import EdgeData, train_polar_bank
    from core.maths.structural.training import Probe

    ends = [0, *np.cumsum(labelled.sizes).tolist()]
    cuts = np.concatenate([[0], np.cumsum(labelled.trees.lengths)])[ends]
    read = [vectors[start:end] for start, end in pairwise(cuts)]
    parts = [labelled.edges.part(start, end) for start, end in pairwise(ends)]
    gold = gold_of(labelled.trees.rows)
    rank = min(how.rank, vectors.shape[-1])
    probes = [
        Probe(layer, rank, draw, draw if how.control else 0)
        for layer in layers
        for draw in range(how.draws)
    ]
    train, dev = (
        EdgeData(
            torch.from_numpy(read[part]),
            [row[None] for row in gold.distances[ends[part] : ends[part + 1]]],
            parts[part],
            len(labelled.classes),
        )
        for part in (0, 1)
    )
    with span(0.0, 0.9):
        bank, means = train_polar_bank(
            train, dev, probes, weight=how.weight, layers=layers, seed=how.seed,
            epochs=how.epochs, exact=exact,
            device=training_device(), report=tick,
        )  # fmt: skip
    rows, targets = [layers.index(probe.layer) for probe in probes], [p.target for p in probes]
    scores = []
    for part in (1, 2):
        held = gold.part(ends[part], ends[part + 1])
        distances = predict_distances(bank.maps, read[part], held.lengths, rows)
        words = project_sentences(bank.maps, read[part], held.lengths, rows)
        scores.append(score_arcs(distances, words, means, targets, parts[part], held.keep))
    value: Value = {
        "layers": np.array([probe.layer for probe in probes]),
        "draws": np.array([probe.draw for probe in probes]),
        "dev": scores[0].labelled.sum(axis=1) / max(scores[0].edges.sum(), 1.0),
        **{name: getattr(scores[1], name).astype(np.float32) for name in ("edges", *SCORED)},
    }
    if not how.control:
        first = [place for place, probe in enumerate(probes) if probe.draw == 0]
        value |= {"probe_maps": bank.maps[first], "label_maps": means[first]}
        value |= {"classes": list(labelled.classes)}
    return value
