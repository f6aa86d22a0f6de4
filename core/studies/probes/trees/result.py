"""The result of a probe study: tables, trained probes that can be applied to any sentence, and the
predicted trees of the test sentences as CoNLL-U.

Reference: https://universaldependencies.org/format.html. Deviations: predicted trees have no labels
(_).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from core.errors import SpecError
from core.maths.structural.positions import beside_positions
from core.maths.structural.predict import SentenceView, view_sentence
from core.studies.kit import Result, Value
from core.studies.probes.trees.data import Tree
from core.studies.probes.trees.tables import best_row


@dataclass(frozen=True)
class LayerProbes:
    """One model's trained probes, the first of each layer.

    Attributes:
        layers: Layer of each probe.
        uuas: Share of edges predicted, (layer, sentence), NaN where a sentence has none; None
            without distances.
        centres: Mean of each layer's vectors, (layer, d_model), where position codes are appended;
            else None.
        deviations: Mean absolute deviation of each layer's vectors, (layer,); None where `centres`
            is.
    """

    layers: tuple[int, ...]
    uuas: np.ndarray | None
    centres: np.ndarray | None
    deviations: np.ndarray | None

    @classmethod
    def of(cls, value: Value, **more: Any) -> Self:
        """Make probes of a training task's output, and of what else they have."""
        first, uuas = np.flatnonzero(np.asarray(value["draws"]) == 0), None
        if "hits" in value:
            hits = np.asarray(value["hits"])[first]
            edges = np.asarray(value["edges"], dtype=np.float64)
            uuas = np.divide(hits, edges, out=np.full(hits.shape, np.nan), where=edges > 0)
        layers = tuple(int(layer) for layer in np.asarray(value["layers"])[first])
        return cls(layers, uuas, value.get("centres"), value.get("deviations"), **more)

    def read(self, place: int, vectors: np.ndarray) -> np.ndarray:
        """Take what the probe at a place among the layers reads of a sentence, (word, 1, feature),
        from its words' vectors (word, layer, d_model)."""
        read = vectors[:, [place]]
        if self.centres is None or self.deviations is None:
            return read
        spread = self.centres[[place]], self.deviations[[place]]
        return beside_positions(read, np.array([len(read)]), *spread)


@dataclass(frozen=True)
class ModelProbes(LayerProbes):
    """One model's structural probes, and their test predictions.

    Attributes:
        distance_maps: (layer, rank, d_model); None where no distance probe was trained.
        depth_maps: The same for depth.
        heads: Predicted heads, (layer, word), test sentences one after another; None unless both
            were trained.
    """

    distance_maps: np.ndarray | None
    depth_maps: np.ndarray | None
    heads: np.ndarray | None


@dataclass(frozen=True)
class TrainedResult(Result, ABC):
    """A result whose probes can be applied to sentences.

    Attributes:
        test: The test sentences, in the order of the probes' `uuas`.
        parsed: Whether their trees are a parser's.
        pipeline: The parser for typed sentences.
    """

    metric: ClassVar = "uuas"  # that chooses a best layer
    test: tuple[Tree, ...] = ()
    parsed: bool = False
    pipeline: str = "box"
    probes: Mapping[str, LayerProbes] = field(default_factory=dict)

    def best_layer(self, model: str) -> int:
        """Return the layer at which a model scores highest on the development sentences, in the
        main metric."""
        best = best_row(self.table, model, self.metric)
        return self.probes[model].layers[0] if best is None else int(best["layer"])

    @abstractmethod
    def draw(self, model: str, layer: int, tree: Tree, vectors: np.ndarray) -> SentenceView:
        """Apply the probes of one layer to one sentence, with its words' vectors (word, layer,
        d_model). Raises SpecError if the study has no such probe for that model and layer."""


@dataclass(frozen=True)
class ProbeResult(TrainedResult):
    """A result with its trained structural probes by model reference."""

    probes: Mapping[str, ModelProbes] = field(default_factory=dict)

    def draw(self, model: str, layer: int, tree: Tree, vectors: np.ndarray) -> SentenceView:
        """See `TrainedResult.draw`; needs a distance probe."""
        probes = self.probes.get(model)
        if probes is None or probes.distance_maps is None or layer not in probes.layers:
            raise SpecError(
                f"No distance probe was trained on layer {layer} of {model} in this study. "
                "Choose another layer, or add distance to probes."
            )
        place = probes.layers.index(layer)
        read = probes.read(place, vectors)
        depth = None if probes.depth_maps is None else probes.depth_maps[place]
        distance = probes.distance_maps[place]
        return view_sentence(
            tree.words, tree.heads, np.array(tree.keep), read[:, 0], distance, depth
        )


def model_probes(value: Value) -> ModelProbes:
    """Make probes of a training task's output."""
    names = ("distance_maps", "depth_maps", "heads")
    return ModelProbes.of(value, **{name: value.get(name) for name in names})


def extra_files(result: ProbeResult) -> dict[str, bytes]:
    """The files that a study writes beside tables and figures: the predicted trees."""
    trees = predicted_conllu(result)
    return {"predicted.conllu": trees} if trees else {}


def predicted_conllu(result: ProbeResult) -> bytes:
    """Predicted heads of the test sentences, each model at its best layer, as CoNLL-U with heads
    alone; empty unless distance and depth probes were both trained."""
    lines: list[str] = []
    starts = np.concatenate([[0], np.cumsum([len(tree.words) for tree in result.test])])
    for model, probes in result.probes.items():
        if probes.heads is None:
            continue
        layer = result.best_layer(model)
        rows = probes.heads[probes.layers.index(layer)]
        for number, tree in enumerate(result.test):
            comments = {"sent_id": f"{model}/{number + 1}", "model": model, "layer": str(layer)}
            lines += conllu_block(tree.words, rows[starts[number] : starts[number + 1]], comments)
    return "\n".join(lines).encode("utf8", "replace")


def conllu_block(
    words: Sequence[str],
    heads: Iterable[int],
    comments: dict[str, str],
    labels: Sequence[str] = (),
) -> list[str]:
    """One sentence as lines of CoNLL-U, with the empty line that ends it."""
    head = [f"# {name} = {' '.join(value.split())}" for name, value in comments.items()]
    head.append(f"# text = {' '.join(' '.join(words).split())}")
    rows = [
        "\t".join(
            [
                str(i),
                " ".join(word.split()) or "_",  # white space would end the column
                "_",
                "_",
                "_",
                "_",
                str(int(parent)),
                "root" if parent == 0 else labels[i - 1] if labels else "_",
                "_",
                "_",
            ]
        )
        for i, (word, parent) in enumerate(zip(words, heads, strict=True), start=1)
    ]
    return [*head, *rows, ""]
