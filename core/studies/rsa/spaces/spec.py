"""Options of the map of models."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.models.patterns import every_match

INCLUDED = (
    "zoo:seed-?",
    "zoo:seed-0@step-*",
    *("zoo:nli-0", "zoo:sentiment-0", "zoo:subjectivity-0", "zoo:question-0", "zoo:pos-0"),
    "zoo:parse-0",
)


@dataclass(frozen=True)
class SpacesSpec(options.Spec):
    """One map: models, steps of a run among them, and the words that they read."""

    models: tuple[str, ...] = options.models(
        "Models",
        INCLUDED,
        most=60,
        patterns=True,
        help="Bases, fine-tunes, seeds and steps of a run: zoo:seed-0@step-* names the steps.",
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(200)
    words: int = options.sampled_words(
        "Words sampled from all sentences; with few words for its width, every space looks alike.",
        default=1_000,
    )
    sinks: str = options.sinks()
    draws: int = options.draws(100)
    seed: int = options.seed("Seed of the sample and of the resamples.")

    @property
    def refs(self) -> tuple[str, ...]:
        """List the models, patterns expanded."""
        return every_match(self.models)
