"""Numbers that texts say by hand are those of the code."""

from __future__ import annotations

import re
from math import factorial, log, sqrt

import pytest

from benchmarks import coverage
from core.catalogue import STUDIES
from core.maths.maps.bank import Schedule
from core.maths.similarity.scoring import COVERAGE
from core.maths.statistics import LEVEL, SIGNIFICANT
from core.results.drawing.maps import MOST_STRESS
from core.results.numbers import text_of
from core.studies.alignment.seeds import text as seeds_text
from core.studies.probes.minimal_pairs.templates import KINDS, joined_groups
from core.studies.rsa.lens.lenses import FIRST
from core.studies.rsa.lens.tables import FIRST_FIVE
from tests import ROOT

IN_WORDS = {3: "three", 5: "five"}


STRICT = ("rsa", "cka", "cka-debiased", "cosine", "procrustes")
WIDE = ("cca", "svcca", "pwcca", "knn")
COVERED = re.compile(r"^(?P<row>\S.*?) {2,}\d+ .*? {2,}(?P<covers>[01]\.\d+)", re.MULTILINE)


def coverages(table: str, *rows: str) -> tuple[float, float]:
    """The least and the largest coverage of some rows of a committed table, in per cent."""
    text = (ROOT / "benchmarks" / table).read_text(encoding="utf8")
    covers = [float(each["covers"]) for each in COVERED.finditer(text) if each["row"] in rows]
    assert len(covers) >= len(rows)
    return 100 * min(covers), 100 * max(covers)


def page(name: str) -> str:
    """A page of the documentation, on one line."""
    return " ".join((ROOT / "docs" / name).read_text(encoding="utf8").split())


def said(folder: str) -> str:
    """The words of a study, on one line."""
    return " ".join((ROOT / folder / "words.toml").read_text(encoding="utf8").split())


def test_intervals_are_of_95_per_cent_and_p_values_significant_below_the_rest() -> None:
    assert (LEVEL, SIGNIFICANT) == (0.95, 0.05)


def test_the_places_of_the_lens_are_the_first_five() -> None:
    assert f"first {IN_WORDS[FIRST]}" == FIRST_FIVE


def test_networks_are_trained_at_three_rates() -> None:
    study = STUDIES["align"]
    methods = seeds_text.make_methods(study.Spec(), 10, {})
    assert f"at {IN_WORDS[Schedule().rates]} learning rates" in methods


@pytest.mark.parametrize(
    ("folder", "sentence"),
    [
        ("core/studies/rsa/spaces", "as a share of the true ones; above {},"),
        ("core/studies/weights/clusters", "Below a stress of {}, distances"),
    ],
)
def test_a_map_misleads_above_one_stress(folder: str, sentence: str) -> None:
    assert sentence.format(text_of(MOST_STRESS).rstrip("0")) in said(folder)
    percent = f"more than {100 * MOST_STRESS:.0f} % (stress)"
    assert percent in said("core/studies/weights/clusters")


def test_groups_of_pairs_are_as_many_as_is_said() -> None:
    counts = {kind: len(set(joined_groups({kind: 100}))) for kind in KINDS}
    many = counts.pop("arguments")
    text = said("core/studies/probes/behaviour")
    assert f"There are {min(counts.values())} to {max(counts.values())} such groups" in text
    assert f"about {round(many, -1)}" in text


def test_what_is_calculated_by_hand_is_right() -> None:
    assert f"With 4 heads per layer there are {factorial(4)} ways" in said(
        "extras/alignment/attention"
    )
    nearest = [text_of(sqrt(2 * log(width) / width)) for width in (128, 768)]
    assert "nearest: {} for 128, {} for 768".format(*nearest) in said(
        "core/studies/weights/intruders"
    )


def test_coverages_of_similarities_are_those_of_the_table() -> None:
    (least, most), wide = (
        coverages("coverage.txt", *(f"{each}, {kind}" for each in group for kind in coverage.KINDS))
        for group in (STRICT, WIDE)
    )
    assert f"cover {least:.0f} to {int(most)} % for RSA" in COVERAGE
    assert f"{wide[0]:.0f} to {wide[1]:.0f} % for CCA" in COVERAGE
    assert f"RSA, CKA, mean cosine and Procrustes | {least:.0f} to {int(most)} %" in page(
        "statistics.md"
    )
    assert f"Procrustes cover .{least:.0f} to .{int(most)} with" in page("benchmarks.md")


def test_coverages_of_accuracies_are_those_of_the_table() -> None:
    rows = ("attachment score", "accuracy, over sentences", "mean divergence")
    least, _ = coverages("band_coverage.txt", *rows)
    assert f"mean divergences from 30 sentences | {least:.0f} % |" in page("statistics.md")
    assert f"mean divergences from 30 sentences (.{least:.0f})" in page("benchmarks.md")


@pytest.mark.parametrize(
    ("folder", "row"),
    [
        ("core/studies/alignment/barrier", "loss between weights"),
        ("core/studies/rsa/bits", "loss between weights"),
        ("core/studies/rsa/divergence", "mean divergence"),
        ("core/studies/rsa/lens", "mean divergence"),
        ("core/studies/probes/edges", "accuracy, over sentences"),
    ],
)
def test_coverages_with_30_and_100_sentences_are_those_of_the_table(folder: str, row: str) -> None:
    covers = coverages("band_coverage.txt", row)
    few, many = (
        f"{cover:.0f} % with {count}" for cover, count in zip(covers, (30, 100), strict=True)
    )
    assert few in said(folder)
    assert many in said(folder)
