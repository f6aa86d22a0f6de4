"""Scaled directions: the change against a slow loop, the scores against a model changed by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.errors import TaskError
from core.maths.arrays import Value
from core.models.loading.layers import run_model
from core.models.loading.task_models import load_task
from core.results.columns import meaning
from core.results.export import Result
from core.studies.weights.clusters.tasks import deltas_of, open_pair
from core.vectors.examples import batches, encode, hits
from extras.weights.scaling.spec import ScalingSpec
from extras.weights.scaling.study import STUDY
from extras.weights.scaling.tables import LOSS, SCALES, WAYS, scaling_table
from extras.weights.scaling.tasks import Shrunk, choose_directions, draw_directions
from extras.weights.scaling.text import BEYOND, BEYOND_SHRUNK, NO_CHANGE, REMOVED
from tests.core.contents import read_as

SENTENCES = (
    ("positive", "a warm and funny film with a great cast"),
    ("negative", "a dull and lifeless story that goes nowhere"),
    ("positive", "the best performance of the year"),
    ("negative", "the jokes are stale and the plot is a mess"),
)


def planted() -> tuple[np.ndarray, np.ndarray]:
    """A base matrix, and a change with one large direction that lies between all of the base's."""
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(12, 12)))[0] for _ in range(2))
    base = left @ np.diag(np.arange(12.0, 0.0, -1.0)) @ right.T
    new = left @ np.ones(12) / np.sqrt(12)  # a cosine of .29 with each
    return base, 60.0 * np.outer(new, right @ np.ones(12) / np.sqrt(12))


def test_a_planted_direction_is_removed_and_its_partner_is_the_nearest_in_size() -> None:
    base, delta = planted()
    intruders, others = choose_directions(base, delta, leading=3, threshold=0.5)
    tuned = base + delta
    left, sizes, right = np.linalg.svd(tuned)
    assert intruders.left.shape == (12, 1)
    assert np.linalg.norm(intruders.left) == pytest.approx(sizes[0])
    assert np.linalg.norm(others.left) == pytest.approx(sizes[1])
    for scale in SCALES:
        slow = np.zeros_like(tuned)
        for place, size in enumerate(sizes):
            slow += (scale if place == 0 else 1.0) * size * np.outer(left[:, place], right[place])
        np.testing.assert_allclose(tuned + intruders.change(scale), slow, atol=1e-9)
    none, nothing = choose_directions(base, np.zeros_like(base), leading=3, threshold=0.5)
    assert none.left.shape == nothing.left.shape == (12, 0)


def test_random_directions_are_of_equal_size() -> None:
    intruders, _ = choose_directions(*planted(), leading=3, threshold=0.99)
    drawn = draw_directions(intruders, np.random.default_rng(1))
    norms = [np.linalg.norm(each.left, axis=0) for each in (intruders, drawn)]
    np.testing.assert_allclose(*norms)
    np.testing.assert_allclose(np.linalg.norm(drawn.right, axis=0), 1.0)
    assert np.abs((intruders.right * drawn.right).sum(0)).max() < 0.95


def made_up(sentences: int = 6, draws: int = 3) -> Value:
    rng = np.random.default_rng(0)
    total, tokens = rng.integers(1, 5, sentences), rng.integers(3, 9, sentences)
    shape = (len(SCALES), sentences)
    value: Value = {"scaled": 4, "total": total, "tokens": tokens}
    plain = {"hits": rng.uniform(size=sentences) * total, "losses": rng.uniform(size=sentences)}
    for part, first in plain.items():
        for way, size in (
            ("intruders", shape),
            ("other", shape),
            ("shrunk", shape),
            ("random", (draws, *shape)),
        ):
            value[f"{way} {part}"] = rng.uniform(size=size)
            value[f"{way} {part}"][..., 0, :] = first  # the model as it is
    return value


def test_the_table_equals_a_slow_loop() -> None:
    value = made_up()
    table = scaling_table({"zoo:a": value}, {"zoo:a": "UAS"}, seed=0)
    assert len(table) == 2 * len(WAYS) * len(SCALES)
    for metric, part, total in (("UAS", "hits", "total"), (LOSS, "losses", "tokens")):
        for way in WAYS:
            rows = table[(table["metric"] == metric) & (table["way"] == way)].set_index("scale")
            for at, scale in enumerate(SCALES):
                scored = value[f"{way} {part}"]
                draws = scored if way == "random" else scored[None]
                mean = np.mean([sum(draw[at]) / sum(value[total]) for draw in draws])
                assert rows.loc[scale, "value"] == pytest.approx(mean)
                change = mean - rows.loc[1.0, "value"]
                assert rows.loc[scale, "change"] == pytest.approx(change)
                assert rows.loc[scale, "low"] < mean < rows.loc[scale, "high"]
            ends = rows.loc[1.0, ["change_low", "change_high"]].tolist()
            assert ends == pytest.approx([0.0, 0.0], abs=1e-12)
    intruders = table[(table["way"] == "intruders") & (table["metric"] == "UAS")]
    drawn = table[(table["way"] == "random") & (table["metric"] == "UAS")]
    np.testing.assert_allclose(
        intruders["beyond"], intruders["value"].to_numpy() - drawn["value"].to_numpy()
    )
    assert drawn["beyond"].isna().all()
    shrunk = table[(table["way"] == "shrunk") & (table["metric"] == "UAS")]
    np.testing.assert_allclose(
        intruders["excess"], intruders["value"].to_numpy() - shrunk["value"].to_numpy()
    )


def test_a_shrunk_update_loses_the_norm_that_scaling_removes() -> None:
    base, delta = planted()
    intruders, _ = choose_directions(base, delta, leading=3, threshold=0.5)
    shrunk = Shrunk(delta, float(np.linalg.norm(intruders.left)))
    for scale in (0.75, 0.5):
        change = shrunk.change(scale)
        assert np.linalg.norm(change) == pytest.approx(np.linalg.norm(intruders.change(scale)))
        np.testing.assert_allclose(change / -np.linalg.norm(change), delta / np.linalg.norm(delta))
    np.testing.assert_allclose(Shrunk(delta, 1e9).change(0.0), -delta)


def test_without_losses_there_is_a_score_alone() -> None:
    value = {name: part for name, part in made_up().items() if not name.endswith("losses")}
    table = scaling_table({"zoo:a": value}, {"zoo:a": "UAS"}, seed=0)
    assert set(table["metric"]) == {"UAS"}


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> ScalingSpec:
    """One family of an included fine-tune, with a threshold that makes its directions intruders."""
    folder = tmp_path_factory.mktemp("texts")
    lines = [f"{label}\t{text}" for label, text in SENTENCES]
    (folder / "labelled.tsv").write_text("\n".join(lines), encoding="utf8")
    (folder / "text.txt").write_text("\n".join(text for _, text in SENTENCES), encoding="utf8")
    return ScalingSpec(
        models=("zoo:sentiment-0",), families=("query",), leading=3, threshold=0.99,
        removals=2, labelled=str(folder / "labelled.tsv"),
        text=str(folder / "text.txt"),
    )  # fmt: skip


@pytest.fixture(scope="module")
def result(spec: ScalingSpec) -> Result:
    return STUDY.run(spec)


def by_hand(spec: ScalingSpec) -> tuple[float, int]:
    """Accuracy with intruder dimensions removed by hand, and how many there are."""
    refs = (spec.base, spec.models[0])
    pair = open_pair(*refs, *map(read_as, refs), spec.families)
    task = load_task(refs[1])
    weights: dict[str, Any] = dict(task.model.named_parameters())
    removed = 0
    for delta in deltas_of(pair):
        origin, tuned = np.linalg.svd(delta.weight)[0], delta.weight + delta.matrix
        left, sizes, right = np.linalg.svd(tuned)
        for place in range(spec.leading):
            if max(abs(left[:, place] @ column) for column in origin.T) < spec.threshold:
                tuned = tuned - sizes[place] * np.outer(left[:, place], right[place])
                removed += 1
        name = pair.slots[delta.index][1].tensor
        weights[name].copy_(weights[name].new_tensor(tuned))
    encoded = encode(
        task.tokenizer, task.head, tuple((text, label) for label, text in SENTENCES), 512
    )
    right_answers = sum(
        int(hits(encoded, batch, run_model(task.model, batch)).sum()) for batch in batches(encoded)
    )
    return right_answers / len(SENTENCES), removed


def test_a_model_is_scored_as_if_changed_by_hand(spec: ScalingSpec, result: Result) -> None:
    table = result.tables["scaling"]
    accuracy, removed = by_hand(spec)
    rows = table[(table["metric"] == "accuracy") & (table["way"] == "intruders")]
    assert removed == rows["scaled"].iloc[0] > 0
    assert rows.set_index("scale").loc[0.0, "value"] == accuracy
    assert set(table["metric"]) == {"accuracy", LOSS}
    losses = table[(table["metric"] == LOSS) & (table["scale"] == 1.0)]["value"]
    assert losses.nunique() == 1  # every way begins with the model as it is
    assert 3 < losses.iloc[0] < 12  # nats; a unigram model has 6.5


def test_the_result_says_what_removal_does(result: Result) -> None:
    verdicts = [said.verdict for said in result.statements]
    assert {REMOVED, NO_CHANGE} & {*verdicts}
    assert {BEYOND, BEYOND_SHRUNK} <= {*verdicts}
    assert {"accuracy", LOSS} <= {said.metric for said in result.statements}
    assert "Compared with shrinking the whole update of the same matrices" in result.headline
    assert result.headline.startswith("Removing intruder dimensions from sentiment-0")
    assert set(STUDY.figures(result)) == {"scaling"}
    assert all(meaning("scaling", column) for column in result.tables["scaling"])


@pytest.mark.slow
def test_without_intruders_the_error_says_what_would_count_more(spec: ScalingSpec) -> None:
    with pytest.raises(TaskError, match=r"to scale in sentiment-0\. A higher cosine"):
        STUDY.run(replace(spec, threshold=0.05, leading=1))
