"""Sentences with labelled trees as polar probes see them, and control labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from core.maths.angular.arcs import Edges
from core.models import load_tokenizer
from core.studies.probes.edges.items import Items, Tags, drawn_controls, edge_items, numbered
from core.studies.probes.trees.data import Trees

Sizes = tuple[int, int, int]
TARGET = "label"  # of edge probes, whose labels these are


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
    sizes: Sizes
    items: Items
    classes: tuple[str, ...]
    targets: np.ndarray

    @classmethod
    def of(cls, trees: Trees, labels: Tags, sizes: Sizes) -> LabelledTrees:
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
    def edges(self) -> Edges:
        """The edges with numbered labels."""
        return Edges(self.items.sentence, self.items.head, self.items.word, self.targets)
