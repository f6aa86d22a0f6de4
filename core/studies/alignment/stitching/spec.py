"""Stitching's options, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.studies.alignment.seeds.spec import MOST_MODELS, methods_option

DEFAULT = ("identity", "shuffled", "lookup", "procrustes", "ols", "ridge", "cca", "inn")


@dataclass(frozen=True)
class StitchSpec(options.Spec):
    """The options of stitching: every ordered pair of models, and each model with itself as a
    check."""

    models: tuple[str, ...] = options.models(
        "Models fine-tuned on one task",
        ("zoo:sentiment-0", "zoo:sentiment-0-from-seed-1"),
        least=2,
        most=MOST_MODELS,
        help="Two or more models with the same classes; "
        "every ordered pair is stitched at every layer.",
    )
    methods: tuple[str, ...] = methods_option(
        DEFAULT, "The maps fitted from the source's states to the target's."
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(250)
    labelled: str = options.labelled()
    draws: int = options.draws(help="Resamples of the labelled sentences for the intervals.")
    seed: int = options.seed("Seed of the split, the networks and the bootstrap.")
