"""Probes through training: paired tests of whether the best layer moves; tables and statements."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from core.errors import SpecError
from core.maths.structural.bands import ProbeScores
from core.results.estimates import estimate_of
from core.results.findings import in_two_lines
from core.results.statements import Statement
from core.studies.probes.training.report import (
    AT_BEST,
    HIGHEST,
    LOSS,
    LOWEST,
    MOVES,
    STAYS,
    UNDECIDED,
    UNREAL,
    doubts_of,
    loss_statements,
    make_headline,
    stated,
    statements_of,
    view_sentences,
)
from core.studies.probes.training.spec import ProbeTrainingSpec
from core.studies.probes.training.study import STUDY, find_peaks, untaught
from core.studies.probes.trees.comparisons import lead
from core.studies.probes.trees.statements import CONTROL_TREES
from core.studies.probes.trees.tables import (
    CHAIN,
    OF_CONTROL,
    POSITION,
    SHOWN,
    TAGS,
    WINDOW,
)

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result


def group(
    levels: list[float], *, dev: list[float] | None = None, noise: float = 0.1
) -> ProbeScores:
    """Layers at these levels, two probes each; what is hard in a resample is hard in all layers."""
    drawn = np.random.default_rng(0)
    points = np.array(levels)[:, None] + drawn.normal(0, noise, (len(levels), 2))
    shared = drawn.normal(0, 5, (200, 1, 1))
    resampled = points[None] + shared + drawn.normal(0, noise, (200, len(levels), 2))
    return ProbeScores(tuple(range(len(levels))), points, resampled, np.array(dev or levels))


@pytest.fixture(scope="module")
def result() -> Result:
    spec = ProbeTrainingSpec(
        steps=("zoo:seed-0@step-0", "zoo:seed-0@step-800"),
        sentences=140,
        epochs=2,
        draws=50,
        seeds=2,
        controls=1,
    )
    return STUDY.run(spec)


def test_a_lead_is_paired_by_sentences_and_each_layer_has_probes_of_its_own() -> None:
    mine = group([50.0, 53.0, 52.0])
    found = lead(mine, 1)
    assert found["value"] == pytest.approx(
        [(mine.points[1] - mine.points[row]).mean() for row in (0, 2)]
    )
    assert (found["high"] - found["low"] < 3).all(), (
        "the sentences' difficulty, with a deviation of 5, is in neither"
    )
    assert (found["low"] > 0).all()
    spread = lead(group([50.0, 53.0, 52.0], noise=3.0), 1)
    assert (spread["high"] - spread["low"] > found["high"] - found["low"]).all()
    assert lead(group([50.0]), 0)["value"].size == 0


def test_a_best_layer_that_moves_differs_from_one_that_noise_moved() -> None:
    still, moved = group([50.0, 50.05, 50.0], dev=[1, 9, 1]), group([50.0, 55.0, 50.0])
    end = group([50.0, 50.0, 60.0])
    peaks = find_peaks({"a": {"uuas": still}, "b": {"uuas": moved}, "end": {"uuas": end}})
    peaks = peaks.set_index("model")
    assert peaks["layer"].tolist() == [1, 1, 2]
    assert peaks["clear"].tolist() == [False, True, True]
    assert peaks["end_layer"].tolist() == [2, 2, 2]
    assert peaks.loc["a", "ahead_low"] < 0 < peaks.loc["a", "ahead_high"]
    assert peaks.loc["b", "ahead_low"] > 0
    assert peaks.loc["end", ["ahead", "ahead_low", "ahead_high"]].tolist() == [0, 0, 0]


def test_a_lead_is_clear_where_it_holds_for_all_steps_together() -> None:
    """Of many steps whose peak did not move, one in twenty would be ahead by chance."""
    lucky, end = group([50.0, 50.26, 50.0], noise=0.1), group([50.0, 50.0, 60.0])
    alone = find_peaks({"a": {"uuas": lucky}, "end": {"uuas": end}}).iloc[0]
    many = {str(step): {"uuas": lucky} for step in range(40)}
    among = find_peaks({**many, "end": {"uuas": end}}).iloc[0]
    assert alone["ahead"] == among["ahead"]
    assert among["ahead_low"] < 0 < alone["ahead_low"]
    assert among["ahead_high"] > alone["ahead_high"]


def test_the_headline_says_whether_the_peak_moves() -> None:
    step, final = "zoo:seed-0@step-50", "zoo:seed-0"

    def told(early: ProbeScores) -> tuple[Statement, str]:
        """The statement on the best layer, and the headline."""
        groups = {step: {"uuas": early}, final: {"uuas": group([50.0, 50.0, 60.0])}}
        tables: dict[str, pd.DataFrame] = {"best": find_peaks(groups)}
        for name, columns in (("loss", ["loss"]), ("margins", ["model", "metric", "layer"])):
            tables[name] = tables["best"].reindex(columns=columns).iloc[:0]
        start, end, moves = statements = statements_of(tables, "uuas")
        assert (start.subject, end.subject) == (step, final)
        headline = " ".join(make_headline(statements))
        assert start.named_in(headline)
        assert end.named_in(headline)
        return moves, headline

    undecided, unsure = told(group([50.0, 50.05, 50.0], dev=[1, 9, 1]))
    assert undecided == Statement(final, UNDECIDED, None, (2,), metric="uuas")
    moved, moving = told(group([50.0, 55.0, 50.0]))
    assert (moved.subject, moved.verdict, moved.baseline) == (step, MOVES, final)
    assert moved.layers == (1,)
    stays, still = told(group([50.0, 50.0, 51.0]))
    assert stays == Statement(final, STAYS, None, (2,), metric="uuas")
    assert "1 at seed-0@step-50" in moving
    assert len({sentence.rpartition(". ")[2] for sentence in (unsure, moving, still)}) == 3


def test_every_step_and_the_end_stand_beside_their_rivals(result: Result) -> None:
    assert not result.failures
    table, best = result.table, result.tables["best"]
    steps = ["zoo:seed-0@step-0", "zoo:seed-0@step-800", "zoo:seed-0"]
    assert best["model"].tolist() == [step for step in steps for _ in range(2)]
    assert best["tokens"].tolist()[::2] == [0, 1_638_400, 25_190_400]
    uuas = table[table["metric"] == "uuas"]
    assert set(uuas.loc[uuas["probe"] == f"distance{OF_CONTROL}", "model"]) == {*steps, CHAIN}
    assert {CHAIN, POSITION} <= set(uuas["model"])
    margins = result.tables["margins"]
    assert set(margins["model"]) == set(steps[1:]), "step 0 is a rival"
    assert set(margins["rival"]) == {POSITION, steps[0], WINDOW}
    assert set(margins.loc[margins["rival"] == WINDOW, "model"]) == {steps[-1]}, "its own words"
    assert set(result.tables["differences"]["base"]) == {steps[0]}
    assert result.tables["loss"]["loss"].is_monotonic_decreasing
    for row in best.itertuples():
        mine = table[
            (table["model"] == row.model)
            & (table["metric"] == row.metric)
            & (table["probe"] == "distance")
        ]
        assert row.value == pytest.approx(
            float(mine.loc[mine["layer"] == row.layer, "value"].iloc[0])
        )
    chosen = uuas[(uuas["model"] == steps[-1]) & (uuas["probe"] == "distance")]
    assert best.iloc[-2]["layer"] == chosen.loc[chosen["dev"].idxmax(), "layer"]


def test_its_figures_and_sentences(result: Result) -> None:
    drawn = STUDY.figures(result)
    assert set(drawn) == {"uuas-best", "uuas-layers", "dspr-best", "dspr-layers", "loss"}
    assert all(
        f"layer {layer}: " in drawn["uuas-layers"].to_dict()["description"] for layer in range(7)
    )
    words = drawn["uuas-best"].to_dict()["description"]
    assert all(f"{name}: " in words for name in (AT_BEST, UNREAL, CHAIN, WINDOW, SHOWN[POSITION]))
    losses = loss_statements(result.tables["loss"])
    assert {each.verdict for each in losses} == {LOSS}
    for metric in ("uuas", "dspr"):
        sentence = in_two_lines(view_sentences(result, metric))
        assert sentence.endswith(".")
        assert 40 < len(sentence) <= 160
        start, final, *_ = stated(result, metric)
        before = replace(result, statements=losses)
        assert sentence == in_two_lines(view_sentences(before, metric))
        assert start.named_in(sentence)
        assert final.named_in(sentence)
    statements = statements_of(result.tables, "uuas")
    assert result.statements[: len(statements)] == statements
    assert all(each.named_in(result.headline) for each in (*statements, *losses))
    best = result.tables["best"].query("metric == 'uuas'")
    start, final, *rest = statements
    for statement, row in ((start, best.iloc[0]), (final, best.iloc[-1])):
        assert (statement.subject, statement.layers) == (row["model"], (row["layer"],))
        assert statement.estimate == estimate_of(row, "value")
    margins = {each.baseline: each for each in rest if each.subject == final.subject}
    assert {POSITION, WINDOW, "zoo:seed-0@step-0"} <= set(margins)
    rows = result.tables["margins"].query("metric == 'uuas' and model == 'zoo:seed-0'")
    rows = rows[rows["layer"] == final.layers[0]].set_index("rival")
    for rival, row in rows.iterrows():
        assert margins[rival].estimate == estimate_of(row, "margin")
    values = result.tables["loss"]["loss"]
    assert [loss.number.value for loss in losses] == [values.iloc[0], values.iloc[-1]]
    doubts = doubts_of(result.tables)
    of_views = statements_of(result.tables, "dspr")
    assert result.statements[len(statements) :] == (*losses, *doubts, *of_views)
    control = result.table[result.table["probe"] == f"distance{OF_CONTROL}"]
    control = control[(control["metric"] == "uuas") & control["layer"].notna()]["value"]
    ends = {each.verdict: each for each in doubts if each.subject == CONTROL_TREES}
    assert ends[LOWEST].estimate.value == control.min()
    assert ends[HIGHEST].estimate.value == control.max()
    assert all(any(end.named_in(notice) for notice in result.notices) for end in ends.values())
    assert "zoo:seed-0@step-800" in result.methods


def test_the_end_is_probed_as_the_probe_study_probes_it() -> None:
    """The same arguments; only the maps, which nobody asks for here, are not kept."""
    from core.runs.runner import run
    from core.studies.probes.training import study as training
    from core.studies.probes.trees import study

    spec = ProbeTrainingSpec(
        steps=("zoo:seed-0@step-0",), sentences=60, epochs=1, seeds=1, controls=1
    )
    ready = run(training.prepare(spec))
    mine, theirs = (
        {task.role: task for task in tasks}
        for tasks in (training.plan(spec, ready), study.plan(spec.as_probes, ready))
    )
    assert dict(mine.pop((WINDOW, "zoo:seed-0")).arguments)["probes"] == ("distance",)
    without = (WINDOW, *TAGS.values())  # baselines that a step does not have
    theirs = {role: task for role, task in theirs.items() if not {role, role[0]} & {*without}}
    assert set(mine) - set(theirs) == {
        ("model", "zoo:seed-0@step-0"),
        ("control", "zoo:seed-0@step-0"),
    }
    assert all(mine[role].arguments == task.arguments for role, task in theirs.items())
    shared = {role for role, task in theirs.items() if mine[role].key == task.key}
    assert set(theirs) - shared == {("model", "zoo:seed-0")}
    ours, whole = (dict(tasks["model", "zoo:seed-0"].compute()) for tasks in (mine, theirs))
    assert set(whole) - set(ours) == {"distance_maps"}
    assert np.array_equal(ours["hits"], whole["hits"])


def test_only_step_0_and_random_weights_have_seen_nothing() -> None:
    assert [
        untaught(ref) for ref in ("zoo:seed-0@step-0", "random:zoo:seed-0", "zoo:seed-0", "hub:a/b")
    ] == [*(True, True, False, False)]


def test_a_run_without_steps_is_refused() -> None:
    with pytest.raises(SpecError, match="No model matches"):
        STUDY.run(ProbeTrainingSpec(steps=("zoo:nothing@step-*",)))
