"""What a layer adds to the static window: against scikit-learn, and labels planted in either."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.errors import SpecError
from core.maths.structural.bands import ProbeScores
from core.results.estimates import estimate_of
from core.results.export import Result
from core.runs.runner import run
from core.studies.probes.edges import tables, tasks
from core.studies.probes.edges.charts import drawable
from core.studies.probes.edges.items import edge_items
from core.studies.probes.edges.spec import EdgeSpec
from core.studies.probes.edges.study import STUDY, plan
from core.studies.probes.edges.tables import ACCURACY, BITS, GAIN, UNSEEN
from core.studies.probes.edges.text import (
    ADDED,
    doubts_of,
    make_headline,
    make_notices,
    statements_of,
)
from core.studies.probes.trees.comparisons import gains_over_window
from core.studies.probes.trees.data import Tree, Trees
from core.studies.probes.trees.planning import prepare_same
from core.studies.probes.trees.statements import TOO_FEW
from core.studies.probes.trees.tables import BESIDE, EMBEDDINGS, WINDOW
from core.studies.probes.trees.tasks import read_vectors
from core.vectors.window import REACHES, windows_of_sentences
from tests.core.studies.probes.edges.test_study import write_tagged
from tests.core.tiny_models import save_tiny

WIDTH, CLASSES = 6, 3
SIZES = (300, 30, 90)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> EdgeSpec:
    folder = tmp_path_factory.mktemp("conditional")
    return EdgeSpec(
        models=(f"path:{save_tiny(folder / 'bert', 'bert')}",), layers=(1, 2), draws=50,
        corpus=str(write_tagged(folder / "trees.conllu")), controls=0, untrained=False,
        conditional=True, penalty=30.0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def result(asked: EdgeSpec) -> Result:
    return STUDY.run(asked)


@pytest.mark.slow
def test_a_layer_beside_the_window_is_scored_like_scikit_learn(asked: EdgeSpec) -> None:
    """Window, layer and classifier, each by a second way, one after another."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    model, target = asked.models[0], "label"
    planned = {task.role: task for task in plan(asked, run(prepare_same(asked)))}
    task = planned[BESIDE, model, target]
    given, value = dict(task.arguments), task.compute()
    trees, (training, dev) = given["trees"], np.cumsum(given["sizes"])[:2]
    lengths = np.array([len(words) for words in trees.words])
    states = read_vectors(model, trees.words, (0, 1, 2))[0].astype(np.float64)
    window = windows_of_sentences(states[:, 0], lengths, int(value["reach"][0]))
    items = edge_items(target, trees.heads, trees.keep, given["tags"])
    fitted, test = items.sentence < training, items.sentence >= dev
    starts = np.cumsum([0, *lengths[:-1]])
    places = [starts[items.sentence] + place for place in (items.head, items.word)]
    truth = np.array(items.labels)
    beside = np.concatenate([window[place] for place in places], axis=1)
    beside = StandardScaler().fit(beside[fitted]).transform(beside)
    for row, layer in enumerate((1, 2, None)):
        pairs = np.concatenate([states[place, layer or 0] for place in places], axis=1)
        own = StandardScaler().fit(pairs[fitted]).transform(pairs)
        constant = np.ones((len(own), 1))
        features = np.concatenate([beside, own * (layer is not None), constant], axis=1)
        slow = LogisticRegression(C=1 / asked.penalty, fit_intercept=False, max_iter=2_000)
        right = slow.fit(features[fitted], truth[fitted]).predict(features[test]) == truth[test]
        assert abs(np.asarray(value["correct"])[row, 0].sum() - right.sum()) <= 2
    assert np.asarray(value["layers"]).tolist() == [1, 2, 3]


@pytest.mark.slow
def test_layers_fitted_one_by_one_score_as_together(
    asked: EdgeSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = asked.models[0]
    planned = {task.role: task for task in plan(asked, run(prepare_same(asked)))}
    given = dict(planned[BESIDE, model, "pos"].arguments)
    whole = tasks.probe_beside_window(**given)
    monkeypatch.setattr(tasks, "LARGEST", 1)
    parts = tasks.probe_beside_window(**given)
    np.testing.assert_allclose(parts["bits"], whole["bits"], rtol=0.01)  # when a fit stops
    np.testing.assert_array_equal(parts["layers"], whole["layers"])


@pytest.mark.parametrize("reach", REACHES)
def test_the_window_reads_as_far_as_the_label_lies(
    reach: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A word's label is that of the word `reach` places before it, which only its vector shows."""
    rng = np.random.default_rng(reach)
    lengths = rng.integers(8, 12, sum(SIZES))
    marks = rng.integers(0, CLASSES, lengths.sum())
    states = (np.eye(WIDTH)[marks] * 3).astype(np.float32)
    monkeypatch.setattr(tasks, "read_with_embeddings", lambda *asked: (None, states, []))
    ends = np.cumsum(lengths)
    rows = [marks[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    tags = tuple(
        tuple(f"T{row[place - reach] if place >= reach else 0}" for place in range(len(row)))
        for row in rows
    )
    trees = Trees.of(
        [
            Tree(tuple(f"w{place}" for place in range(n)), (0, *range(1, n)), (True,) * n)
            for n in map(int, lengths)
        ]
    )
    value = tasks.probe_window("zoo:seed-0", "", "pos", trees, tags, SIZES, 0.0)
    assert value["reach"].tolist() == [reach]
    assert value["correct"].sum() / value["items"].sum() > 0.9


def planted(known: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Gains of two layers where a label is known to the first layer, to the window or to both."""
    rng = np.random.default_rng(3)
    lengths = rng.integers(4, 9, sum(SIZES))
    labels = rng.integers(0, CLASSES, lengths.sum())
    signal = np.eye(WIDTH)[labels] * 3
    states = rng.standard_normal((len(labels), 2, WIDTH))
    window = rng.standard_normal((len(labels), 3 * WIDTH))
    if known in ("layer", "both"):
        states[:, 0] += signal
    if known in ("window", "both"):
        window[:, WIDTH : 2 * WIDTH] += signal
    monkeypatch.setattr(tasks, "read_with_embeddings", lambda *asked: (states, window, []))
    monkeypatch.setattr(
        tasks, "of_best_reach", lambda rows, lengths, score: (score(rows), (rows, 1))[1]
    )
    ends = np.cumsum(lengths)
    tags = tuple(
        tuple(f"T{label}" for label in labels[end - length : end])
        for end, length in zip(ends, lengths, strict=True)
    )
    trees = Trees.of(
        [
            Tree(tuple(f"w{place}" for place in range(n)), (0, *range(1, n)), (True,) * n)
            for n in map(int, lengths)
        ]
    )
    value = tasks.probe_beside_window("zoo:seed-0", "", "pos", trees, tags, SIZES, (1, 2), 1.0)
    sample = tables.samples(value, 400, 0)
    both = tables.groups_of(value, sample)
    frames = map(pd.DataFrame, gains_over_window("zoo:seed-0", both))
    by_metric = {frame["metric"].iloc[0]: frame.set_index("layer") for frame in frames}
    assert set(by_metric) == {ACCURACY, UNSEEN, BITS}
    return by_metric


def test_a_label_that_only_a_layer_knows_is_its_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    gains = planted("layer", monkeypatch)
    assert gains[ACCURACY].loc[1, "low"] > 30
    assert gains[BITS].loc[1, "high"] < -0.5
    assert gains[ACCURACY].loc[2, "low"] < 0 < gains[ACCURACY].loc[2, "high"]


@pytest.mark.parametrize("known", ["window", "both"])
def test_a_label_that_the_window_knows_is_no_gain(
    known: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even of a layer that knows it, too, but for what two noisy copies tell beyond one."""
    gains = planted(known, monkeypatch)[ACCURACY]
    assert gains["rival_value"].min() > 85
    assert gains.loc[2, "low"] < 0.5
    assert gains.loc[2, "margin"] < 1
    assert gains.loc[1, "margin"] < (12 if known == "both" else 1)


@pytest.mark.exhaustive
def test_the_study_has_rows_a_sentence_and_a_figure_of_each_gain(
    asked: EdgeSpec, result: Result
) -> None:
    model, added = asked.models[0], result.tables["added"]
    assert not result.failures
    assert tuple(added.columns) == tables.COLUMNS["added"]
    assert set(added["rival"]) == {WINDOW}
    assert added.groupby(["probe", "metric"])["layer"].apply(list).tolist() == [[1, 2]] * 9
    gains = [each for each in result.statements if each.verdict == ADDED]
    assert [(each.metric, each.subject) for each in gains] == [
        (target, model) for target in asked.targets
    ]
    for each, target in zip(gains, asked.targets, strict=True):
        rows = added[(added["probe"] == target) & (added["metric"] == ACCURACY)]
        most = rows.loc[rows["margin"].idxmax()]
        assert each.layers == (most["layer"],)
        assert each.estimate == estimate_of(most, "margin")
        assert each.estimate.level == 1 - 0.05 / 2  # of two layers the best
        assert each.named_in(result.headline)
    for layer in (1, 2):
        raised = added.assign(margin=added["margin"].where(added["layer"] != layer, 99.0))
        stated = statements_of({**result.tables, "added": raised}, [model])
        assert {each.layers for each in stated if each.verdict == ADDED} == {(layer,)}
    assert {f"{target}-{GAIN}" for target in asked.targets} <= set(STUDY.figures(result))
    assert set(tables.rows_of(result, GAIN)["added"]["metric"]) == {ACCURACY}
    assert "Hewitt et al. 2021" in result.methods


@pytest.mark.slow
def test_layer_0_beside_the_window_is_a_rival_of_the_other_layers(
    asked: EdgeSpec, result: Result
) -> None:
    """What layer 0 adds, no layer has computed."""
    points = np.array([[63.0], [64.0], [70.0], [60.0]])  # layers 0, 1, 2, the window alone
    noise = np.random.default_rng(0).normal(0, 0.1, (200, 4, 1))
    group = ProbeScores((0, 1, 2, 3), points, points + noise, points[:, 0])
    frames = map(pd.DataFrame, gains_over_window("zoo:seed-0", {ACCURACY: group}))
    gains = pd.concat(frames).set_index(["rival", "layer"])
    assert gains["margin"][WINDOW].to_dict() == {0: 3.0, 1: 4.0, 2: 10.0}
    assert gains["margin"][EMBEDDINGS].to_dict() == {1: 1.0, 2: 7.0}
    assert gains["level"].unique().tolist() == [1 - 0.05 / 3]
    tails = (noise[:, 2] - noise[:, 3])[:, 0]
    ends = 10 + np.quantile(tails, (0.05 / 6, 1 - 0.05 / 6))
    np.testing.assert_allclose(gains.loc[(WINDOW, 2), ["low", "high"]].astype(float), ends)

    model = asked.models[0]
    added = result.tables["added"].assign(margin=1.5, low=1.0, high=2.0)
    bottom = added.assign(rival=EMBEDDINGS, margin=-1.5, low=-2.0, high=-1.0)
    for score, rival in ((99.9, EMBEDDINGS), (0.1, WINDOW)):
        tables_ = {
            **result.tables,
            "added": pd.concat([added, bottom.assign(rival_value=score)], ignore_index=True),
        }
        gains = [each for each in statements_of(tables_, [model]) if each.verdict == ADDED]
        assert {each.baseline for each in gains} == {rival}
        assert not [each for each in doubts_of(tables_, asked) if each.verdict == TOO_FEW]


@pytest.mark.slow
def test_without_the_option_nothing_is_added(asked: EdgeSpec) -> None:
    plain = STUDY.run(replace(asked, conditional=False))
    assert "added" not in plain.tables
    assert drawable(plain, GAIN) == []
    assert "Hewitt et al. 2021" not in plain.methods


def test_gains_and_losses_are_said_in_words(asked: EdgeSpec, result: Result) -> None:
    """A gain, nothing detectable, and a loss, which says that there are too few sentences."""
    ends = {"pos": (1.0, 0.5, 1.5), "label": (0.1, -0.5, 0.7), "distance": (-2.0, -3.0, -1.0)}
    added = result.tables["added"].copy()
    for target, values in ends.items():
        added.loc[added["probe"] == target, ["margin", "low", "high"]] = values
    changed = {**result.tables, "added": added}
    headline = " ".join(make_headline(statements_of(changed, asked.probed)))
    assert "adds 1.0 points [0.5, 1.5] on parts of speech" in headline
    assert "nothing detectable on dependency labels" in headline
    assert "nothing on head distances" in headline
    few = [each for each in doubts_of(changed, asked) if each.verdict == TOO_FEW]
    assert [(each.metric, each.subject, each.layers) for each in few] == [
        ("distance", asked.models[0], (1, 2))
    ]
    assert any("too few training sentences" in notice for notice in make_notices(few))


def test_a_layer_that_does_not_exist_is_refused(asked: EdgeSpec) -> None:
    spec = replace(asked, layers=(1, 99))
    with pytest.raises(SpecError, match="99"):
        plan(spec, run(prepare_same(spec)))
