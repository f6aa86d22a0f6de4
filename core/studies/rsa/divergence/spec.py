"""The options of output divergence, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.studies.rsa.divergence.reading import MASKING


@dataclass(frozen=True)
class DivergenceSpec(options.Spec):
    """One study: a base, language models whose predictions are compared with its, and baselines."""

    base: str = options.base(
        help="The language model; the predictions of the others are compared with its own."
    )
    compare: tuple[str, ...] = options.models(
        "Compared with",
        ("zoo:seed-0@step-200", "zoo:seed-0@step-800", "zoo:seed-0@step-3200"),
        most=20,
        patterns=True,
        help="Models with a language-model head and the base's vocabulary; "
        "patterns such as zoo:seed-0@step-* work too.",
    )
    others: tuple[str, ...] = options.models(
        "Baselines",
        ("zoo:seed-1",),
        least=0,
        most=8,
        help="Other training runs of the base's kind, drawn in grey, "
        "to see how much any two runs differ.",
    )
    masking: str = options.choice(
        "Words are read",
        "masked",
        MASKING,
        help="How a masked model reads a word: masked, with one pass per word, or unmasked, "
        "with one pass per sentence. Causal models always predict the next token.",
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(200)
    words: int = options.sampled_words(
        "Words whose states are compared beside the predictions; more words give narrower bands."
    )
    sinks: str = options.sinks()
    seed: int = options.seed("Seed of the sample and of the bands of states.")
