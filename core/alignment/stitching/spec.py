"""Stitching's options, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.alignment.seeds.spec import methods_option

DEFAULT = ("identity", "shuffled", "lookup", "procrustes", "ols", "ridge", "cca", "inn")


@dataclass(frozen=True)
class StitchSpec(options.Spec):
    """Stitching: models with one task's head, every ordered pair, and each stitched into itself as a check."""

    models: tuple[str, ...] = options.models(
        "Models with one task's head",
        ("zoo:sentiment-0", "zoo:sentiment-0-from-seed-1"),
        least=2,
        most=25,
        help="Two or more, with the same classes. Each is stitched into each at every layer.",
    )
    methods: tuple[str, ...] = methods_option(DEFAULT, "How the lower model's states are mapped into the upper one's.")
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(250)
    labelled: str = options.line(
        "Labelled sentences",
        help="A file of lines `label<TAB>sentence`; the box's own sentiment sentences where empty.",
        shown=False,
    )
    draws: int = options.whole(
        "Bootstrap draws", 500, low=20, high=10_000, help="Resamples of labelled sentences behind each band."
    )
    seed: int = options.seed("Seed of the split, the networks and the draws.")
