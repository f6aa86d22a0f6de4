"""Options of the lenses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core import options

MOST_MODELS = 8
CLASSIFIERS: dict[str, Any] = {
    "base": "zoo:seed-0",
    "models": ("zoo:sentiment-0", "zoo:subjectivity-0"),
    "others": ("zoo:nli-0", "zoo:seed-1"),
}  # fine-tunes on film reviews that have lost the head that predicts tokens


@dataclass(frozen=True)
class LensSpec(options.Spec):
    """Fine-tunes, each read beside its base, and rivals whose differences are read in the same
    way."""

    base: str = options.model(
        "Base model",
        "zoo:decoder-0",
        help="The base of the models whose included card names none; its head predicts for those "
        "that have lost theirs.",
    )
    models: tuple[str, ...] = options.models(
        "Fine-tunes",
        ("zoo:review-0", "zoo:review-1", "zoo:review-2"),
        most=MOST_MODELS,
        help="Models whose change is read, each beside its own base.",
    )
    others: tuple[str, ...] = options.models(
        "Rivals",
        ("zoo:decoder-1", "zoo:nli-0"),
        least=0,
        most=MOST_MODELS,
        help="Another seed, or a fine-tune of another task: words that its difference promotes, "
        "too, say nothing of the fine-tune.",
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(120)
    labelled: str = options.line(
        "Text of the fine-tunes",
        help="A file of lines `label<TAB>sentence` like those that the models were fine-tuned on; "
        "if empty, the included sentences of film reviews are used.",
        shown=False,
    )
    sentence: str = options.line(
        "Sentence",
        "The film opens with a quiet scene and ends with a long song.",
        help="Each layer's most likely word is shown for every word of this sentence.",
    )
    seed: int = options.seed("Seed of the shuffled differences.")
