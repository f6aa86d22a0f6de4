"""Simulated coverage of 95 % intervals for a difference of two groups of seeds on the same
sentences:

    python -m benchmarks.seed_bands > benchmarks/seed_bands.txt

A score is the sum of effects of its seed, of its sentence (shared by both groups), of sentence and
group, and of seed and sentence. Compared are the interval of the app, a jackknife over sentences
and over the seeds of each group with Student's t (`core.maths.evaluation.bands`), the
Multi-Bootstrap, which is the percentile interval when seeds and sentences are drawn with
replacement together (Sellam et al. 2022), and a bootstrap of sentences alone.
"""

from __future__ import annotations

import numpy as np

from core.maths.evaluation.bands import Replicates
from core.maths.statistics import interval, sentence_counts

REPLICATES = 500
DRAWS = 500
SEEDS = (3, 5, 25)
SENTENCES = 60
SPREADS = {"seeds vary most": (1.0, 1.0), "sentences vary most": (0.1, 1.0), "equal": (0.3, 1.0)}
NAMES = ("app: jackknife, t", "Multi-Bootstrap", "sentences alone")


def scores(
    seeds: int, of_seed: float, of_sentence: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of two groups, (seed, sentence), whose true means are equal."""
    shared = of_sentence * rng.standard_normal(SENTENCES)
    groups = []
    for _ in range(2):
        own = 0.5 * of_sentence * rng.standard_normal(SENTENCES)
        seed = of_seed * rng.standard_normal((seeds, 1))
        groups.append(shared + own + seed + 0.5 * rng.standard_normal((seeds, SENTENCES)))
    return groups[0], groups[1]


def replicates_of(group: np.ndarray) -> Replicates:
    """The mean, and the mean without each seed and without each sentence."""
    seeds, sentences = group.shape
    models = (group.sum(0) - group).mean(1) / (seeds - 1)
    units = (group.mean(0).sum() - group.mean(0)) / (sentences - 1)
    return Replicates(np.array([group.mean()]), models[:, None], units[:, None])


def intervals(
    first: np.ndarray, second: np.ndarray, rng: np.random.Generator
) -> list[tuple[float, float]]:
    """The three intervals of the difference of means."""
    low, high = replicates_of(first).band_of_difference(replicates_of(second))
    seeds, sentences = first.shape
    drawn = sentence_counts(sentences, DRAWS, rng) / sentences
    together = [
        np.einsum("ds,dt,st->d", sentence_counts(seeds, DRAWS, rng) / seeds, drawn, group)
        for group in (first, second)
    ]
    alone = drawn @ (first - second).mean(0)
    ends = [interval(together[0] - together[1]), interval(alone)]
    return [(float(low[0]), float(high[0])), *((float(low), float(high)) for low, high in ends)]


def main() -> None:
    """Print the coverage and the mean width of each interval."""
    print(f"{REPLICATES} replicates a case, {SENTENCES} sentences, {DRAWS} draws; no difference.\n")
    print(f"{'seeds a group':<15}{'case':<22}{'interval':<20}{'covers':>8}{'width':>8}")
    for case, (of_seed, of_sentence) in SPREADS.items():
        for seeds in SEEDS:
            rng = np.random.default_rng(0)
            groups = [scores(seeds, of_seed, of_sentence, rng) for _ in range(REPLICATES)]
            ends = np.array([intervals(*pair, rng) for pair in groups])
            for name, (low, high) in zip(NAMES, ends.transpose(1, 2, 0), strict=True):
                covers, width = np.mean((low <= 0) & (high >= 0)), np.mean(high - low)
                print(f"{seeds:<15}{case:<22}{name:<20}{covers:>8.3f}{width:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
