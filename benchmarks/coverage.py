"""Simulated coverage of the intervals that the app draws.

    python -m benchmarks.coverage > benchmarks/coverage.txt

Intervals over sentences: two spaces of words with a common cause, by kind: whether words of one
sentence are alike, as in models that read context, whether the two spaces are, and whether few
directions hold most of the variance. The true value is the measure's mean for samples of the same
size. Intervals over models: values of a few runs from a normal distribution with a known mean.
Nulls: independent spaces that share their sentences; the table says how often their similarity
exceeds the null. Each case is simulated REPLICATES times with fixed seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from core.maths.ranks import area
from core.maths.similarity.angles import Space, angle, between
from core.maths.similarity.nulls import pair_sentences
from core.maths.similarity.registry import compare, get_measure
from core.maths.similarity.scoring import sentence_band
from core.maths.spectra.shape import MEASURES as SHAPES
from core.maths.spectra.shape import shape_intervals, shape_of
from core.maths.statistics import bootstrap_interval, interval, sentence_counts, t_interval
from core.studies.rsa.layers.tables import pooled_band
from extras.rsa.truth.areas import area_band, area_replicates, lows_together

REPLICATES = 200
DRAWS = 200
SENTENCES = (10, 20, 30, 60)
MANY = 200  # sentences, the default; of words of coherent sentences alone, to save time
MEASURES = ("rsa", "cka", "cka-debiased", "cosine", "cca", "svcca", "pwcca", "procrustes", "knn")
RUNS = (2, 3, 5, 10)
WIDTH = 32
FRESH = 200  # samples of each size, whose mean similarity is the true value at that size
HELD = (0.93, 0.97)  # shares that are not marked

Spaces = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Kind:
    """Spaces of one kind.

    Attributes:
        within: Mean cosine of two words of a sentence.
        between: Mean cosine of words of two sentences.
        noise: Of a space, as a share of what both have in common.
        decay: Of the dimensions' variances, a power of their number.
    """

    within: float
    between: float = 0.04
    noise: float = 0.6
    decay: float = 0.5


KINDS = {
    "loose": Kind(0.05),  # words of a sentence are hardly more alike than others, as in layer 0
    "coherent": Kind(0.40),  # as in the top layer of a MiniLM of 6 layers
    "similar": Kind(0.40, noise=0.15),
    "unlike": Kind(0.40, noise=1.8),
    "narrow": Kind(0.40, decay=2.0),  # few directions hold most of the variance
}


def related(kind: Kind, sentences: int, rng: np.random.Generator) -> Spaces:
    """Two noisy readings of words, 2 to 8 of a sentence, which share what their sentence has."""
    sentence = np.repeat(np.arange(sentences), rng.integers(2, 9, sentences))
    scale = np.arange(1.0, WIDTH + 1) ** (-kind.decay / 2)
    scale /= np.linalg.norm(scale)
    mean = np.where(np.arange(WIDTH) % 2, 1.0, -1.0) / np.sqrt(WIDTH)
    of_sentence, of_word = np.sqrt(kind.within - kind.between), np.sqrt(1.0 - kind.within)

    def normal(count: int) -> np.ndarray:
        return rng.standard_normal((count, WIDTH)) * scale

    common = normal(sentences), normal(len(sentence))
    spaces = []
    for _ in range(2):
        whole, words = (
            (part + kind.noise * normal(len(part))) / np.hypot(1.0, kind.noise) for part in common
        )
        spaces.append(
            np.sqrt(kind.between) * mean + of_sentence * whole[sentence] + of_word * words
        )
    return spaces[0], spaces[1], sentence


def unrelated(sentences: int, rng: np.random.Generator) -> Spaces:
    """Independent spaces: which words share a sentence is all they have in common."""
    sentence = np.repeat(np.arange(sentences), rng.integers(2, 9, sentences))
    x, y = (
        rng.standard_normal((sentences, WIDTH))[sentence]
        + rng.standard_normal((len(sentence), WIDTH))
        for _ in range(2)
    )
    return x, y, sentence


def sentence_bands(name: str) -> Iterator[tuple[str, str, float]]:
    """Coverage of the bands that the RSA page draws, by measure and number of sentences, of the
    measure's mean value for samples of this size."""
    kind = KINDS[name]
    for sentences in (*SENTENCES, MANY) if name == "coherent" else SENTENCES:
        rng = np.random.default_rng(0)
        fresh = [related(kind, sentences, rng)[:2] for _ in range(FRESH)]
        samples = [related(kind, sentences, rng) for _ in range(REPLICATES)]
        for measure in MEASURES:
            truth = float(np.mean([compare(x, y, measure) for x, y in fresh]))
            held, groups = 0, np.random.default_rng(1)
            for x, y, sentence in samples:
                of, estimate = get_measure(measure), compare(x, y, measure)
                low, high = sentence_band(of, x, y, sentence, groups, estimate)
                held += low <= truth <= high
            yield f"{measure}, {name}", f"{sentences} sentences", held / REPLICATES


def angle_bands() -> Iterator[tuple[str, str, float]]:
    """Coverage of the bootstrap of an angle that keeps the rotation of all words, of the mean angle
    of samples of this size."""
    for name in ("coherent", "unlike"):
        for sentences in (*SENTENCES, MANY):
            rng = np.random.default_rng(0)
            fresh = (related(KINDS[name], sentences, rng)[:2] for _ in range(FRESH))
            truth = np.mean([angle(x, y) for x, y in fresh])
            held = 0
            for _ in range(REPLICATES):
                x, y, sentence = related(KINDS[name], sentences, rng)
                how = sentence, sentence_counts(sentences, DRAWS, rng)
                value, drawn = between(Space.of(x, *how), Space.of(y, *how))
                low, high = bootstrap_interval(value, drawn)
                held += bool(low <= truth <= high)
            yield f"angle of two spaces, {name}", f"{sentences} sentences", held / REPLICATES


def shape_bands() -> Iterator[tuple[str, str, float]]:
    """Coverage of the jackknife over blocks of sentences of each measure of a space's shape, of its
    mean value for samples of this size."""
    for sentences in (*SENTENCES, MANY):
        rng = np.random.default_rng(0)
        fresh = [shape_of(related(KINDS["coherent"], sentences, rng)[0]) for _ in range(FRESH)]
        held = dict.fromkeys(SHAPES, 0)
        for _ in range(REPLICATES):
            x, _, sentence = related(KINDS["coherent"], sentences, rng)
            for name, (_, low, high) in shape_intervals(x, sentence).items():
                held[name] += bool(low <= np.mean([one[name] for one in fresh]) <= high)
        for name, count in held.items():
            yield f"shape, {name}", f"{sentences} sentences", count / REPLICATES


def bootstrapped_bands() -> Iterator[tuple[str, str, float]]:
    """Coverage of RSA's percentile bootstrap over sentences, without pairs of an item and its copy,
    which counts pairs within a sentence once for each pair of copies."""
    sentences, kind = 60, KINDS["coherent"]
    rng = np.random.default_rng(0)
    truth = np.mean([compare(*related(kind, sentences, rng)[:2]) for _ in range(FRESH)])
    held = 0
    for _ in range(REPLICATES):
        x, y, sentence = related(kind, sentences, rng)
        first, second = np.triu_indices(len(x), 1)
        pairs = [
            (unit @ unit.T)[first, second]
            for unit in (space / np.linalg.norm(space, axis=1, keepdims=True) for space in (x, y))
        ]
        drawn = []
        for counts in sentence_counts(sentences, DRAWS, rng):
            weight = (counts[sentence[first]] * counts[sentence[second]]).astype(float)
            k, l = (values - np.average(values, weights=weight) for values in pairs)  # noqa: E741
            drawn.append(weight @ (k * l) / np.sqrt((weight @ k**2) * (weight @ l**2)))
        low, high = interval(drawn)
        held += bool(low <= truth <= high)
    yield "rsa, coherent, bootstrap (for comparison)", f"{sentences} sentences", held / REPLICATES


def model_bands() -> Iterator[tuple[str, str, float]]:
    """Coverage of intervals over few models."""
    kinds: dict[str, Callable[[np.ndarray, np.random.Generator], tuple[float, float]]] = {
        "t over models": _by_t,
        "bootstrap over models (for comparison)": _by_bootstrap,
    }
    for name, band in kinds.items():
        for runs in RUNS:
            rng = np.random.default_rng(1)
            held = 0
            for _ in range(5 * REPLICATES):
                low, high = band(rng.standard_normal(runs), rng)
                held += low <= 0.0 <= high
            yield name, f"{runs} models", held / (5 * REPLICATES)


def pooled_bands() -> Iterator[tuple[str, str, float]]:
    """Coverage of a pooled curve's band: few runs, each with an error over the sentences that all
    share."""
    width = 1.96
    for name, apart in (("most", 4.0), ("as much", 1.0), ("least", 0.25)):
        for runs in RUNS:
            rng = np.random.default_rng(2)
            held = 0
            for _ in range(5 * REPLICATES):
                values = rng.standard_normal() + apart * rng.standard_normal(runs)
                low, high = pooled_band(values, values - width, values + width)
                held += low <= 0.0 <= high
            share = held / (5 * REPLICATES)
            yield f"pooled runs, runs vary {name}", f"{runs} models", share


def planted(
    tuned: int, inherits: bool, rng: np.random.Generator, strength: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Layers of ten planted models a fine-tune, changed or not, and how much each of them differs.

    Fine-tunes moved by different amounts. With `inherits`, a layer also differs by what the layers
    below changed, as states do and outputs on the base's input do not.
    """
    masks = rng.random((tuned, 5, 7)) < 0.5
    changed = np.stack([masks, ~masks], axis=2).reshape(tuned, 10, 7)
    size = strength * np.exp(0.6 * rng.standard_normal((tuned, 1, 1)))
    moved = changed * size * (1.0 + 0.5 * np.abs(rng.standard_normal((tuned, 1, 7))))
    score = 0.3 * moved + 0.6 * np.cumsum(moved, axis=2) if inherits else moved
    return changed, score + np.linspace(0.0, 2.0, 7) + 0.3 * rng.standard_normal(score.shape)


def planted_bands() -> Iterator[tuple[str, str, float]]:
    """Coverage of the band of an AUC over fine-tunes and the models planted from them."""
    kinds = (
        ("AUC of states", True, 1.0),
        ("AUC of outputs", False, 1.0),
        ("AUC of outputs, almost 1", False, 2.5),
    )
    for name, inherits, strength in kinds:
        changed, score = planted(2_000, inherits, np.random.default_rng(4), strength)
        truth = area(changed.ravel(), score.ravel())
        for tuned in (3, 6, 12):
            rng = np.random.default_rng(5)
            held = 0
            for _ in range(REPLICATES):
                changed, score = planted(tuned, inherits, rng, strength)
                value = area(changed.ravel(), score.ravel())
                low, high = area_band(value, area_replicates(changed, score))
                held += low <= truth <= high
            yield f"{name}, planted models", f"{tuned} fine-tunes", held / REPLICATES


def together_above() -> Iterator[tuple[str, str, float]]:
    """How often the lower ends of nine guessing measures that hold together exceed .5, where the
    measures are near copies and where they are not: nominally .025."""
    for name, shared in (("near copies", 0.9), ("unlike measures", 0.0)):
        for tuned in (3, 6, 12):
            rng = np.random.default_rng(6)
            above = 0
            for number in range(2 * REPLICATES):
                changed, _ = planted(tuned, False, rng)
                # A fine-tune's measures rank its changed layers higher or lower by chance.
                common, own = (
                    rng.standard_normal((count, *changed.shape))
                    + rng.standard_normal((count, tuned, 1, 1)) * changed
                    for count in (1, 9)
                )
                scores = np.sqrt(shared) * common + np.sqrt(1.0 - shared) * own
                values = np.array([area(changed.ravel(), score.ravel()) for score in scores])
                without = np.array([area_replicates(changed, score) for score in scores])
                above += bool((lows_together(values, without, number) > 0.5).any())
            yield f"any of 9 AUCs, {name}", f"{tuned} fine-tunes", above / (2 * REPLICATES)


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
    low, high = HELD
    print(
        f"{REPLICATES} replicates a case. * below {low:.2f}: too narrow; + above {high:.2f}: wider "
        "than it need be.\nThe pages and docs/statistics.md say which.\n"
    )
    print(f"{'95 % interval':<50}{'of':<16}{'covers':>7}")
    for name in KINDS:
        show(sentence_bands(name), mark=True)
    show(angle_bands(), mark=True)
    show(shape_bands(), mark=True)
    show(bootstrapped_bands(), mark=True)
    show(model_bands(), mark=True)
    show(pooled_bands(), mark=True)
    show(planted_bands(), mark=True)
    print(f"\n{'independent spaces that share sentences':<50}{'of':<16}{'above':>7}")
    show(nulls(), mark=False)
    print(f"\n{'nine measures that guess':<50}{'of':<16}{'above':>7}")
    show(together_above(), mark=False)


def show(rows: Iterator[tuple[str, str, float]], mark: bool) -> None:
    """A line per case, as soon as it is known."""
    for name, case, share in rows:
        flag = " *" if share < HELD[0] else " +" if share > HELD[1] else ""
        print(f"{name:<50}{case:<16}{share:>7.3f}{flag if mark else ''}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
