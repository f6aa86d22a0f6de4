"""Labelled edges of sentences as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

SHORTEST = 1e-6
"""Length of an edge below which it has no direction, as between two equal vectors."""


@dataclass(frozen=True)
class Edges:
    """Labelled edges of sentences, in the order of the sentences.

    Attributes:
        sentence: Number of the sentence.
        head: Place of the head in the sentence, from 0.
        dependent: Place of the dependent.
        labels: Number of the label; -1 for a label that no training edge has. One row for each set
            of labels.
    """

    sentence: Int[np.ndarray, " edge"]
    head: Int[np.ndarray, " edge"]
    dependent: Int[np.ndarray, " edge"]
    labels: Int[np.ndarray, "target edge"]

    def part(self, start: int, stop: int) -> Edges:
        """The edges of the sentences from `start` up to `stop`, which are numbered from 0."""
        rows = (self.sentence >= start) & (self.sentence < stop)
        places = (self.sentence[rows] - start, self.head[rows], self.dependent[rows])
        return Edges(*places, self.labels[:, rows])
