"""What the weights study is asked for: one line per option, for the form, the command line and the link."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.errors import SpecError
from core.options import Spec
from core.weights.clusters.members import EVERY, MOST_MODELS
from core.weights.clusters.tasks import KEPT_RANKS
from core.weights.vectors import clustering
from core.weights.vectors import projections as maps
from core.weights.vectors.registry import VECTORS

BY = {
    "task": "what it was fine-tuned for",
    "data": "the data set",
    "base": "the model that it started from",
    "table": "a column of a table of yours",
}
OF = {"delta": "fine-tuned minus base", "weights": "the weights themselves", "both": "one beside the other"}
UPLOAD = "upload:"  # before the name of a label table that came with the request


@dataclass(frozen=True)
class WeightsSpec(Spec):
    """One study: the fine-tunes of a base, by what changed in their weights."""

    display_only = ("map",)

    base: str = options.model("Base model", "zoo:seed-0", help="The model that the fine-tunes started from.")
    models: tuple[str, ...] = options.models(
        "Fine-tunes",
        (EVERY,),
        most=MOST_MODELS,
        patterns=True,
        said=" and its fine-tunes {}",
        help=f"{EVERY} is every fine-tune in the box that started from the base and was trained like the others; "
        "path:/runs/* is every model in a folder.",
    )
    tree: int = options.whole(
        "Fine-tunes of the hub",
        0,
        low=0,
        high=MOST_MODELS,
        shown=False,
        help="Add the first so many fine-tunes that the hub lists of a hub: base, in place of the box's.",
    )
    vector: str = options.choice(
        "Vector",
        "projector",
        lambda: {name: vector.title for name, vector in VECTORS.items()},
        titled=True,
        said="; {}",
        help="How a fine-tune becomes a vector.",
    )
    rank: int = options.whole(
        "Rank",
        8,
        low=1,
        high=KEPT_RANKS[-1],
        said=" of rank {}",
        help="Leading directions of projectors, factors and the original vector.",
    )
    families: tuple[str, ...] = options.words(
        "Families", help="Families of matrices to keep, such as query, ff1 or decoder key; all where empty."
    )
    label: str = options.choice("Label by", "task", BY, said="; label: {}", help="What neighbours are to share.")
    labels: str = options.line(
        "Label table",
        shown=False,
        help="A CSV or TSV file with a column `model`: labels from one of its other columns.",
    )
    column: str = options.line("Label column", shown=False, help="Column of the label table; its first where empty.")
    neighbours: int = options.whole(
        "Neighbours", 0, low=0, high=MOST_MODELS, help="Nearest neighbours, k; 0 is the smallest group less one."
    )
    method: str = options.choice("Clusters", "agglomerative", clustering.METHODS, help="How clusters are found.")
    clusters: int = options.whole(
        "How many clusters",
        0,
        low=0,
        high=MOST_MODELS,
        help="Clusters that the tree is cut into; 0 for as many as labels.",
    )
    map: str = options.choice(
        "Map", "pca", maps.METHODS, titled=True, shown=False, help="How models are placed in the plane."
    )
    of: str = options.choice("Ranks of", "delta", OF, help="Whose singular values are counted.")
    threshold: float = options.number(
        "Energy threshold", 0.9, low=0.5, high=0.9999, shown=False, help="Share of the energy at which ranks are read."
    )
    permutations: int = options.whole(
        "Permutations", 10_000, low=100, high=100_000, help="Permutations of the labels behind each p-value."
    )
    own_bases: bool = options.flag(
        "Models of another base", False, help="Keep fine-tunes of another base, each compared with its own."
    )
    seed: int = options.seed("Seed of permutations, sketches and maps.")

    def check(self) -> None:
        if self.label == "table" and not self.labels:
            raise SpecError("Labels from a table need a table; upload one, or label by task.")
        if self.tree and not self.base.startswith("hub:"):
            raise SpecError(f"tree lists the fine-tunes of a hub model, and {self.base} is none; name a hub: base.")

    @property
    def label_by(self) -> str:
        """What models are labelled by: a table of one's own, where there is one."""
        return "table" if self.labels else self.label
