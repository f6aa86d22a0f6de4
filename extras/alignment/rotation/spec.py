"""Options of the test of rotations."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.studies.alignment.seeds.spec import check_rows, items_option, models_option, split_option


@dataclass(frozen=True)
class RotationSpec(options.Spec):
    """Which models are compared, on which rows, and how many planted rotations they are compared
    with."""

    models: tuple[str, ...] = models_option(
        "Two or more models of one width; every pair is compared in both directions."
    )
    draws: int = options.whole(
        "Planted rotations",
        10,
        low=2,
        high=200,
        help="Rotations with noise that the same maps are fitted to; more narrow the grey band.",
    )
    split: str = split_option()
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(250)
    items: str = items_option()
    sinks: str = options.sinks()
    seed: int = options.seed("Seed of the split and of the planted rotations.")

    def check(self) -> None:
        check_rows(self.items, self.split)
