"""Which benchmark simulates which band: every function of `core` or `extras` that computes ends.

A test walks the code of `core` and compares, so that no band is drawn whose coverage nobody knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks import coverage
from core.maths.spectra.shape import MEASURES as SHAPES

TABLES = ("coverage.txt", "band_coverage.txt", "seed_bands.txt")
SIMILARITIES = tuple(
    f"{measure}, {kind}" for kind in coverage.KINDS for measure in coverage.MEASURES
)
SIMULATED: Mapping[str, tuple[str, ...]] = {
    "core.maths.evaluation.bands._band": (
        *("error of a map", "difference of maps", "app: jackknife, t"),
    ),
    "core.studies.alignment.barrier.tables.base_table": ("loss between weights",),
    "core.studies.alignment.barrier.tables.barrier_tables": ("loss between weights",),
    "core.studies.alignment.barrier.tables.score_tables": (
        *("swap, score", "swap, loss", "swap, score of random changes"),
        "swap, loss of random changes",
    ),
    "core.studies.alignment.barrier.tables._peak": (
        *("loss between weights", "swap, loss", "swap, loss of random changes"),
    ),
    "core.studies.alignment.stitching.study._accuracy": ("share of texts",),
    "core.studies.probes.behaviour.tables.behaviour_table": ("share of pairs, in groups",),
    "core.studies.probes.behaviour.tables._margins": ("difference of shares of pairs",),
    "core.studies.probes.behaviour.tables.corrected_share": ("share of pairs, in groups",),
    "core.studies.probes.behaviour.tables.correlation_table": ("rank correlation over models",),
    "extras.probes.removal.tables._estimate": (
        *("erasure, loss", "erasure, cost", "erasure, cost of random subspaces"),
        "erasure, cost above random subspaces",
    ),
    "core.maths.structural.bands.banded_sum": (
        *("probe score", "probe difference of models", "probe margin over a baseline"),
        *("lead of the best layer, all layers", "probe score, control trees", "probe selectivity"),
        *("linear chain, control trees", "accuracy, over sentences", "code length, over sentences"),
        "attachment score",
    ),
    "core.results.differences._widening": (
        *("differences of two texts, all", "differences on the same sentences, all"),
    ),
    "core.maths.ranks.correlate": (
        *("rank correlation over words", "rank correlation of alike words"),
    ),
    "core.studies.rsa.bits.report.build_tables": ("loss between weights",),
    "core.maths.similarity.scoring.mean_band": ("mean divergence",),
    "core.maths.similarity.scoring.distance_ratios": ("ratio of layer functions",),
    "core.studies.rsa.layers.tables.pooled_band": (
        *("pooled runs, runs vary most", "pooled runs, runs vary as much"),
        "pooled runs, runs vary least",
    ),
    "core.maths.similarity.scoring.sentence_band": SIMILARITIES,
    "core.studies.rsa.spaces.tasks._measured": ("angle of two spaces, coherent",),
    "core.maths.spectra.shape.shape_intervals": tuple(f"shape, {name}" for name in SHAPES),
    "core.studies.rsa.spaces.report.last_angles": ("angle of two spaces, coherent",),
    "core.studies.rsa.spaces.report.layer_table": ("angle of two spaces, unlike",),
    "core.studies.rsa.swap.tables.own_row": ("share of texts",),
    "core.studies.rsa.swap.tables.exchange_rows": ("swap, excess",),
    "core.studies.rsa.swap.tables._frame": (
        *("swap, score", "swap, loss", "swap, score of random changes"),
        "swap, loss of random changes",
    ),
    "extras.rsa.truth.areas.area_band": ("AUC of states, planted models", "AUC of outputs"),
    "core.studies.weights.arithmetic.tables.build_arithmetic": (
        *("swap, score", "swap, loss", "swap, excess"),
    ),
    "extras.weights.scaling.tables._interval": (
        *("scaled directions, value", "scaled directions, change"),
        *("scaled directions, beyond random ones", "scaled directions, beyond shrinking"),
    ),
}  # function -> names of its rows in TABLES
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "ahead": ("lead of the best layer, all layers",),
    "beside.behaviour": ("share of pairs, in groups",),
    "bits_gap": ("loss between weights",),
    "calibrated": SIMILARITIES,
    "correlation": ("rank correlation over words",),
    "cost": ("erasure, cost", "erasure, cost of random subspaces"),
    "effective_rank": ("shape, effective_rank",),
    "excess": ("swap, excess",),
    "excess_score": ("swap, loss", "swap, loss of random changes"),
    "first_share": ("shape, first_share",),
    "loss": ("swap, loss",),
    "mean_cosine": ("shape, mean_cosine",),
    "scaling.beyond": ("scaled directions, beyond random ones",),
    "scaling.change": ("scaled directions, change",),
    "scaling.excess": ("scaled directions, beyond shrinking",),
    "score_change": ("swap, loss",),
    "score_excess": ("swap, excess",),
    "slope": ("shape, slope",),
    "within": ("rank correlation of alike words",),
}  # column of the data dictionary with ends of its own -> its rows; `low` and `high` are of many
NO_BAND = ("families.null", "half", "null", "planted", "turned")  # ranges, and two halves of a text
RANGES: Mapping[str, str] = {
    "extras.alignment.attention.study.collect": "similarities of shuffled heads",
    "extras.alignment.rotation.tables.error_tables": "errors of planted rotations",
    "extras.alignment.rotation.tables.spectrum_table": "spectra of planted rotations",
    "core.maths.similarity.scoring.score": "chance level: sentences shuffled",
    "core.studies.rsa.lens.tables.change_tables": "AUCs of differences with shuffled dimensions",
    "core.studies.rsa.training.tasks.shuffle_layers": "chance level of the highest layer",
    "core.studies.weights.intruders.tables.family_row": "counts of random updates",
    "core.maths.spectra.neighbours.calc_neighbour_shares": "shares of permuted labels",
}  # middle 95 % of draws under a null or a plant: they claim to hold no true value
UNBANDED: Mapping[str, str] = {
    "extras.alignment.rotation.text._unevenness": "percentiles of singular values",
    "core.studies.alignment.seeds.charts._boxes": "boxes of pairs",
    "core.studies.rsa.layers.tables.ratio_rows": "a factor that widens bands of ratios",
    "core.studies.probes.minimal_pairs.accuracy.grouped_interval": "the interval of groups itself",
    "core.studies.probes.sentence.word_charts.distance_charts": "the end of a colour scale",
    "extras.rsa.truth.areas._critical_value": "of a test whose errors `coverage` counts",
    "core.maths.ranks.correlation_interval": "Bonett and Wright's itself",
    "core.studies.probes.minimal_pairs.accuracy.wilson_interval": "Wilson's interval itself",
    "core.maths.resampled.with_interval": "the interval of a statistic with its resamples itself",
    "core.maths.statistics.bootstrap_interval": "the percentile interval of an estimate itself",
    "core.maths.statistics.interval": "the percentile interval itself",
    "core.maths.statistics.jackknife_interval": "the jackknife's interval itself",
    "core.maths.statistics.t_interval": "Student's interval itself",
}  # quantiles that are no band


@dataclass(frozen=True)
class Label:
    """Where a band that does not cover 93 to 97 % is named.

    Attributes:
        row: How its rows in TABLES begin.
        said: Words of docs/statistics.md.
        studies: Names of the studies that draw it; none where the app does not.
        on_page: Words of those studies' caveat that not every band covers 95 %.
    """

    row: str
    said: str
    studies: tuple[str, ...] = ()
    on_page: str = ""


SETS = "81 to 84 % with 2 sets, 97 to 98 % with 3"
LOOSE = "for CCA, SVCCA, PWCCA and mutual k-NN"
COMPARING = ("rsa", "training", "divergence")
OF_TREES = ("probe", "probe polar", "probe training")
LABELS = (
    *(
        Label(f"{measure}, {kind}", "CCA, SVCCA, PWCCA and mutual k-NN |", COMPARING, LOOSE)
        for measure in ("cca", "svcca", "pwcca", "knn")
        for kind in coverage.KINDS
    ),
    *(
        Label(
            f"{measure}, {kind}", "RSA, CKA, mean cosine and Procrustes |", COMPARING, "for RSA, "
        )
        for measure in ("rsa", "cka", "cka-debiased", "cosine", "procrustes")
        for kind in coverage.KINDS
    ),
    Label("angle of two spaces", "angles of spaces, 10 to 30", ("spaces",), "from 60 sentences on"),
    Label("shape, ", "shapes of spaces, 10 to 200", ("spaces",), "of shapes cover"),
    Label("rsa, coherent, bootstrap (for comparison)", "such bands of RSA cover 80 %"),
    Label(
        "bootstrap over models (for comparison)", "A bootstrap of three models covers about 75 %"
    ),
    Label("pooled runs", "pooled runs, 2 or 3 of them |", ("rsa",), "Pooled bands of 2 or 3 runs"),
    Label(
        "ratio of layer functions",
        "distances of layer functions, divided by",
        ("rsa",),
        "Ratios to random changes cover 97 %",
    ),
    Label(
        "differences of two texts",
        "differences of two texts, or of a pinned result",
        ("rsa",),
        "Differences of two texts hold together in 98 %",
    ),
    Label("differences on the same", "differences of two texts, or of a pinned result"),
    Label(
        "scaled directions, beyond random",
        "scaled intruder dimensions minus 5 random",
        ("weights scaling",),
        "5 random directions cover 98 %",
    ),
    Label("AUC of outputs, almost 1", "AUCs above .95", ("truth",), "AUCs above .95"),
    Label("probe margin over a baseline", "margin of a probe over", OF_TREES, "margins over"),
    *(
        Label(row, said, (*OF_TREES, "probe edges"), SETS)
        for row, said in {
            "probe score, control trees": "the range of the intervals",
            "probe selectivity": "control trees and selectivity with 3 sets |",
            "linear chain, control trees": "the range of the intervals",
        }.items()
    ),
    *(
        Label(row, "10 random changes: their score and loss |", ("swap",), "10 random changes")
        for row in ("swap, score of random changes", "swap, loss of random changes")
    ),
    Label("attachment score", "attachment scores and mean", ("probe",), "attachment scores 92 %"),
    Label(
        "loss between weights", "losses between weights", ("align barrier", "bits"), "92 % with 30"
    ),
    Label(
        "accuracy, over sentences",
        "accuracy, attachment",
        ("probe edges",),
        "accuracies cover 92",
    ),
    Label(
        "mean divergence",
        "mean divergences from 30",
        ("divergence", "lens"),
        "mean divergences cover 92",
    ),
    Label(
        "share of pairs, in groups",
        "pairs in 4 groups |",
        ("probe behaviour",),
        "4 groups",
    ),
    Label(
        "rank correlation over models",
        "rank correlation over 6",
        ("probe behaviour",),
        "6 models",
    ),
)  # of the rows outside .93 to .97
