"""Options of the weights study: one line each, for the form, the command line and the link."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from core import options
from core.errors import SpecError
from core.maths.spectra import clustering
from core.maths.spectra import projections as maps
from core.options import Spec
from core.studies.weights.activations import SENTENCES, STATE_VECTORS, every_vector
from core.studies.weights.clusters.members import EVERY, MOST_MODELS
from core.studies.weights.clusters.tasks import KEPT_RANKS

BY = {
    "task": "the task that it was fine-tuned for",
    "data": "the data set",
    "base": "the model that it was fine-tuned from",
    "table": "a column of your own table",
}
OF = {
    "delta": "the update: fine-tuned minus base",
    "weights": "the weights themselves",
    "both": "both, side by side",
}
UPLOAD = "upload:"  # prefix of an uploaded label table's name

families_option = partial(
    options.words,
    "Families",
    help="Matrix families to include, such as query, ff1 or decoder key; leave empty for all.",
)


@dataclass(frozen=True)
class WeightsSpec(Spec):
    """Which fine-tunes of which base are compared, and by which vector of their weight updates."""

    display_only = ("map",)

    base: str = options.base()
    models: tuple[str, ...] = options.models(
        "Fine-tunes",
        (EVERY,),
        most=MOST_MODELS,
        patterns=True,
        phrase=" and its fine-tunes {}",
        help="The fine-tunes or LoRA adapters whose weights are compared; "
        f"{EVERY} stands for all included fine-tunes of the base with common settings, "
        "path:/runs/* for all models in a folder.",
    )
    tree: int = options.whole(
        "Fine-tunes from the Hub",
        0,
        low=0,
        high=MOST_MODELS,
        shown=False,
        help="Adds as many fine-tunes of the base from the Hub's list of them; "
        "the base has to be a hub: model.",
    )
    vector: str = options.choice(
        "Vector",
        "projector",
        lambda: {name: vector.title for name, vector in every_vector().items()},
        has_titles=True,
        phrase="; {}",
        help="What is compared of two updates: directions, sizes, or both; "
        "delta activations run every model.",
    )
    rank: int = options.whole(
        "Rank",
        8,
        low=1,
        high=KEPT_RANKS[-1],
        phrase=" of rank {}",
        help="Leading directions used by projectors, factors and the original vector.",
    )
    families: tuple[str, ...] = families_option()
    label: str = options.choice(
        "Label by",
        "task",
        BY,
        phrase="; label: {}",
        help="The label that neighbours are tested to have in common.",
        defines=True,
    )
    labels: str = options.line(
        "Label table",
        shown=False,
        help="A CSV or TSV file with a column `model` and columns of labels.",
        defines=True,
    )
    column: str = options.line(
        "Label column",
        shown=False,
        help="Column of the label table; leave empty for the first.",
        defines=True,
    )
    neighbours: int = options.whole(
        "Neighbours",
        0,
        low=0,
        high=MOST_MODELS,
        help="Nearest neighbours k per model; 0 sets it to the size of the smallest group minus 1.",
    )
    method: str = options.choice(
        "Clusters", "agglomerative", clustering.METHODS, help="Method that finds the clusters."
    )
    clusters: int = options.whole(
        "Number of clusters",
        0,
        low=0,
        high=MOST_MODELS,
        help="Clusters that the tree is cut into; 0 takes as many as there are labels.",
    )
    map: str = options.choice(
        "Map",
        "pca",
        maps.METHODS,
        has_titles=True,
        shown=False,
        help="Method that places the models.",
    )
    of: str = options.choice("Ranks of", "delta", OF, help="Matrices whose rank is measured.")
    threshold: float = options.number(
        "Energy threshold",
        0.9,
        low=0.5,
        high=0.9999,
        shown=False,
        help="Share of the energy that a rank must hold; a higher share gives higher ranks.",
    )
    permutations: int = options.whole(
        "Permutations",
        10_000,
        low=100,
        high=100_000,
        help="Permutations of the labels per p-value; more give smaller p-values and take longer.",
    )
    own_bases: bool = options.flag(
        "Models of another base",
        False,
        help="Include fine-tunes of other bases, each compared with its own base.",
    )
    activations: bool = options.flag(
        "Delta activations",
        False,
        help=f"Runs base and fine-tunes on {SENTENCES} included sentences and compares how their "
        "hidden states changed, too; the other vectors need no forward passes.",
    )
    seed: int = options.seed("Seed of permutations, sketches and maps.")

    def check(self) -> None:
        if self.label == "table" and not self.labels:
            raise SpecError("No label table was given; upload one, or label by task.")
        if self.tree and not self.base.startswith("hub:"):
            raise SpecError(
                f"tree lists the fine-tunes of a Hub model, but the base is {self.base}; "
                "choose a hub: base."
            )
        if self.reads_states and self.own_bases:
            raise SpecError(
                "Delta activations compare fine-tunes of one base, "
                "because hidden states of another base have other axes; "
                "switch models of another base off, or delta activations."
            )

    @property
    def reads_states(self) -> bool:
        """Whether the models are run: delta activations are asked for, or are the chosen vector."""
        return self.activations or self.vector in STATE_VECTORS

    @property
    def label_by(self) -> str:
        """What models are labelled by: the label table if there is one."""
        return "table" if self.labels else self.label
