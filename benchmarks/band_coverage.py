"""Simulated coverage of the bands that are drawn beside those of similarities.

    python -m benchmarks.band_coverage > benchmarks/band_coverage.txt

`coverage` simulates the bands of similarities. Each case here plants a truth, draws REPLICATES
samples with fixed seeds, and counts how often the band that the app computes holds the truth; the
standard error of a share near .95 is .009. Probes are simulated with the spread that was
measured at the defaults: 100 test sentences of about 10 edges, which give UUAS a standard error of
1.3 points; 3 probes a layer, .7 points apart, that err alike in no two layers; and control trees, 4
points apart, that raise or lower all layers together.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from core.maths.evaluation.bands import Replicates, leave_out
from core.maths.ranks import correlate, correlation_interval, rank_correlation
from core.maths.similarity.scoring import distance_ratios, mean_band
from core.maths.statistics import jackknife_interval, sentence_counts
from core.maths.structural.bands import ProbeScores, Sample, banded_sum, draw_sample
from core.results.differences import banded_differences
from core.studies.alignment.barrier.tables import barrier_tables
from core.studies.alignment.barrier.tasks import SHARES
from core.studies.probes.behaviour.tables import behaviour_table, margin_table
from core.studies.probes.minimal_pairs.templates import joined_groups
from core.studies.probes.trees.comparisons import best_layers, differences, margins
from core.studies.rsa.layers.random_changes import TURNS
from core.studies.rsa.swap.tables import exchange_rows, own_row
from extras.probes.removal.tables import tables_of
from extras.probes.removal.tasks import MATCHED, NONE, PROBE, RANDOM
from extras.weights.scaling.tables import SCALES, WAYS, scaling_table

REPLICATES = 600
DRAWS = 300
HELD = (0.93, 0.97)  # shares that are not marked
SENTENCES, LAYERS, PROBES = 100, 7, 3
OF_PROBE, OF_RULES, OF_SENTENCE = 0.006, 0.04, 0.08  # standard deviations of shares of edges
OF_EDGE = {"all": 0.25, "layer": 0.2, "probe": 0.12}  # of an edge, by what shares the error
UUAS = 0.57

Ends = tuple[float, float]
Row = tuple[str, str, float]
Simulation = Callable[[np.random.Generator], list[bool]]


def coverage(name: str, case: str, simulate: Simulation, replicates: int = REPLICATES) -> Row:
    """The share of bands that hold the truth, over replicates and over what each returns."""
    rng = np.random.default_rng(0)
    held = [each for _ in range(replicates) for each in simulate(rng)]
    return name, case, float(np.mean(held))


def probes(
    rng: np.random.Generator,
    sample: Sample,
    levels: np.ndarray,
    easy: np.ndarray,
    of_draw: np.ndarray,
) -> ProbeScores:
    """Scores in percent of probes with these true means by layer.

    Args:
        rng: Source of randomness.
        sample: The test sentences, whose lengths are their edges.
        levels: True share of edges by layer.
        easy: How much easier each sentence is for all probes.
        of_draw: Error of each probe, (layer, draw).
    """
    layers, draws = of_draw.shape
    count = len(sample.lengths)
    edges = np.broadcast_to(sample.lengths, (layers, draws, count))
    noise = OF_EDGE["layer"] * rng.standard_normal((layers, 1, count))
    noise = noise + OF_EDGE["probe"] * rng.standard_normal((layers, draws, count))
    shares = levels[:, None, None] + of_draw[..., None] + easy + noise / np.sqrt(edges)
    return ProbeScores.of_shares(edges * shares, sample.lengths, sample, range(layers))


def sentences(rng: np.random.Generator, count: int = SENTENCES) -> tuple[Sample, np.ndarray]:
    """Test sentences with their resamples, and how easy each is."""
    sample = draw_sample(rng.integers(3, 18, count), DRAWS, int(rng.integers(2**31)))
    noise = OF_EDGE["all"] * rng.standard_normal(count) / np.sqrt(sample.lengths)
    return sample, OF_SENTENCE * rng.standard_normal(count) + noise


def apart(rng: np.random.Generator, layers: int, draws: int) -> np.ndarray:
    """Errors of probes that no two layers share, (layer, draw)."""
    return OF_PROBE * rng.standard_normal((layers, draws))


def together(rng: np.random.Generator, layers: int, draws: int) -> np.ndarray:
    """Errors of draws of control trees, nine tenths of whose variance all layers share."""
    shared = np.sqrt(0.9) * rng.standard_normal((1, draws))
    errors: np.ndarray = OF_RULES * (shared + np.sqrt(0.1) * rng.standard_normal((layers, draws)))
    return errors


def holds(band: dict[str, np.ndarray], truth: float | np.ndarray) -> list[bool]:
    """Whether each row's band holds the truth."""
    return list((band["low"] <= truth) & (truth <= band["high"]))


def probe_bands() -> Iterator[Row]:
    """Scores, differences, margins and leads of probes, and scores on control trees."""
    flat = np.full(LAYERS, UUAS)

    def score(layers: int, draws: int) -> Simulation:
        def simulate(rng: np.random.Generator) -> list[bool]:
            sample, easy = sentences(rng)
            group = probes(rng, sample, flat[:layers], easy, apart(rng, layers, draws))
            return holds(banded_sum((1, group.pooled())), 100 * UUAS)

        return simulate

    def control(layers: int, draws: int, selectivity: bool) -> Simulation:
        def simulate(rng: np.random.Generator) -> list[bool]:
            sample, easy = sentences(rng)
            real = probes(rng, sample, flat[:layers], easy, apart(rng, layers, PROBES)).pooled()
            rules = together(rng, layers, draws)
            random = probes(rng, sample, flat[:layers], easy, rules).pooled(shared=True)
            if selectivity:
                return holds(banded_sum((1, real), (-1, random)), 0.0)
            return holds(banded_sum((1, random)), 100 * UUAS)

        return simulate

    yield coverage("probe score", f"{LAYERS} layers, 3 probes", score(LAYERS, 3))
    yield coverage("probe score", f"{LAYERS} layers, 2 probes", score(LAYERS, 2))
    yield coverage("probe score", "1 layer, 3 probes", score(1, 3))
    yield coverage("probe score", "1 layer, 2 probes", score(1, 2))
    yield coverage("probe difference of models", "3 probes", _difference)
    yield coverage("probe margin over a baseline", "3 probes", _margin)
    yield coverage("lead of the best layer, all layers", "3 probes", _lead)
    for draws in (5, 3, 2):
        case = f"{draws} draws"
        yield coverage("probe score, control trees", case, control(LAYERS, draws, False))
        yield coverage("probe selectivity", case, control(LAYERS, draws, True))
        yield coverage("linear chain, control trees", case, control(1, draws, False))


def _difference(rng: np.random.Generator) -> list[bool]:
    sample, easy = sentences(rng)
    flat = np.full(LAYERS, UUAS)
    groups = {
        name: {"uuas": probes(rng, sample, flat, easy, apart(rng, LAYERS, PROBES)).pooled()}
        for name in ("base", "model")
    }
    (table,) = differences(groups, "base")
    return holds({end: table[end].to_numpy() for end in ("low", "high")}, 0.0)


def _margin(rng: np.random.Generator) -> list[bool]:
    sample, easy = sentences(rng)
    flat = np.full(LAYERS, UUAS)
    model = probes(rng, sample, flat, easy, apart(rng, LAYERS, PROBES)).pooled()
    rival = probes(rng, sample, flat[:1], easy, apart(rng, 1, PROBES)).pooled()
    (table,) = margins({"model": {"uuas": model}}, {"rival": {"uuas": rival}})
    return holds({end: table[end].to_numpy() for end in ("low", "high")}, 0.0)


def _lead(rng: np.random.Generator) -> list[bool]:
    """Whether all leads together hold their truth; the best layer is chosen on other sentences."""
    sample, easy = sentences(rng)
    flat = np.full(LAYERS, UUAS)
    group = probes(rng, sample, flat, easy, apart(rng, LAYERS, PROBES)).pooled()
    (table,) = best_layers({"model": {"uuas": _chosen(group, rng)}})
    rest = table[table["layer"] != table["best_layer"]]
    return [all(holds({end: rest[end].to_numpy() for end in ("low", "high")}, 0.0))]


def _chosen(group: ProbeScores, rng: np.random.Generator) -> ProbeScores:
    """The group with scores on development sentences that do not depend on the test sentences."""
    return replace(group, dev=rng.standard_normal(len(group.layers)))


def share_bands() -> Iterator[Row]:
    """Shares of words, bits a label, texts and pairs: bootstraps over sentences, and Wilson."""

    def accuracy(count: int) -> Simulation:
        def simulate(rng: np.random.Generator) -> list[bool]:
            sample, easy = sentences(rng, count)
            group = probes(rng, sample, np.array([UUAS]), easy, np.zeros((1, 1)))
            return holds(banded_sum((1, group)), 100 * UUAS)

        return simulate

    def bits(rng: np.random.Generator) -> list[bool]:
        sample, _ = sentences(rng, 8 * SENTENCES)
        cost = rng.gamma(1.5 * sample.lengths * rng.gamma(4, 0.25, len(sample.lengths)), 1.0)
        group = ProbeScores.of_shares(
            cost[None, None], sample.lengths, sample, scale=1.0, highest=np.inf
        )
        return holds(banded_sum((1, group)), 1.5)

    for count in (30, 100):
        yield coverage("share of texts", f"{count} texts", _texts(count))
        yield coverage("attachment score", f"{count} sentences", _attachment(count))
        yield coverage("loss between weights", f"{count} sentences", _between(count))
        yield coverage("accuracy, over sentences", f"{count} sentences", accuracy(count))
    yield coverage("code length, over sentences", f"{8 * SENTENCES} sentences", bits)
    for kind, count in (("reflexive", 100), ("polarity", 100), ("arguments", 100)):
        for share in (0.6, 0.9):
            case = f"{share:.1f} of {kind}"
            yield coverage("share of pairs, in groups", case, _pairs(kind, count, share))
        case = f"{count} of {kind}"
        yield coverage("difference of shares of pairs", case, _pair_difference(kind, count))


def _texts(count: int) -> Simulation:
    """The band of a model's share of right labels, as those of unmodified and stitched models."""

    def simulate(rng: np.random.Generator) -> list[bool]:
        value = {"own": rng.random(count) < 0.8, "total": np.ones(count)}
        row = own_row("zoo:a", value, DRAWS, int(rng.integers(2**31)))
        return [_within((row["low"], row["high"]), 0.8)]

    return simulate


def _attachment(count: int) -> Simulation:
    """The band of a parser's share of right heads."""

    def simulate(rng: np.random.Generator) -> list[bool]:
        sample, easy = sentences(rng, count)
        right = sample.lengths * (UUAS + easy)
        group = ProbeScores.of_shares(right[None, None], sample.lengths, sample)
        return holds(banded_sum((1, group)), 100 * UUAS)

    return simulate


def _between(count: int) -> Simulation:
    """The excess of the loss halfway between two models, of sentences that differ in length and in
    how hard they are for both and for what lies between."""
    pair, rise = ("zoo:a", "zoo:b"), 2.0

    def simulate(rng: np.random.Generator) -> list[bool]:
        tokens = rng.integers(5, 40, count)
        hard, harder = 3 + 0.6 * rng.standard_normal(count), rng.gamma(4, rise / 4, count)
        ends = hard + 0.2 * rng.standard_normal((2, count))
        shares = np.array(SHARES)[:, None]
        losses = (1 - shares) * ends[0] + shares * ends[1] + 4 * shares * (1 - shares) * harder
        value = {"losses": (losses * tokens)[None], "tokens": tokens}
        counts = sentence_counts(count, DRAWS, rng)
        paths = barrier_tables({pair: value}, {pair: ("",)}, {pair: ""}, counts)[1]
        row = paths[paths["share"] == 0.5].iloc[0]
        return [_within((row["low"], row["high"]), rise)]

    return simulate


def _pairs(kind: str, count: int, share: float) -> Simulation:
    """A share of right pairs, of which each lexical group has a chance of its own."""
    groups = joined_groups({kind: count})
    spread = 6.0  # of a beta distribution: chances of groups deviate by .18 where the share is .6

    def simulate(rng: np.random.Generator) -> list[bool]:
        chance = rng.beta(spread * share, spread * (1 - share), groups.max() + 1)[groups]
        hits = {"model": {kind: (rng.random(count) < chance).astype(float)}}
        row = behaviour_table(hits).iloc[0]
        return [_within((row["low"], row["high"]), 100 * share)]

    return simulate


def _pair_difference(kind: str, count: int) -> Simulation:
    """The difference of two models' shares of the same pairs, half of which both find alike; each
    lexical group has chances of its own."""
    groups = joined_groups({kind: count})

    def simulate(rng: np.random.Generator) -> list[bool]:
        chance = rng.beta(4.2, 1.8, (2, groups.max() + 1))[:, groups]
        alike, easy = rng.random(count) < 0.5, rng.random(count)
        mine, theirs = np.where(alike, easy, rng.random((2, count))) < chance
        hits = {"model": {kind: mine.astype(float)}, "bigram": {kind: theirs.astype(float)}}
        row = margin_table(hits, ("model",), {}).iloc[0]
        return [_within((row["low"], row["high"]), 0.0)]

    return simulate


def correlation_bands() -> Iterator[Row]:
    """Rank correlations over models and over words, and mean divergences over words."""

    def over_models(count: int) -> Simulation:
        def simulate(rng: np.random.Generator) -> list[bool]:
            left = rng.standard_normal(count)
            right = 0.5 * left + np.sqrt(0.75) * rng.standard_normal(count)
            band = correlation_interval(rank_correlation(left, right), count)
            return [] if band[0] != band[0] else [_within(band, SPEARMAN)]

        return simulate

    def over_words(count: int, mean: bool) -> Simulation:
        def simulate(rng: np.random.Generator) -> list[bool]:
            sentence = np.repeat(np.arange(count), rng.integers(3, 18, count))
            common = rng.standard_normal((count, 2))[sentence]
            words = (common + np.sqrt(3) * rng.standard_normal((len(sentence), 2))) / 2
            x, y = words[:, 0], 0.5 * words[:, 0] + np.sqrt(0.75) * words[:, 1]
            if mean:
                return [_within(mean_band(np.exp(x), sentence, positive=True), np.exp(0.5))]
            return [_within(correlate(x, y, sentence)[1:], SPEARMAN)]

        return simulate

    for count in (6, 12, 30):
        yield coverage("rank correlation over models", f"{count} models", over_models(count))
    for count in (30, 100):
        case = f"{count} sentences"
        yield coverage("rank correlation over words", case, over_words(count, False))
        yield coverage("rank correlation of alike words", case, _among_alike(count))
        yield coverage("mean divergence", case, over_words(count, True))


def _grouped(
    count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Two numbers a word, its sentence and its group, on which both numbers depend."""
    sentence = np.repeat(np.arange(count), rng.integers(3, 18, count))
    cells = rng.choice(12, len(sentence), p=np.arange(1, 13) / 78)
    common = rng.standard_normal((count, 2))[sentence]
    words = (common + np.sqrt(3) * rng.standard_normal((len(sentence), 2))) / 2
    x, y = words[:, 0], 0.5 * words[:, 0] + np.sqrt(0.75) * words[:, 1]
    groups = np.unique(cells, return_inverse=True)[1]  # without those that no word is in
    return x + cells / 4, y + cells / 4, sentence, groups


def _among_alike(count: int) -> Simulation:
    """Rank correlations among words of a group; the truth is that of 20,000 sentences."""
    truth = correlate(*_grouped(20_000, np.random.default_rng(1)))[0]

    def simulate(rng: np.random.Generator) -> list[bool]:
        return [_within(correlate(*_grouped(count, rng))[1:], truth)]

    return simulate


SPEARMAN = 6 / np.pi * np.arcsin(0.25)  # of normal variables that correlate by .5


def swap_bands() -> Iterator[Row]:
    """Scores, losses and excesses of layer swaps."""
    for noises in (3, 5, 10):

        def simulate(rng: np.random.Generator, noises: int = noises) -> dict[str, list[bool]]:
            return _swapped(rng, noises)

        held: dict[str, list[bool]] = {}
        rng = np.random.default_rng(0)
        for _ in range(REPLICATES):
            for name, values in simulate(rng).items():
                held.setdefault(name, []).extend(values)
        for name, values in held.items():
            yield f"swap, {name}", f"{noises} changes", float(np.mean(values))


def _swapped(rng: np.random.Generator, noises: int) -> dict[str, list[bool]]:
    """Whether the bands of one planted swap hold: score, loss, excess, score of random changes."""
    count, layers, score, cost = 100, 1, 0.85, 0.1  # one layer: nothing is corrected for
    total = rng.integers(3, 18, count)
    easy = OF_SENTENCE / 1.7 * rng.uniform(-1, 1, count)

    def right(share: np.ndarray) -> np.ndarray:
        return rng.binomial(total, np.clip(share + easy, 0.0, 1.0))

    flat = np.full((layers, 1), score)
    moved = 0.02 * rng.standard_normal((noises, layers, 1))
    value = {
        "own": right(np.array(score)),
        "noise/below": right(flat - cost + moved),
        "noise/layer": right(flat - cost + moved),
        "total": total,
    }
    for way in ("below", "above", "layer", "only", "truncated", "removed"):
        value[way] = right(flat - cost)
    table = exchange_rows("zoo:a", value, 0.5, DRAWS, int(rng.integers(2**31)))
    plain, noise = (table[table["way"] == way] for way in ("layer", "noise layer"))
    truths = {
        "score": (plain, "", score - cost),
        "loss": (plain, "loss_", cost),
        "excess": (plain, "excess_", 0.0),
        "score of random changes": (noise, "", score - cost),
        "loss of random changes": (noise, "loss_", cost),
    }
    return {
        name: holds({end: rows[f"{prefix}{end}"].to_numpy() for end in ("low", "high")}, truth)
        for name, (rows, prefix, truth) in truths.items()
    }


def scaling_bands() -> Iterator[Row]:
    """Values, changes and differences of models whose directions are scaled."""
    for draws in (3, 5):
        held: dict[str, list[bool]] = {}
        rng = np.random.default_rng(0)
        for _ in range(REPLICATES):
            for name, values in _scaled(rng, draws).items():
                held.setdefault(name, []).extend(values)
        for name, values in held.items():
            yield f"scaled directions, {name}", f"{draws} random draws", float(np.mean(values))


def _scaled(rng: np.random.Generator, draws: int) -> dict[str, list[bool]]:
    """Whether the bands of planted directions hold, which no more than random ones cost a tenth."""
    count, score, cost = 100, 0.85, 0.1
    total = rng.integers(3, 18, count)
    easy = OF_SENTENCE / 1.7 * rng.uniform(-1, 1, count)
    lost = cost * (np.arange(len(SCALES)) > 0)[:, None]
    value: dict[str, Any] = {"total": total, "scaled": 1}
    for way in WAYS:
        moved = 0.02 * rng.standard_normal((draws, 1, 1)) * (lost > 0) if way == "random" else 0.0
        shares = score - lost + moved + easy
        value[f"{way} hits"] = rng.binomial(total, np.clip(shares, 0.0, 1.0)).astype(float)
    rows = scaling_table({"zoo:a": value}, {"zoo:a": "UAS"}, int(rng.integers(2**31)))
    rows = rows[(rows["scale"] == SCALES[-1]) & rows["way"].isin(("intruders", "random"))]
    beyond = rows[rows["way"] == "intruders"]
    truths = {
        "value": (rows, "", score - cost),
        "change": (rows, "change_", -cost),
        "beyond random ones": (beyond, "beyond_", 0.0),
        "beyond shrinking": (beyond, "excess_", 0.0),
    }
    return {
        name: holds({end: part[f"{prefix}{end}"].to_numpy() for end in ("low", "high")}, truth)
        for name, (part, prefix, truth) in truths.items()
    }


def removal_bands() -> Iterator[Row]:
    """Losses without a probe's subspace, and costs of erasing it beside random subspaces."""
    for randoms in (2, 5):
        held: dict[str, list[bool]] = {}
        rng = np.random.default_rng(0)
        for _ in range(REPLICATES):
            for name, values in _erased(rng, randoms).items():
                held.setdefault(name, []).extend(values)
        for name, values in held.items():
            yield f"erasure, {name}", f"{randoms} random subspaces", float(np.mean(values))


def _erased(rng: np.random.Generator, randoms: int) -> dict[str, list[bool]]:
    """Whether the bands of one planted erasure hold, of 40 sentences whose tokens cost alike."""
    count, loss, cost = 40, 3.4, 0.3
    tokens = rng.integers(8, 21, count)
    easy = 0.5 * rng.standard_normal(count)
    levels = np.array([0.0, cost, *(cost + 0.05 * rng.standard_normal(2 * randoms))])
    errors = 0.6 * rng.standard_normal((len(levels), count)) / np.sqrt(tokens)
    value = {
        "conditions": [NONE, PROBE, *[RANDOM] * randoms, *[MATCHED] * randoms],
        "change": np.zeros(len(levels)),
        "likelihood": -tokens * (loss + easy + levels[:, None] + errors),
        "tokens": tokens,
    }
    made = tables_of({("zoo:a", 0): value}, DRAWS, int(rng.integers(2**31)))
    table, excess = made["removal"].set_index("erased"), made["removal_excess"]
    rows = {
        "loss": (table.loc[[PROBE]], "", loss + cost),
        "cost": (table.loc[[PROBE]], "cost_", cost),
        "cost of random subspaces": (table.loc[[RANDOM, MATCHED]], "cost_", cost),
        "cost above random subspaces": (excess, "", 0.0),
    }
    return {
        name: holds({end: part[f"{prefix}{end}"].to_numpy() for end in ("low", "high")}, truth)
        for name, (part, prefix, truth) in rows.items()
    }


def alignment_bands() -> Iterator[Row]:
    """Errors of maps over pairs and held-out units, and differences of two maps."""
    for models in (2, 3, 5):

        def error(rng: np.random.Generator, models: int = models) -> list[bool]:
            first, _ = _errors(rng, models)
            low, high = first.band()
            return holds({"low": low, "high": high}, 0.5)

        def difference(rng: np.random.Generator, models: int = models) -> list[bool]:
            first, second = _errors(rng, models)
            low, high = (first - second).band()
            return holds({"low": low, "high": high}, 0.0)

        yield coverage("error of a map", f"{models} models", error)
        yield coverage("difference of maps", f"{models} models", difference)


def _errors(rng: np.random.Generator, models: int) -> tuple[Replicates, Replicates]:
    """Jackknife replicates of two maps whose true error is .5 on the same pairs and units."""
    names = [str(number) for number in range(models)]
    pairs = [(a, b) for a in names for b in names if a != b]
    of_model = 0.03 * rng.standard_normal((2, models)) * (models > 2)
    of_pair = np.stack([of_model[:, int(a)] + of_model[:, int(b)] for a, b in pairs], axis=1)
    spread = rng.gamma(3.0, 1.0, (1, 1, 80)) * np.ones((len(pairs), 1, 1))
    hard = rng.gamma(4.0, 0.25, (1, 1, 80))
    made = []
    for effects in of_pair:
        noise = rng.gamma(8.0, 0.125, (len(pairs), 1, 80))
        made.append(
            leave_out(spread * hard * noise * (0.5 + effects)[:, None, None], spread, pairs)
        )
    return made[0], made[1]


def difference_bands() -> Iterator[Row]:
    """All differences of two results together: of two texts, and of the same sentences."""
    for count in (10, 30, 100):
        case = f"{count} sentences"
        yield coverage("differences of two texts, all", case, _two_results(count, 0.0))
    yield coverage("differences on the same sentences, all", case, _two_results(count, 0.5))


def _two_results(count: int, shared: float) -> Simulation:
    """Three models of seven layers, whose values on a sentence have half of their variance in
    common; and this share of it with the other result's."""
    rows = pd.MultiIndex.from_product([["a", "b", "c"], range(LAYERS)], names=["model", "layer"])

    def simulate(rng: np.random.Generator) -> list[bool]:
        easy, tables = rng.standard_normal((1, count)), []
        for _ in range(2):
            own = rng.standard_normal((1, count))
            common = np.sqrt(shared) * easy + np.sqrt(0.5 - shared) * own
            values = 0.5 + 0.1 * (common + np.sqrt(0.5) * rng.standard_normal((len(rows), count)))
            means, total = values.mean(1), values.sum(1, keepdims=True)
            left_out = (total - values) / (count - 1)
            ends = [jackknife_interval(*each) for each in zip(means, left_out, strict=True)]
            low, high = zip(*ends, strict=True)
            tables.append(rows.to_frame(index=False).assign(value=means, low=low, high=high))
        made = banded_differences(tables[0], tables[1], ["model", "layer"], "value")
        return [all(holds({end: made[end].to_numpy() for end in ("low", "high")}, 0.0))]

    return simulate


def ratio_bands() -> Iterator[Row]:
    """Distances of layers' outputs, divided by those after random changes."""
    for count in (20, 100):
        yield coverage(
            "ratio of layer functions", f"{count} sentences", _ratios(count), REPLICATES // 3
        )


def _ratios(count: int) -> Simulation:
    """Seven layers, three random changes that move an output by about a tenth more or less each;
    sentences differ in how far they are moved by any change, and by each."""
    truth = np.array([2.0, 15.0, 10.0, 7.0, 5.0, 4.0, 6.0])

    def simulate(rng: np.random.Generator) -> list[bool]:
        by_change = np.exp(0.1 * rng.standard_normal((len(truth), TURNS + 1)))
        by_change[:, 0] *= truth
        moved = rng.standard_normal((len(truth), 1, count))
        own = rng.standard_normal((len(truth), TURNS + 1, count))
        distances = 0.01 * by_change[:, :, None] * np.exp(0.4 * moved + 0.3 * own)
        total = distances.sum(-1, keepdims=True)
        replicates = (total - distances) / (count - 1)
        _, low, high = distance_ratios(distances.mean(-1), list(replicates))
        return [bool(held) for held in (low <= truth) & (truth <= high)]

    return simulate


def _within(ends: Ends, truth: float) -> bool:
    return bool(ends[0] <= truth <= ends[1])


def main() -> None:
    """Print the table."""
    print(
        f"{REPLICATES:,} replicates a case, {DRAWS} draws a band. * below .93: too narrow;\n"
        "+ above .97: wider than it need be. The pages and docs/statistics.md say which.\n"
    )
    print(f"{'95 % band':<42}{'of':<22}{'covers':>7}")
    parts = (
        probe_bands,
        share_bands,
        correlation_bands,
        swap_bands,
        scaling_bands,
        removal_bands,
        alignment_bands,
        ratio_bands,
        difference_bands,
    )
    for name, case, share in (row for part in parts for row in part()):
        mark = " *" if share < HELD[0] else " +" if share > HELD[1] else ""
        print(f"{name:<42}{case:<22}{share:>7.3f}{mark}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
