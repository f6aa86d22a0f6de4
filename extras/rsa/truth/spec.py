"""The benchmark's options, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.maths.similarity.registry import MEASURES
from core.studies.rsa.layers.spec import measures


@dataclass(frozen=True)
class TruthSpec(options.Spec):
    """One study: fine-tunes with frozen layers, and fine-tunes whose layers are planted into the
    base."""

    base: str = options.base()
    compare: tuple[str, ...] = options.models(
        "Frozen fine-tunes",
        (
            "zoo:sentiment-frozen-2",
            "zoo:sentiment-frozen-4",
            "zoo:parse-frozen-2",
            "zoo:parse-frozen-4",
        ),
        least=2,
        help="Fine-tunes whose lower layers were frozen, so that the changed layers are known.",
    )
    planted: tuple[str, ...] = options.models(
        "Fine-tunes to plant from",
        (
            "zoo:sentiment-0",
            "zoo:pos-0",
            "zoo:parse-0",
            "zoo:nli-0",
            "zoo:subjectivity-0",
            "zoo:question-0",
        ),
        help="A known random choice of their layers replaces layers of the base.",
    )
    plants: int = options.whole(
        "Planted models",
        10,
        low=2,
        high=50,
        help="Planted models per fine-tune, in pairs: what one takes from the fine-tune, "
        "the other leaves. More of them narrow the bands of measures on states; "
        "those of measures on outputs need more fine-tunes.",
    )
    measures: tuple[str, ...] = options.choices(
        "Measures",
        MEASURES,
        measures,
        has_titles=True,
        help="The similarity measures that are tested.",
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(100)
    words: int = options.sampled_words(
        "Words sampled from all sentences.", default=400, low=50, high=5_000
    )
    sinks: str = options.sinks()
    seed: int = options.seed("Seed of the sample and the planted layers.")
