"""Which models a pattern names, and which are runs of one task."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from core.errors import SpecError
from core.studies.notices import base_left_out
from core.studies.rsa.layers import runs, tables
from core.studies.rsa.layers.spec import RsaSpec

BASE = "zoo:seed-0"
MODELS = [
    {"ref": "zoo:seed-0"},
    {"ref": "zoo:seed-1"},
    {"ref": "zoo:seed-0-again", "second_run_of": BASE},
    {"ref": "zoo:parse-0", "base": BASE},
    {"ref": "zoo:parse-1", "base": BASE},
    {"ref": "zoo:parse-2", "base": "zoo:seed-1"},
    {"ref": "zoo:parse-frozen-2", "base": BASE, "frozen": 2},
    {"ref": "zoo:parse-frozen-4", "base": BASE, "frozen": 4},
]


@pytest.fixture(autouse=True)
def _box(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "read_manifest", lambda: MODELS)
    monkeypatch.setattr("core.models.zoo.read_manifest", lambda: MODELS)
    monkeypatch.setattr("core.models.patterns.read_manifest", lambda: MODELS)


def test_a_pattern_names_fine_tunes_of_the_base_that_were_trained_alike() -> None:
    found = runs.find_compared(BASE, ["zoo:parse-*"])
    assert found.refs == ("zoo:parse-0", "zoo:parse-1")
    assert found.notices == (
        runs.said("other_base", base=BASE, names="zoo:parse-2 (zoo:seed-1)"),
        runs.said("other_settings", names="zoo:parse-frozen-2, zoo:parse-frozen-4"),
    )
    assert runs.find_compared(BASE, ["zoo:seed-*"]).refs == ("zoo:seed-1",)
    assert base_left_out(BASE) in runs.find_compared(BASE, ["zoo:seed-*", "zoo:s*"]).notices
    named = runs.find_compared(BASE, [BASE, "zoo:parse-0"])
    assert (named.refs, named.notices) == (("zoo:parse-0",), (base_left_out(BASE),))
    with pytest.raises(SpecError, match="cannot be compared with itself: choose another model"):
        runs.find_compared(BASE, [BASE])
    assert runs.find_compared(BASE, ["zoo:parse-frozen-*"]).refs == (
        "zoo:parse-frozen-2",
        "zoo:parse-frozen-4",
    )


def test_a_pattern_leaves_out_adapters_of_other_bases(monkeypatch: pytest.MonkeyPatch) -> None:
    adapters = [{"ref": f"zoo:qa-{run}", "base": f"zoo:seed-{run}"} for run in range(2)]
    for module in ("core.models.zoo", "core.models.patterns"):
        monkeypatch.setattr(f"{module}.read_adapters", lambda: adapters)
    found = runs.find_compared(BASE, ["zoo:qa-*"])
    assert found.refs == ("zoo:qa-0",)
    assert found.notices == (runs.said("other_base", base=BASE, names="zoo:qa-1 (zoo:seed-1)"),)


def test_references_are_another_seed_a_second_run_and_random_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named = [{**model, "name": model["ref"].removeprefix("zoo:")} for model in MODELS]
    monkeypatch.setattr(runs, "read_manifest", lambda: named)
    monkeypatch.setattr("core.models.zoo.read_manifest", lambda: named)
    references = ("zoo:seed-1", "zoo:seed-0-again", "random:zoo:seed-0")
    assert runs.find_references(RsaSpec(BASE)) == references
    assert runs.find_references(RsaSpec("zoo:seed-1")) == ("zoo:seed-0", "random:zoo:seed-1")
    assert runs.find_references(RsaSpec(BASE, references=False)) == ()


def test_runs_are_of_one_base_and_trained_alike() -> None:
    refs = (
        "zoo:parse-0",
        "zoo:parse-2",
        "zoo:parse-1",
        "zoo:parse-frozen-2",
        "zoo:parse-frozen-4",
        "hub:a/b-1",
    )
    assert runs.runs_of(BASE, refs) == {
        "zoo:parse-*": ("zoo:parse-0", "zoo:parse-1"),
        "zoo:parse-2": ("zoo:parse-2",),
        "zoo:parse-frozen-2": ("zoo:parse-frozen-2",),
        "zoo:parse-frozen-4": ("zoo:parse-frozen-4",),
        "hub:a/b-1": ("hub:a/b-1",),
    }


@pytest.mark.parametrize(
    "names",
    [
        ("path:/runs/checkpoint-200", "path:/runs/checkpoint-3200"),
        ("zoo:seed-9@step-200", "zoo:seed-9@step-800"),
        ("hub:lab/tuned-epoch-1", "hub:lab/tuned-epoch-2"),
        ("path:/merged/parse-rank_8", "path:/merged/parse-rank_64"),
        ("random:zoo:seed-0", "random:zoo:seed-1"),
        ("zoo:adapted-1", "zoo:adapted-8"),
    ],
)
def test_steps_of_one_run_and_other_ranks_are_no_runs(
    names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    adapters = [
        {"ref": f"zoo:adapted-{rank}", "base": BASE, "settings": {"rank": rank}} for rank in (1, 8)
    ]
    monkeypatch.setattr("core.models.zoo.read_adapters", lambda: adapters)
    assert runs.runs_of(BASE, names) == {name: (name,) for name in names}


def test_adapters_of_one_rank_are_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("zoo:qa-0", "zoo:qa-1")
    adapters = [{"ref": name, "base": BASE, "settings": {"rank": 16}} for name in names]
    monkeypatch.setattr("core.models.zoo.read_adapters", lambda: adapters)
    groups = runs.runs_of(BASE, names)
    assert groups == {"zoo:qa-*": names}
    assert runs.pooled_by_name(groups) == [], "the manifest says that they are"


def test_a_step_in_the_middle_of_a_name_says_nothing_about_its_last_number() -> None:
    names = ("path:/step-200/run-0", "path:/step-200/run-1")
    groups = runs.runs_of(BASE, names)
    assert groups == {"path:/step-200/run-*": names}
    (notice,) = runs.pooled_by_name(groups)
    assert all(said in notice for said in (*names, "--no-pool-runs"))


@pytest.mark.parametrize("lowest", [-1.0, 0.0])
def test_the_pooled_band_stays_in_the_range_of_the_measure(lowest: float) -> None:
    row = pooled([0.05, 0.98], 0.0, lowest)
    assert (row["low"], row["high"]) == (lowest, 1.0)


def rows_of_runs(values: list[float], half: float) -> pd.DataFrame:
    """One layer of several runs whose own bands, over sentences, reach `half` to each side."""
    value = np.array(values)
    names = [f"zoo:parse-{number}" for number in range(len(values))]
    columns = {
        "model": names,
        "layer": 3,
        "similarity": value,
        "low": value - half,
        "high": value + half,
    }
    return pd.DataFrame(
        columns
        | dict.fromkeys(("null_low", "null_high", "relative_change", "apart", "scaled"), 0.0)
    )


def pooled(values: list[float], half: float, lowest: float = -1.0) -> pd.Series:
    rows = rows_of_runs(values, half)
    return tables.pool_rows(rows, {"zoo:parse-*": list(rows["model"])}, lowest).iloc[0]


def test_where_sentences_say_the_same_the_band_is_students_over_runs() -> None:
    values = [0.41, 0.48, 0.44, 0.39]
    row = pooled(values, 0.0)
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    assert (row["similarity"], row["low"], row["high"]) == pytest.approx(
        (np.mean(values), low, high)
    )


def test_where_runs_agree_the_band_is_that_of_their_sentences() -> None:
    """Runs read the same sentences, so more runs take nothing off what the sentences leave open."""
    for count in (2, 3, 9):
        row = pooled([0.5] * count, 0.1)
        assert (row["low"], row["high"]) == pytest.approx((0.4, 0.6))


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("apart", [0.01, 0.02, 0.08])
def test_the_pooled_band_covers_what_it_says(count: int, apart: float) -> None:
    """All runs see one error of .02 over sentences, and differ by less, as much and more: 95 % of
    bands hold the truth, and Welch's degrees of freedom would let 88 % of those of two runs that
    differ more."""
    rng, held, studies = np.random.default_rng(0), 0, 1_000
    for _ in range(studies):
        values = 0.5 + rng.normal(0, 0.02) + rng.normal(0, apart, count)
        half = 0.02 * stats.norm.ppf(0.975)
        low, high = tables.pooled_band(values, values - half, values + half)
        held += low <= 0.5 <= high
    assert held / studies > 0.935
