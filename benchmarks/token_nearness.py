"""Simulated power of the token map's test of whether a question is closer to its answer:

    python -m benchmarks.token_nearness > benchmarks/token_nearness.txt

A passage of 60 words in five sentences of 12, whose words share a third of their variance, and a
question of six words, in seven layers of 32 dimensions. In the upper three layers the three words
of the answer are pulled towards the mean of the question: a pull of .5 moves them half of the way.
Compared are the test of the app, which counts the answer alone and standardises each layer, and
tests that count the supporting sentence, too, or that do not standardise.
"""

from __future__ import annotations

import numpy as np

from core.maths.statistics import SIGNIFICANT
from core.studies.rsa.tokens.report import lowest_p, span_ratios

REPLICATES = 400
SENTENCES, LENGTH, ASKED, LAYERS, WIDTH = 5, 12, 6, 7, 32
ANSWER = slice(28, 31)  # inside the third sentence
SHARED = 1 / 3  # of the variance, by the words of a sentence
PULLED = 3  # upper layers
PULLS = (0.0, 0.25, 0.5, 0.75, 1.0)


def gaps_of(pull: float, rng: np.random.Generator) -> np.ndarray:
    """Mean distance of each word of the passage from the question's words, (layer, word)."""
    words = SENTENCES * LENGTH
    sentence = np.repeat(np.arange(SENTENCES), LENGTH)
    together = rng.standard_normal((LAYERS, SENTENCES, WIDTH))[:, sentence]
    alone = rng.standard_normal((LAYERS, words, WIDTH))
    passage = np.sqrt(SHARED) * together + np.sqrt(1 - SHARED) * alone
    question = rng.standard_normal((LAYERS, ASKED, WIDTH))
    upper = slice(LAYERS - PULLED, None)
    centre = question[upper].mean(1, keepdims=True)
    passage[upper, ANSWER] += pull * (centre - passage[upper, ANSWER])
    apart = np.linalg.norm(question[:, :, None] - passage[:, None], axis=-1)
    gaps: np.ndarray = apart.mean(1)
    return gaps


def main() -> None:
    """Print the share of passages with p below .05, by pull."""
    answer = np.zeros(SENTENCES * LENGTH, bool)
    answer[ANSWER] = True
    supported = answer.copy()
    supported[2 * LENGTH : 3 * LENGTH] = True
    print(f"Share of {REPLICATES} simulated passages with p < {SIGNIFICANT}.\n")
    print(f"{'pull':>5}{'app':>8}{'raw':>8}{'with sentence':>15}{'with sentence, raw':>20}")
    for pull in PULLS:
        rng, hits = np.random.default_rng(0), []
        for _ in range(REPLICATES):
            gaps = gaps_of(pull, rng)
            ratios = [span_ratios(gaps, near) for near in (answer, supported)]
            hits.append(
                [
                    lowest_p(each, standardise=way) < SIGNIFICANT
                    for each in ratios
                    for way in (True, False)
                ]
            )
        app, raw, both, both_raw = np.mean(hits, 0)
        print(f"{pull:>5.2f}{app:>8.3f}{raw:>8.3f}{both:>15.3f}{both_raw:>20.3f}")


if __name__ == "__main__":
    main()
