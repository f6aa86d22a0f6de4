"""Options of the barrier between networks."""

from __future__ import annotations

from dataclasses import dataclass

from core import options

MOST_MODELS = 8
DECODERS = ("zoo:decoder-0", "zoo:decoder-1")  # included models whose states can be rotated


@dataclass(frozen=True)
class BarrierSpec(options.Spec):
    """Every two models are joined by a straight line between their weights."""

    models: tuple[str, ...] = options.models(
        "Models",
        ("zoo:seed-0", "zoo:seed-1", "zoo:nli-0", "zoo:parse-0"),
        least=2,
        most=MOST_MODELS,
        help="Two or more of one architecture: seeds, a base and its fine-tunes, steps of a run. "
        "Every two are joined.",
    )
    base: str = options.model(
        "Model whose head predicts",
        "zoo:seed-0",
        help="Models that have lost the head that predicts tokens, as fine-tunes have, take this "
        "model's.",
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(60)
    draws: int = options.draws(help="Resamples of the scored sentences for the intervals.")
    text: str = options.line(
        "Text that is tagged and parsed",
        "demo-gold",
        help="Text whose words are tagged and parsed where a model's head does that, "
        "such as demo-gold or a .conllu file.",
        shown=False,
    )
    labelled: str = options.labelled()
    seed: int = options.seed("Seed of the random orders and changes, and of the resamples.")
