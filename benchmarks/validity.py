"""Simulated validity of every p-value that the app shows.

    python -m benchmarks.validity > benchmarks/validity.txt

Each case draws REPLICATES samples in which the null hypothesis holds, with fixed seeds, has the app
compute their p-values, and counts how often these are .05 or less: a valid test has .05, one of few
arrangements or small counts less. Of p-values that are read together the smallest counts. Models of
weight neighbours come in families, whose labels have nothing to do with these; updates of matrices
are drawn as their null has them, once with sides above 256, whose Gaussian updates are drawn in
another way; the root of a lineage has nothing to do with norms; networks whose units are matched
are independent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from core.maths.independence import compare_units, layers_log_p
from core.maths.ranks import correlation_p
from core.maths.spectra.directions import SMALL
from core.maths.spectra.forests import NONE, root_at_lowest, span_models
from core.maths.spectra.intruders import compare_directions, turned_cosines
from core.maths.spectra.neighbours import calc_neighbour_shares, count_votes
from core.maths.spectra.products import distances_from, norms_of
from core.maths.statistics import corrected
from core.studies.probes.behaviour.tables import correlation_table
from core.studies.probes.minimal_pairs.accuracy import wilson_interval
from core.studies.rsa.tokens.questions import ANSWER, OTHER, QUESTION
from core.studies.rsa.tokens.report import nearness_statements, nearness_tables
from core.studies.weights.intruders.tables import (
    direction_rows,
    family_row,
    joint_p_values,
    matrix_row,
)
from core.studies.weights.intruders.tasks import shared
from core.studies.weights.lineage.tables import (
    BY_NORM,
    FINE_TUNE,
    Relatives,
    build_independence,
    build_rules,
    start_p_values,
)

REPLICATES = 400
LEVEL = 0.05
HELD = (0.03, 0.07)  # shares of a valid test
Draw = Callable[[np.random.Generator], float]


@dataclass(frozen=True)
class Case:
    """One null hypothesis under which the app computes a p-value.

    Attributes:
        name: The p-value, and of how much.
        null: What holds in every sample.
        columns: Names in the data dictionary of what is computed so.
        draw: Gives the p-value of a sample.
        few: Why the test is conservative; "" where it is not.
    """

    name: str
    null: str
    columns: tuple[str, ...]
    draw: Draw
    few: str = ""


BOUNDS: Mapping[str, str] = {
    "smallest_p": "a bound: the smallest p-value that so few models allow",
    "rank_correlations.smallest_p": "a bound: the smallest p-value that so few models allow",
}  # columns that are no p-value of a test
MADE_IN: Mapping[str, tuple[str, ...]] = {
    "core.studies.probes.behaviour.tables.correlation_table": ("rank_correlations.p_value",),
    "core.studies.rsa.tokens.report.nearness": ("nearness.corrected_p",),
    "core.studies.rsa.tokens.report.nearness_statements": ("nearness.corrected_p",),
    "core.studies.weights.intruders.study.collect": ("corrected_p", "corrected_turned_p"),
    "core.studies.weights.intruders.tables.direction_rows": ("directions.p_value",),
    "core.studies.weights.intruders.tables.family_row": ("families.p_value", "turned_p"),
    "core.studies.weights.intruders.tables.joint_p_values": ("directions.corrected_p",),
    "core.studies.weights.intruders.tables.matrix_row": ("intruders.p_value",),
    "core.studies.weights.intruders.text.statements_of": (),  # the smallest p of so few updates
    "core.studies.weights.lineage.independence.compare_orders": ("order_p", "matched_p"),
    "core.studies.weights.lineage.tables.build_independence": ("independence.corrected_p",),
    "core.studies.weights.lineage.tables.build_rules": ("rules.p_value",),
    "core.studies.weights.lineage.tables.start_p_values": ("start_p",),
    "core.maths.spectra.neighbours.calc_neighbour_shares": ("p_value",),
    "core.maths.spectra.neighbours.count_votes": ("votes.p_value",),
}  # functions of core that compute a p-value that is shown, and its columns


def neighbours(labels: int, each: int, permutations: int, *, votes: bool = False) -> Draw:
    """Models in families of three, whose labels are dealt at random; shares of two neighbours, or
    how many labels their vote names."""
    models = labels * each

    def draw(rng: np.random.Generator) -> float:
        families = rng.standard_normal((-(-models // 3), 8)).repeat(3, axis=0)[:models]
        places = families + rng.standard_normal((models, 8))
        distances = np.linalg.norm(places[:, None] - places, axis=-1)
        dealt = [str(label) for label in rng.permutation(np.repeat(range(labels), each))]
        if votes:
            return count_votes(distances, dealt, 2, permutations, rng).p_value
        shares = calc_neighbour_shares(distances, dealt, 2, permutations, rng)
        return float(shares.p_value[1])

    return draw


def correlation(models: int) -> Draw:
    """Scores of a probe, and shares of right pairs of 20, some of which are tied."""

    def draw(rng: np.random.Generator) -> float:
        return correlation_p(rng.random(models), rng.binomial(20, 0.7, models) / 20, rng)

    return draw


def correlations(models: int, probes: int, kinds: int = 4) -> Draw:
    """The smallest corrected p-value of every probe with every kind of pairs."""
    refs = [f"zoo:unrelated-{'abcdefghijklmnopqrstuvwxyz'[number]}" for number in range(models)]

    def draw(rng: np.random.Generator) -> float:
        beside = [(ref, f"probe {n}", "uuas", rng.random()) for ref in refs for n in range(probes)]
        pairs = [(ref, f"kind {n}", rng.random()) for ref in refs for n in range(kinds)]
        table = correlation_table(
            pd.DataFrame(beside, columns=["model", "probe", "metric", "value"]),
            pd.DataFrame(pairs, columns=["model", "kind", "value"]),
            int(rng.integers(2**31)),
        )
        return float(table["corrected_p"].min())

    return draw


def question(words: int, answer: int, alike: float, models: int = 1) -> Draw:
    """A question, and a passage of sentences of ten words of which any span may be the answer; the
    smallest corrected p-value of some models.

    Args:
        words: Of the passage.
        answer: Words of the answer.
        alike: Share of a word's variance that all words of its sentence have.
        models: Whose vectors are independent of each other.
    """
    layers, width, asked = 5, 16, 6
    names = [f"word {number}" for number in range(asked + words)]

    def draw(rng: np.random.Generator) -> float:
        sentence = np.arange(words) // 10
        together = rng.standard_normal((models, layers, sentence[-1] + 1, width))[:, :, sentence]
        vectors = rng.standard_normal((models, layers, asked + words, width))
        alone = np.sqrt(1 - alike) * vectors[:, :, asked:]
        vectors[:, :, asked:] = np.sqrt(alike) * together + alone
        first = int(rng.integers(words - answer + 1))
        roles = np.array([QUESTION] * asked + [OTHER] * words, object)
        roles[asked + first : asked + first + answer] = ANSWER
        arrays = {str(model): each for model, each in enumerate(vectors)}
        table = nearness_tables(nearness_statements(arrays, list(roles), names))["nearness"]
        return float(table["corrected_p"].min())

    return draw


SHAPES = ((14, 14), (14, 14), (14, 20))
LARGE = ((SMALL + 8, SMALL + 8),)
LEADING, THRESHOLD, UPDATES = 4, 0.62, 59  # as few updates as have p <= .05 for three models
Update = Callable[[np.ndarray, tuple[int, int], np.random.Generator], np.ndarray]


def gaussian(base: np.ndarray, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """An update of independent Gaussian numbers."""
    return rng.normal(scale=0.25, size=shape)


def small_gaussian(
    base: np.ndarray, shape: tuple[int, int], rng: np.random.Generator
) -> np.ndarray:
    """One that leaves the leading directions of a large matrix where they can be recognised."""
    return rng.normal(scale=0.01, size=shape)


def turned(rank: int) -> Update:
    """An update of this rank (0: full) and nearly equal singular values in random directions."""

    def update(base: np.ndarray, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
        sizes = np.linspace(2.5, 2.3, rank or min(shape))
        left, right = (np.linalg.qr(rng.normal(size=(side, len(sizes))))[0] for side in shape)
        signs = rng.choice([-1.0, 1.0], len(sizes))
        made: np.ndarray = left * (sizes * signs) @ right.T
        return made

    return update


def measured(
    update: Update,
    rng: np.random.Generator,
    spectrum: bool = False,
    shapes: Sequence[tuple[int, int]] = SHAPES,
) -> dict[str, Any]:
    """What the study keeps of a model whose matrices have been updated.

    Args:
        update: Gives the update of a matrix.
        rng: Source of randomness.
        spectrum: Whether updates with the same singular values are drawn, in place of Gaussian
            ones, of which only one is drawn then.
        shapes: Of the matrices.
    """
    gaussians, others = (1, UPDATES) if spectrum else (UPDATES, 1)
    directions = shared(int(rng.integers(2**31)))
    parts: dict[str, list[np.ndarray]] = {
        name: [] for name in ("values", "cosines", "null", "turned")
    }
    for shape in shapes:
        sides = (np.linalg.qr(rng.normal(size=(side, min(shape))))[0] for side in shape)
        base = next(sides) * np.linspace(3.0, 0.2, min(shape)) @ next(sides).T
        delta = update(base, shape, rng)
        compared = compare_directions(base, delta, LEADING, gaussians, rng)
        after = turned_cosines(base, delta, LEADING, others, directions, rng)
        rows = (compared.values, compared.cosines, compared.null, (after < THRESHOLD).sum(1))
        for name, row in zip(parts, rows, strict=True):
            parts[name].append(row)
    value: dict[str, Any] = {name: np.stack(rows) for name, rows in parts.items()}
    return value | {"relative": np.ones(len(shapes))}


def family(column: str, update: Update, models: int = 1) -> Draw:
    """The p-value of a model's number of intruders, or the smallest corrected one of some."""
    every = np.ones(len(SHAPES), bool)

    def draw(rng: np.random.Generator) -> float:
        spectrum = column == "turned_p"
        values = [measured(update, rng, spectrum) for _ in range(models)]
        rows = [family_row(each, every, each["null"] < THRESHOLD, THRESHOLD) for each in values]
        return min(corrected(row[column], models) for row in rows)

    return draw


def matrix(rng: np.random.Generator) -> float:
    """The p-value of a matrix's number of intruders."""
    value = measured(gaussian, rng)
    rows = direction_rows(value, 0, {}, THRESHOLD, joint_p_values(value, 1)[0])
    return float(matrix_row(value, 0, rows, (value["null"][0] < THRESHOLD).sum(1))["p_value"])


def lowest_direction(update: Update = gaussian, shapes: Sequence[tuple[int, int]] = SHAPES) -> Draw:
    """The smallest p-value of the directions of a matrix."""

    def draw(rng: np.random.Generator) -> float:
        value = measured(update, rng, shapes=shapes)
        rows = direction_rows(value, 0, {}, THRESHOLD, joint_p_values(value, 1)[0])
        return min(float(row["p_value"]) for row in rows)

    return draw


def every_direction(models: int) -> Draw:
    """The smallest corrected p-value of all directions of all models."""
    return lambda rng: float(
        min(joint_p_values(measured(gaussian, rng), models).min() for _ in range(models))
    )


UNITS, WIDTH, LAYERS = 40, 12, 2


def units(column: str, models: int) -> Draw:
    """Independent random networks: the smallest p-value of their tests, or that of one network."""
    pairs = list(combinations(range(models), 2))

    def draw(rng: np.random.Generator) -> float:
        networks = rng.standard_normal((models, LAYERS, 2, UNITS, WIDTH))
        orders = [
            [
                compare_units(one, two, UNITS)
                for one, two in zip(networks[first], networks[second], strict=True)
            ]
            for first, second in pairs
        ]
        value: dict[str, Any] = {
            name: np.array([[getattr(each, name) for each in layers] for layers in orders])
            for name in ("order", "matched", "agreeing")
        }
        counts = [UNITS] * LAYERS
        for name in ("order", "matched"):
            value[f"{name}_log_p"] = np.array([layers_log_p(row, counts) for row in value[name]])
        value |= {"models": [str(number) for number in range(models)], "units": np.array(counts)}
        value |= {"pairs": pairs, "related": [False] * len(pairs)}
        tests = build_independence(value)
        return start_p_values(tests)["0"] if column == "start_p" else float(tests[column].min())

    return draw


def roots(trees: int, tuned: int) -> Draw:
    """Trees of a base and its fine-tunes, whose norms have nothing to do with which is the base."""
    count = trees * (tuned + 1)

    def draw(rng: np.random.Generator) -> float:
        bases = np.arange(count) // (tuned + 1) * (tuned + 1)
        steps = rng.standard_normal((count, 12)) * (np.arange(count) != bases)[:, None]
        places = 50 * rng.standard_normal((trees, 12))[bases // (tuned + 1)] + steps
        products = places @ places.T
        distances = distances_from(products, norms_of(products))
        forest = span_models(distances, bases[:, None] == bases)
        norms = rng.random(count)
        recorded = [NONE if model == base else int(base) for model, base in enumerate(bases)]
        kinds = [FINE_TUNE if parent != NONE else "" for parent in recorded]
        relatives = Relatives(
            tuple(map(str, range(count))), distances, distances, products, norms,
            rng.random(count), forest, root_at_lowest(forest, norms), recorded, kinds,
            products[None], products[None],
        )  # fmt: skip
        return float(build_rules(relatives).set_index("rule").loc[BY_NORM, "p_value"])

    return draw


DEALT = "labels dealt at random to families of models"
NOTHING = "scores of probes have nothing to do with pairs"
ANYWHERE = "any span of the passage is the answer"
GAUSSIAN = "the update is Gaussian"
RANDOM = "the update is turned at random"
ANY_ROOT = "norms have nothing to do with the base"
INDEPENDENT = "networks are independent"
COUNTS = "because intruders are whole numbers"
CASES = (
    Case(
        "weight neighbours, 6 models of 2 labels", DEALT, ("p_value",), neighbours(2, 3, 1000),
        "because 10 arrangements allow no p below .10 (the page says so)",
    ),
    Case(
        "weight neighbours, 9 models of 3 labels", DEALT, ("p_value",), neighbours(3, 3, 10_000),
        "because 9 models allow few shares",
    ),
    Case("weight neighbours, 18 models of 6 labels", DEALT, ("p_value",), neighbours(6, 3, 999)),
    Case(
        "votes of neighbours, 9 models of 3 labels", DEALT, ("votes.p_value",),
        neighbours(3, 3, 10_000, votes=True), "because votes name whole models",
    ),
    Case(
        "votes of neighbours, 18 models of 6 labels", DEALT, ("votes.p_value",),
        neighbours(6, 3, 999, votes=True),
    ),
    Case(
        "rank correlation, 5 models", NOTHING, ("rank_correlations.p_value",), correlation(5),
        "because 5 models have few orders",
    ),
    Case("rank correlation, 7 models", NOTHING, ("rank_correlations.p_value",), correlation(7)),
    Case("rank correlation, 12 models", NOTHING, ("rank_correlations.p_value",), correlation(12)),
    Case(
        "12 rank correlations of 5 models, corrected", NOTHING, ("rank_correlations.corrected_p",),
        correlations(5, 3), "because 5 models allow no p below .20 (the page says so)",
    ),
    Case(
        "4 rank correlations of 7 models, corrected", NOTHING,
        ("rank_correlations.corrected_p",), correlations(7, 1),
    ),
    Case("token map, 3 words of 60", ANYWHERE, ("nearness.corrected_p",), question(60, 3, 0.3)),
    Case("token map, 3 words of 60, sentences alike", ANYWHERE, ("nearness.corrected_p",),
         question(60, 3, 0.8)),
    Case("token map, 8 words of 40", ANYWHERE, ("nearness.corrected_p",), question(40, 8, 0.3)),
    Case("token map, 3 words of 90, 4 models", ANYWHERE, ("nearness.corrected_p",),
         question(90, 3, 0.3, 4), "because 88 spans allow few p-values"),
    Case("intruders of a model", GAUSSIAN, ("families.p_value",), family("p_value", gaussian),
         COUNTS),
    Case("intruders of 3 models, corrected", GAUSSIAN, ("corrected_p",),
         family("p_value", gaussian, 3), COUNTS),
    Case("intruders of a matrix", GAUSSIAN, ("intruders.p_value",), matrix, COUNTS),
    Case("lowest cosine of a matrix", GAUSSIAN, ("directions.p_value",), lowest_direction()),
    Case("lowest cosine of a matrix, sides of 264", GAUSSIAN, ("directions.p_value",),
         lowest_direction(small_gaussian, LARGE)),
    Case("lowest cosine of 3 models, corrected", GAUSSIAN, ("directions.corrected_p",),
         every_direction(3)),
    Case("intruders beside the same spectrum, rank 1", RANDOM, ("turned_p",),
         family("turned_p", turned(1)), COUNTS),
    Case("intruders beside the same spectrum, full rank", RANDOM, ("turned_p",),
         family("turned_p", turned(0)), COUNTS),
    Case("the same of 3 models, corrected", RANDOM, ("corrected_turned_p",),
         family("turned_p", turned(0), 3), COUNTS),
    Case("parents found, 1 tree of 8 models", ANY_ROOT, ("rules.p_value",), roots(1, 7),
         "because a tree of 8 has 8 roots"),
    Case("parents found, 5 trees of 6 models", ANY_ROOT, ("rules.p_value",), roots(5, 5),
         "because trees have few roots"),
    Case("units in order, 2 networks", INDEPENDENT, ("order_p",), units("order_p", 2)),
    Case("units in any order, 2 networks", INDEPENDENT, ("matched_p",), units("matched_p", 2)),
    Case("units in any order, 5 networks, corrected", INDEPENDENT, ("independence.corrected_p",),
         units("corrected_p", 5)),
    Case("tests of one of 5 networks, corrected", INDEPENDENT, ("start_p",), units("start_p", 5)),
)  # fmt: skip


def share_below(case: Case, replicates: int = REPLICATES) -> float:
    """Compute the share of samples whose p-value is at most LEVEL."""
    rng = np.random.default_rng(0)
    return float(np.mean([case.draw(rng) <= LEVEL + 1e-12 for _ in range(replicates)]))


def verdict(case: Case, share: float) -> str:
    """Say whether the test holds its level; a conservative one names its reason."""
    if share > HELD[1]:
        return "* too many"
    if share < HELD[0]:
        return f"conservative, {case.few}" if case.few else "conservative"
    return "valid"


def lines(replicates: int = REPLICATES) -> Iterator[str]:
    """Yield the table line by line."""
    yield f"Share of {replicates} samples with p <= .05 where the null hypothesis holds."
    yield "Brackets: 95 % interval. Valid: .03 to .07.\n"
    yield f"{'p-value':<47}{'null hypothesis':<48}{'p <= .05':<21}verdict"
    for case in CASES:
        share = share_below(case, replicates)
        low, high = wilson_interval(share * replicates, replicates)
        band = f"{share:.3f} [{low:.3f}, {high:.3f}]"
        yield f"{case.name:<47}{case.null:<48}{band:<21}{verdict(case, share)}"


def main() -> None:
    """Print the table."""
    for line in lines():
        print(line)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
