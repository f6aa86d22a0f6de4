"""The study that erases a probe's subspace on tiny models, against slow loops."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ModelError, TaskError
from core.models import read_manifest
from core.models.loading.layers import Batch, run_model
from core.models.loading.task_models import load_task
from core.results.columns import meaning
from core.results.export import Result
from core.runs.runner import run
from core.studies.probes.minimal_pairs import scoring
from core.studies.probes.minimal_pairs.templates import joined_groups
from core.studies.probes.trees.data import Tree
from core.vectors.examples import batches, count_hits
from core.vectors.forward import cut_sentences
from extras.probes.removal import tasks
from extras.probes.removal.report import COST, removal_chart
from extras.probes.removal.spec import RemovalSpec as Spec
from extras.probes.removal.study import STUDY, plan, prepare
from extras.probes.removal.tables import (
    ACCURACY,
    EXCESS,
    LOSS,
    REMOVAL,
    Measured,
    measured,
    tables_of,
)
from extras.probes.removal.tasks import (
    ARCS,
    MATCHED,
    NONE,
    PROBE,
    RANDOM,
    RemovalRegime,
    encode_trees,
    find_head,
)
from tests.core.studies.probes.edges.test_study import write_tagged
from tests.core.tiny_models import LAYERS, save_tiny


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("removal-study")
    return {
        "bert": f"path:{save_tiny(folder / 'bert', 'bert', head=True)}",
        "bare": f"path:{save_tiny(folder / 'bare', 'bert')}",
        "trees": str(write_tagged(folder / "trees.conllu", 100)),
        "store": str(folder / "store"),
    }


@pytest.fixture
def spec(box: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Spec:
    monkeypatch.setenv("PALIMPSEST_STORE", box["store"])
    return Spec(
        models=(box["bert"], box["bare"]), corpus=box["trees"], rank=2, randoms=3, scored=4,
        kinds=("determiner",), pairs=10, epochs=1, draws=20,
    )  # fmt: skip


@pytest.fixture
def result(spec: Spec) -> Result:
    """The study, computed by the first test that asks and read from its store by the others."""
    return STUDY.run(spec)


@pytest.mark.slow
def test_the_tables_have_every_layer_and_condition(box: dict[str, str], result: Result) -> None:
    table, excess = result.tables["removal"], result.tables["removal_excess"]
    assert tuple(table.columns) == REMOVAL
    assert tuple(excess.columns) == EXCESS
    assert set(table["model"]) == {box["bert"]}
    assert any("bare" in notice for notice in result.notices)
    for metric in ("loss", "accuracy"):
        for erased in (NONE, PROBE, RANDOM, MATCHED):
            rows = table[(table["metric"] == metric) & (table["erased"] == erased)]
            assert rows["layer"].tolist() == list(range(LAYERS + 1))
    nothing = table[table["erased"] == NONE]
    assert not nothing[["cost", "cost_low", "cost_high", "change"]].any(axis=None)
    changes = table.pivot_table(index="layer", columns="erased", values="change")
    np.testing.assert_allclose(changes[MATCHED], changes[PROBE])
    assert all(
        meaning(name, str(column))
        for name, rows in result.tables.items()
        for column in rows.columns
    )


@pytest.mark.slow
def test_the_headline_names_its_numbers_and_every_chart_is_drawn(
    box: dict[str, str], result: Result
) -> None:
    assert [each.verdict for each in result.statements].count(COST) == 2
    for each in result.statements:
        assert each.named_in(result.headline)
    assert STUDY.views[0].choices(result) == [("loss",), ("accuracy",)]
    assert len(STUDY.figures(result)) == 2
    assert removal_chart(result, box["bert"], LOSS).to_dict()
    assert STUDY.views[0].sentence(result, "accuracy")


def test_models_without_a_head_are_refused_before_anything_is_computed(
    box: dict[str, str], spec: Spec
) -> None:
    bare = Spec(models=(box["bare"],), corpus=box["trees"])
    assert find_head(box["bare"]) == ""
    assert find_head(box["bert"]) == "masked"
    with pytest.raises(TaskError, match="no language-model head"):
        plan(bare, run(prepare(bare)))


def test_costs_are_those_of_a_slow_loop() -> None:
    rng = np.random.default_rng(0)
    names = [NONE, PROBE, RANDOM, RANDOM, MATCHED, MATCHED]
    value = {
        "conditions": names, "change": np.arange(6.0), "tokens": np.array([3, 5, 4]),
        "likelihood": -rng.random((6, 3)) * 10,
    }  # fmt: skip
    tables = tables_of({("m", 1): value}, 200, 0)
    losses = [-row.sum() / 12 for row in value["likelihood"]]
    rows = tables["removal"].set_index("erased")
    assert rows.loc[PROBE, "cost"] == pytest.approx(losses[1] - losses[0])
    assert rows.loc[RANDOM, "value"] == pytest.approx((losses[2] + losses[3]) / 2)
    assert rows.loc[MATCHED, "change"] == 4.5
    gaps = tables["removal_excess"].set_index("rival")
    assert gaps.loc[MATCHED, "margin"] == pytest.approx(losses[1] - (losses[4] + losses[5]) / 2)
    assert gaps.loc[MATCHED, "low"] < gaps.loc[MATCHED, "margin"] < gaps.loc[MATCHED, "high"]
    wider = tables_of({("m", layer): value for layer in range(7)}, 200, 0)["removal_excess"]
    margins, far = gaps["margin"], wider[wider["layer"] == 1].set_index("rival")
    ratio = (far["high"] - margins) / (gaps["high"] - margins)
    assert (ratio > 1.5).all(), "intervals of differences hold for all seven layers together"


def test_a_ratio_of_sums_is_resampled_for_all_conditions_alike() -> None:
    parts = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]])
    score = Measured(100 * parts, np.array([1.0, 1.0, 2.0]), 1).resampled(50, 0)
    assert score.value.tolist() == [150.0, 300.0]
    np.testing.assert_allclose(score.resamples[:, 1], 2 * score.resamples[:, 0])


def test_pairs_with_the_same_differing_words_are_resampled_together() -> None:
    """All pairs of a group are right or wrong: the accuracy of a resample is one of few."""
    groups = joined_groups({"reflexive": 40})
    sides = {f"good/{name}": np.where(groups < 2, 0.0, -2.0)[None] for name in ("reflexive",)}
    value = {
        "likelihood": -np.ones((1, 3)), "tokens": np.ones(3), **sides,
        "bad/reflexive": -np.ones((1, 40)),
    }  # fmt: skip
    accuracy = measured(value)[ACCURACY].resampled(300, 0)
    assert accuracy.value.tolist() == [50.0]
    assert set(accuracy.resamples[:, 0]) == {0.0, 25.0, 50.0, 75.0, 100.0}
    assert measured(value)[LOSS].wholes.tolist() == [1, 1, 1]


@pytest.mark.slow
def test_the_included_parser_is_scored_word_by_word() -> None:
    if "parse-0" not in {entry["name"] for entry in read_manifest()}:
        pytest.skip("the box has no models yet: make zoo")
    import torch

    assert find_head("zoo:parse-0") == ARCS
    task = load_task("zoo:parse-0")
    trees = [
        Tree(("The", "dog", "barked", "."), (2, 3, 0, 3), (True, True, True, False)),
        Tree(("It", "rained"), (2, 0), (True, True)),
    ]
    slow = []
    for tree in trees:
        (cut,) = cut_sentences(task.tokenizer, [tree.words])
        starts = [cut.words.index(word) for word in range(len(tree.words))]
        ids = torch.tensor([cut.ids])
        batch = Batch(ids, torch.ones_like(ids), [0], torch.tensor([starts]))
        guesses = run_model(task.model, batch)[0].argmax(dim=-1).tolist()
        slow.append(
            sum(
                guess == head and kept
                for guess, head, kept in zip(guesses, tree.heads, tree.keep, strict=True)
            )
        )
    encoded = encode_trees(task, trees)
    assert count_hits(task.model, encoded, batches(encoded)).tolist() == slow
    assert sum(slow) > 2


def test_predictions_that_are_not_finite_are_refused(
    box: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would be left out of the mean, or counted as wrong."""
    nothing = np.full((3, 2), np.nan)
    monkeypatch.setattr(scoring, "score_words", lambda *_: nothing)
    how = RemovalRegime(1, 0, 1, (), 1, 0, 1)
    with pytest.raises(ModelError, match="not finite"):
        tasks._likelihoods(box["bert"], "masked", 1, [(NONE, None)], (("a", "b"),), how)


def test_the_price_grows_with_the_random_subspaces() -> None:
    small, large = (STUDY.price(Spec(randoms=count)) for count in (2, 20))
    assert large.processor > small.processor
