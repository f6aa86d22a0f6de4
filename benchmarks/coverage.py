"""Simulated coverage of the intervals that the app draws.

    python -m benchmarks.coverage > benchmarks/coverage.txt

Intervals over sentences: two spaces of words with a common cause, part of which is shared by a
sentence's words; the true value is the measure on 4,000 sentences. Intervals over models: values of
a few runs from a normal distribution with a known mean. Nulls: independent spaces that share their
sentences; the table says how often their similarity exceeds the null. Each case is simulated
REPLICATES times with fixed seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np

from core.rsa.measures.nulls import pair_sentences
from core.rsa.measures.registry import compare, get_measure
from core.rsa.measures.scoring import score
from core.rsa.truth.areas import area, area_band
from core.statistics import interval, jackknife_interval, t_interval

REPLICATES = 200
DRAWS = 200
SENTENCES = (10, 20, 30, 60, 200)
MEASURES = ("rsa", "cka", "cka-debiased", "cosine", "cca", "svcca", "pwcca", "procrustes", "knn")
RUNS = (2, 3, 5, 10)
WIDTH = 12
TRUTH = 4_000
LABELLED = 0.90

Spaces = tuple[np.ndarray, np.ndarray, np.ndarray]


def related(sentences: int, rng: np.random.Generator) -> Spaces:
    """Two noisy readings of words, 2 to 8 of a sentence, half of whose variance is the
    sentence's."""
    sentence = np.repeat(np.arange(sentences), rng.integers(2, 9, sentences))
    scale = np.linspace(0.4, 2.0, WIDTH)
    words = (
        rng.standard_normal((sentences, WIDTH))[sentence]
        + rng.standard_normal((len(sentence), WIDTH))
    ) * scale
    x, y = (words + 0.8 * rng.standard_normal(words.shape) for _ in range(2))
    return x + 0.5, y + 0.5, sentence


def unrelated(sentences: int, rng: np.random.Generator) -> Spaces:
    """Independent spaces: which words share a sentence is all they have in common."""
    sentence = np.repeat(np.arange(sentences), rng.integers(2, 9, sentences))
    x, y = (
        rng.standard_normal((sentences, WIDTH))[sentence]
        + rng.standard_normal((len(sentence), WIDTH))
        for _ in range(2)
    )
    return x, y, sentence


def sentence_bands(measure: str) -> Iterator[tuple[str, str, float]]:
    """Coverage of the band that the RSA page draws, by number of sentences."""
    rng = np.random.default_rng(0)
    x, y, _ = related(TRUTH, rng)
    for sentences in SENTENCES:
        # Biased CKA and the canonical measures fall with the items: their truth is what samples of
        # this size score.
        falls = get_measure(measure).of_size
        fresh = (
            [compare(*related(sentences, rng)[:2], measure) for _ in range(400)] if falls else []
        )
        truth = float(np.mean(fresh)) if fresh else compare(x, y, measure)
        held = 0
        for _ in range(REPLICATES):
            one, other, sentence = related(sentences, rng)
            result = score(one, other, sentence, rng, measure, draws=DRAWS)
            held += result.low <= truth <= result.high
        yield f"{measure}, band over sentences", f"{sentences} sentences", held / REPLICATES


def model_bands() -> Iterator[tuple[str, str, float]]:
    """Coverage of intervals over few models."""
    kinds: dict[str, Callable[[np.ndarray, np.random.Generator], tuple[float, float]]] = {
        "t over models": _by_t,
        "jackknife over models": lambda values, rng: jackknife_interval(
            float(values.mean()),
            np.array([np.delete(values, at).mean() for at in range(len(values))]),
        ),
        "bootstrap over models (for comparison)": _by_bootstrap,
    }
    for name, band in kinds.items():
        for runs in RUNS:
            rng = np.random.default_rng(1)
            held = 0
            for _ in range(REPLICATES):
                low, high = band(rng.standard_normal(runs), rng)
                held += low <= 0.0 <= high
            yield name, f"{runs} models", held / REPLICATES


def pooled_bands() -> Iterator[tuple[str, str, float]]:
    """Coverage of a pooled curve's band: few runs, each with an error over the sentences that all
    share."""
    for runs in RUNS:
        rng = np.random.default_rng(2)
        held = 0
        for _ in range(REPLICATES):
            values = rng.standard_normal() + rng.standard_normal(runs)
            low, high = t_interval(
                values.mean(), [values.var(ddof=1) / runs, 1.0], [runs - 1, 30.0]
            )
            held += bool(low <= 0.0 <= high)
        yield "t over runs and sentences", f"{runs} models", held / REPLICATES


def planted(tuned: int, inherits: bool, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Layers of ten planted models a fine-tune, changed or not, and how much each of them differs.

    Fine-tunes moved by different amounts. With `inherits`, a layer also differs by what the layers
    below changed, as states do and outputs on the base's input do not.
    """
    masks = rng.random((tuned, 5, 7)) < 0.5
    changed = np.stack([masks, ~masks], axis=2).reshape(tuned, 10, 7)
    size = np.exp(0.6 * rng.standard_normal((tuned, 1, 1)))
    moved = changed * size * (1.0 + 0.5 * np.abs(rng.standard_normal((tuned, 1, 7))))
    score = 0.3 * moved + 0.6 * np.cumsum(moved, axis=2) if inherits else moved
    return changed, score + np.linspace(0.0, 2.0, 7) + 0.3 * rng.standard_normal(score.shape)


def planted_bands() -> Iterator[tuple[str, str, float]]:
    """Coverage of the band of an AUC over fine-tunes and the models planted from them."""
    for name, inherits in (("states", True), ("outputs", False)):
        changed, score = planted(2_000, inherits, np.random.default_rng(4))
        truth = area(changed.ravel(), score.ravel())
        for tuned in (3, 6, 12):
            rng = np.random.default_rng(5)
            held = 0
            for _ in range(REPLICATES):
                low, high = area_band(*planted(tuned, inherits, rng), 2, DRAWS, 0)
                held += low <= truth <= high
            yield f"AUC of {name}, planted models", f"{tuned} fine-tunes", held / REPLICATES


def nulls() -> Iterator[tuple[str, str, float]]:
    """How often independent spaces that share sentences lie above the null."""
    for measure in ("rsa", "cka-debiased"):
        chosen = get_measure(measure)
        for sentences in (30, 60, 200):
            rng = np.random.default_rng(3)
            above = {"words paired at random": 0, "sentences paired at random": 0}
            for _ in range(REPLICATES):
                x, y, sentence = unrelated(sentences, rng)
                freely = np.array([rng.permutation(len(x)) for _ in range(100)])
                pairings = ((np.arange(len(x)), freely), pair_sentences(sentence, 100, rng))
                for name, (kept, orders) in zip(above, pairings, strict=True):
                    null = chosen.null_of(x[kept], y[kept], orders)
                    above[name] += bool(chosen.similarity(x, y) > interval(null)[1])
            for name, count in above.items():
                yield f"{measure}, null of {name}", f"{sentences} sentences", count / REPLICATES


def _by_t(values: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    low, high = t_interval(values.mean(), [values.var(ddof=1) / len(values)], [len(values) - 1])
    return float(low), float(high)


def _by_bootstrap(values: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    low, high = interval(rng.choice(values, (500, len(values))).mean(axis=1))
    return float(low), float(high)


def main() -> None:
    """Print the tables."""
    print(
        f"{REPLICATES} replicates a case, {DRAWS} draws a band. * below {LABELLED:.2f}: the page "
        f"says so.\n"
    )
    print(f"{'95 % interval':<50}{'of':<16}{'covers':>7}")
    for measure in MEASURES:
        show(sentence_bands(measure), mark=True)
    show(model_bands(), mark=True)
    show(pooled_bands(), mark=True)
    show(planted_bands(), mark=True)
    print(f"\n{'independent spaces that share sentences':<50}{'of':<16}{'above':>7}")
    show(nulls(), mark=False)


def show(rows: Iterator[tuple[str, str, float]], mark: bool) -> None:
    """A line per case, as soon as it is known."""
    for name, case, share in rows:
        print(f"{name:<50}{case:<16}{share:>7.3f}{' *' if mark and share < LABELLED else ''}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
