"""The result of a study of polar probes: scores, and trained probes that draw any sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from core.errors import SpecError
from core.maths.angular.arcs import label_links
from core.maths.arrays import Value
from core.maths.structural.bands import ProbeScores, Sample
from core.maths.structural.predict import (
    SentenceView,
    predicted_tree,
    project_sentences,
    view_sentence,
)
from core.maths.structural.scores import candidates
from core.maths.trees import spanning_tree
from core.studies.probes.trees.data import Tree
from core.studies.probes.trees.result import LayerProbes, TrainedResult

SCORES = ("model", "layer", "labels", "metric", "value", "low", "high", "dev", "probes", "sd")
LAS, UAS, UUAS, LABEL, DIRECTION = METRICS = ("las", "uas", "uuas", "label", "direction")
COUNTS = {LAS: "labelled", UAS: "directed", UUAS: "hits", LABEL: "named", DIRECTION: "oriented"}


@dataclass(frozen=True)
class PolarProbes(LayerProbes):
    """One model's polar probes.

    Attributes:
        maps: (layer, rank, d_model).
        means: Direction of each label, (layer, label, rank).
        classes: The labels.
    """

    maps: np.ndarray
    means: np.ndarray
    classes: tuple[str, ...]


@dataclass(frozen=True)
class PolarResult(TrainedResult):
    """A result with its trained polar probes by model reference."""

    metric: ClassVar = LAS
    probes: Mapping[str, PolarProbes] = field(default_factory=dict)

    def draw(self, model: str, layer: int, tree: Tree, vectors: np.ndarray) -> SentenceView:
        """See `TrainedResult.draw`: a directed tree with labels."""
        probes = self.probes.get(model)
        if probes is None or layer not in probes.layers:
            raise SpecError(
                f"No polar probe was trained on layer {layer} of {model} in this study. "
                "Choose another layer."
            )
        place, lengths = probes.layers.index(layer), np.array([len(tree.words)])
        read, keep = probes.read(place, vectors), np.array(tree.keep)
        view = view_sentence(tree.words, tree.heads, keep, read[:, 0], probes.maps[place], None)
        words = project_sentences(probes.maps[[place]], read, lengths, [0])[0][0]
        links = spanning_tree(view.distances, keep)
        heads, dependents, labels = label_links(
            np.array(links, dtype=np.int64).reshape(-1, 2), words, probes.means[place]
        )
        under = set(dependents.tolist())
        root = next((int(word) for word in heads if int(word) not in under), -1)
        if root < 0:  # a sentence of one word has no edge
            root = int(np.flatnonzero(candidates(keep))[0])
        names = ["_"] * len(tree.words)
        names[root] = "root"
        for dependent, label in zip(dependents.tolist(), labels.tolist(), strict=True):
            names[dependent] = probes.classes[label]
        gold = tree.labels or ("_",) * len(tree.words)
        return replace(
            view,
            predicted_heads=predicted_tree(view.distances, keep, root),
            labels=tuple(names),
            gold_labels=tuple(label.partition(":")[0] for label in gold),
        )


def polar_groups(value: Value, sample: Sample, *, control: bool = False) -> dict[str, ProbeScores]:
    """Scores by metric in percent, of those that a task's output holds; with `control`, of probes
    on control labels."""
    layers = np.asarray(value["layers"])[np.asarray(value["draws"]) == 0].tolist()
    by_layer = len(layers), -1
    dev = 100.0 * np.asarray(value.get("dev", np.full(len(layers), np.nan)), np.float64)
    dev = dev.reshape(by_layer).mean(axis=1)
    groups = {}
    for metric, name in COUNTS.items():
        if name in value:
            parts = np.asarray(value[name])
            parts = parts.reshape(*by_layer, parts.shape[-1])
            group = ProbeScores.of_shares(parts, value["edges"], sample, layers, dev)
            groups[metric] = group.pooled(shared=control)
    return groups


def polar_probes(value: Value) -> PolarProbes:
    """Make probes of a training task's output."""
    return PolarProbes.of(
        value,
        maps=np.asarray(value["probe_maps"]),
        means=np.asarray(value["label_maps"]),
        classes=tuple(str(label) for label in value["classes"]),
    )
