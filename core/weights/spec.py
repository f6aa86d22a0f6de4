"""What the weights study is asked for: from the page's form, the command line or a link, checked on arrival."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.errors import SpecError
from core.weights import clustering, maps
from core.weights.measuring import KEPT_RANKS
from core.weights.members import LABELS
from core.weights.vectors import VECTORS

OF = ("delta", "weights", "both")
MOST_PERMUTATIONS = 1_000_000


@dataclass(frozen=True)
class WeightsSpec:
    """What is asked for.

    Attributes:
        base: Reference of the base.
        models: References and patterns of its fine-tunes.
        vector: One of `VECTORS`.
        rank: Leading directions of `factors` and `projector`, 1 to 64.
        families: Only these families ("query", "ff1", "decoder key"); all when empty.
        label: What a model is labelled by: "task", "data", "base" or "table".
        labels: Pairs of model and label, for "table".
        neighbours: k that headline and predictions use; 0 for one less than the smallest group.
        method: Clustering, "agglomerative" or "hdbscan".
        clusters: Clusters that agglomerative clustering cuts; 0 for as many as labels.
        drawing: Map, "pca", "tsne" or "umap".
        of: Ranks of "delta", "weights" or "both".
        threshold: Energy share at which ranks are read, 0.5 to 0.9999.
        permutations: Of the labels.
        own_bases: Whether models of another base take part, each compared with its own.
        seed: Of permutations, sketches and maps.
    """

    base: str = "zoo:seed-0"
    models: tuple[str, ...] = ("zoo:*-*",)
    vector: str = "projector"
    rank: int = 8
    families: tuple[str, ...] = ()
    label: str = "task"
    labels: tuple[tuple[str, str], ...] = ()
    neighbours: int = 0
    method: str = "agglomerative"
    clusters: int = 0
    drawing: str = "pca"
    of: str = "delta"
    threshold: float = 0.9
    permutations: int = 10_000
    own_bases: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        _one_of("vector", self.vector, VECTORS)
        _one_of("label", self.label, LABELS)
        _one_of("method", self.method, clustering.METHODS)
        _one_of("drawing", self.drawing, maps.METHODS)
        _one_of("of", self.of, OF)
        _between("rank", self.rank, 1, KEPT_RANKS[-1])
        _between("threshold", self.threshold, 0.5, 0.9999)
        _between("neighbours", self.neighbours, 0, 1000)
        _between("clusters", self.clusters, 0, 1000)
        _between("permutations", self.permutations, 100, MOST_PERMUTATIONS)
        _between("seed", self.seed, 0, 2**31)
        if not self.models:
            raise SpecError("Name one fine-tune or more.")
        if self.label == "table" and not self.labels:
            raise SpecError("Labels from a table need a table; upload one, or label by task.")


def _one_of(name: str, value: str, options: Iterable[str]) -> None:
    if value not in options:
        raise SpecError(f"{name} must be one of {', '.join(options)}, got {value!r}.")


def _between(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise SpecError(f"{name} must lie between {low} and {high}, got {value}.")
