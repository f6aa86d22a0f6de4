"""Task arithmetic against fine-tunes, slow loops, planted changes and random ones."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.numpy import load_file, save_file

from core.errors import ModelError, SpecError
from core.maths.statistics import corrected_level, sentence_counts
from core.models import load_model, zoo_folder
from core.models.identity import identify
from core.models.loading.layers import body_weights
from core.models.loading.task_models import load_task
from core.results.columns import meaning
from core.studies.rsa.swap.tasks import score_task
from core.studies.weights.arithmetic.charts import draw_view
from core.studies.weights.arithmetic.spec import (
    ADDED,
    ALONE,
    CHOSEN,
    SCALES,
    TOGETHER,
    ArithmeticSpec,
    sums_of,
)
from core.studies.weights.arithmetic.study import STUDY
from core.studies.weights.arithmetic.tables import build_alike, build_arithmetic, harms_in
from core.studies.weights.arithmetic.tasks import (
    add_changes,
    compare_vectors,
    has_others,
    score_sums,
)
from core.studies.weights.arithmetic.text import REACHES, make_headline, statements_of
from core.text.labelled import read_labelled
from tests.core.tiny_models import save_tiny

MODELS = zoo_folder() / "models"
FEW: dict[str, Any] = {"sentences": 20, "randoms": 2, "draws": 20}
TASKS = ("zoo:parse-0", "zoo:sentiment-0", "zoo:nli-0")
RNG = np.random.default_rng(0)


def known(*refs: str) -> tuple[str, ...]:
    return tuple(identify(ref, run=False).content for ref in refs)


@pytest.fixture(scope="module")
def result() -> Any:
    return STUDY.run(ArithmeticSpec(models=TASKS, factors="1 0.5 -1", **FEW))


def test_a_factor_of_1_is_the_fine_tune_bit_for_bit() -> None:
    start = body_weights(load_model("zoo:seed-0", device="cpu").model)
    tuned = [body_weights(load_task(ref).model) for ref in TASKS[:2]]
    alone, base = (add_changes(start, tuned, factors) for factors in ((1.0, 0.0), (0.0, 0.0)))
    assert all(torch.equal(alone[name], tuned[0][name]) for name in tuned[0])
    assert all(torch.equal(base[name], start[name]) for name in start)


def test_sums_are_those_of_a_slow_loop_and_what_the_base_lacks_is_kept() -> None:
    start = {"weight": torch.from_numpy(RNG.normal(size=(3, 4))).float()}
    tuned = [{"weight": start["weight"] + torch.from_numpy(RNG.normal(size=(3, 4))).float()}
             for _ in range(3)]  # fmt: skip
    tuned[0]["pooler"] = torch.ones(2)
    factors = (0.5, -1.0, 2.0)
    found = add_changes(start, tuned, factors)
    for row, column in itertools.product(range(3), range(4)):
        before = float(start["weight"][row, column])
        changes = [float(each["weight"][row, column]) - before for each in tuned]
        total = before + sum(f * c for f, c in zip(factors, changes, strict=True))
        assert float(found["weight"][row, column]) == pytest.approx(total, abs=1e-6)
    assert torch.equal(found["pooler"], torch.ones(2))


def test_scores_are_those_of_the_fine_tune_itself_and_of_the_base_under_its_head() -> None:
    pairs = read_labelled("")[:20]
    base, model, other = "zoo:seed-0", "zoo:sentiment-0", "zoo:nli-0"
    ours = known(base, model, other)
    value = score_sums(
        base=base, model=model, models=(other,), base_identity=ours[0], model_identity=ours[1],
        identities=ours[2:], pairs=pairs, sums=((1.0, 0.0), (1.0, 1.0), (0.0, 0.0)), randoms=2,
        seed=0,
    )  # fmt: skip
    plain = score_task(model=model, model_identity=identify(model).content, pairs=pairs)
    assert (value["hits"][0] == plain["own"]).all()
    assert (value["total"] == plain["total"]).all()
    assert (value["random"][:, [0, 2]] == -1).all()
    assert (value["random"][:, 1] >= 0).all()


def planted(folder: Path, name: str, changes: dict[str, np.ndarray]) -> str:
    """Save a copy of seed-0 with these changes."""
    shutil.copytree(MODELS / "seed-0", folder / name)
    path = folder / name / "model.safetensors"
    weights = load_file(path)
    for tensor, change in changes.items():
        weights[tensor] = (weights[tensor] + change).astype(weights[tensor].dtype)
    save_file(weights, path, metadata={"format": "pt"})
    return f"path:{folder / name}"


def test_a_planted_conflict_of_signs_is_counted_and_the_whole_cosine_is_no_mean(
    tmp_path: Path,
) -> None:
    weights = load_file(MODELS / "seed-0" / "model.safetensors")
    names = [name for name in weights if name.endswith("intermediate.dense.weight")][:2]
    share, first, second = 0.3, {}, {}
    for name, size in zip(names, (0.05, 0.01), strict=True):
        flat = np.sign(RNG.normal(size=weights[name].size)) * size
        turned = flat.copy()
        turned[: int(share * len(flat))] *= -1 if size > 0.02 else 1  # in the larger change alone
        first[name], second[name] = (each.reshape(weights[name].shape) for each in (flat, turned))
    refs = [planted(tmp_path, "a", first), planted(tmp_path, "b", second)]
    base, *ours = known("zoo:seed-0", *refs)
    value = compare_vectors("zoo:seed-0", tuple(refs), base, tuple(ours))
    whole, by_layer = build_alike(value, refs)
    (row,) = whole.to_dict("records")
    size = weights[names[0]].size
    assert row["changed"] == 2 * size
    assert row["conflict"] == pytest.approx(share / 2, abs=1e-4)
    changed = by_layer.dropna(subset="cosine")["cosine"].to_numpy()
    assert changed == pytest.approx([1 - 2 * share, 1.0], abs=1e-3)
    expected = (0.05**2 * (1 - 2 * share) + 0.01**2) / (0.05**2 + 0.01**2)
    assert row["cosine"] == pytest.approx(expected, abs=1e-3)
    assert abs(row["cosine"] - changed.mean()) > 0.1


def test_what_the_comparison_leaves_out_is_said(tmp_path: Path) -> None:
    """Embeddings of another vocabulary are not compared."""
    weights = load_file(MODELS / "seed-0" / "model.safetensors")
    matrix = next(name for name in weights if name.endswith("intermediate.dense.weight"))
    changes = ({matrix: 0.01 * RNG.normal(size=weights[matrix].shape)} for _ in range(2))
    refs = [planted(tmp_path, name, change) for name, change in zip("ab", changes, strict=True)]
    config = tmp_path / "b" / "config.json"
    larger = json.loads(config.read_text(encoding="utf8"))
    larger["vocab_size"] += 1
    config.write_text(json.dumps(larger), encoding="utf8")
    result = STUDY.run(ArithmeticSpec(models=tuple(refs), **FEW))
    assert any(f"The vocabulary of {refs[1]}" in notice for notice in result.notices)


def test_tables_are_those_of_a_slow_loop() -> None:
    sums = sums_of("a", ("a", "b"))
    right = RNG.integers(0, 5, size=(len(sums), 6))
    random = RNG.integers(0, 5, size=(3, len(sums), 6))
    total = np.full(6, 5)
    values = {"a": {"total": total, "hits": right, "random": random}}
    table = build_arithmetic(values, {"a": sums}, {"a": "UAS"}, {"a": 0.1}, 50, 0)
    counts = sentence_counts(6, 50, np.random.default_rng(0))
    whole = SCALES.index(1.0)
    for place, (each, row) in enumerate(zip(sums, table.to_dict("records"), strict=True)):
        score = right[place].sum() / 30
        assert row["score"] == pytest.approx(score)
        assert row["score_change"] == pytest.approx(score - right[whole].sum() / 30)
        drawn = [sum(right[place][n] * c for n, c in enumerate(draw)) / 30 for draw in counts]
        assert row["low"] <= min(np.quantile(drawn, 0.025), score) + 1e-9
        if has_others(each.factors):
            rival = np.mean([random[draw, place].sum() / 30 for draw in range(3)])
            assert row["score_excess"] == pytest.approx(score - rival)
            assert row["score_excess_low"] < row["score_excess"] < row["score_excess_high"]
        else:
            assert np.isnan(row["score_excess"])


def test_intervals_of_all_harms_hold_together() -> None:
    """One score, with another's change and without it, in one study of two harms and one of six."""
    total, right = np.full(6, 5), np.array([[3, 4, 2, 5, 1, 3]])
    widths = []
    for refs in ("ab", "abc"):
        sums = {ref: sums_of(ref, tuple(refs)) for ref in refs}
        values: dict[str, Any] = {
            ref: {
                "total": total,
                "hits": np.repeat(right, len(each), axis=0),
                "random": np.repeat(np.array([[[2], [3], [4]]]).reshape(3, 1, 1), 6, axis=2)
                + np.zeros((1, len(each), 1), dtype=int),
            }
            for ref, each in sums.items()
        }
        table = build_arithmetic(
            values, sums, dict.fromkeys(refs, "UAS"), dict.fromkeys(refs, 0.1), 50, 0
        )
        harms = harms_in(table)
        count = len(refs) * (len(refs) - 1)
        assert len(harms) == count
        assert harms["level"].tolist() == pytest.approx([corrected_level(count)] * count)
        assert set(table["level"]) == {0.95, harms["level"].iloc[0]}
        widths.append(float((harms["score_excess_high"] - harms["score_excess_low"]).iloc[0]))
    assert widths[1] > 1.2 * widths[0]


def test_a_clear_harm_is_named_before_a_larger_one_that_is_none() -> None:
    rows = pd.DataFrame(
        {
            "model": ["a", "b"], "added": ["b", "a"], "metric": "UAS", "level": 0.975,
            "score_change": [-0.3, -0.1], "score_excess": [-0.3, -0.1],
            "score_excess_low": [-0.7, -0.15], "score_excess_high": [0.1, -0.05],
        }
    )  # fmt: skip
    table = rows.assign(added="", way=ALONE, scale=1.0, score=0.8)
    alike = pd.DataFrame(columns=["model", "other", "cosine", "conflict"])
    facts = statements_of(table, rows, alike)
    assert {(fact.subject, fact.number.level) for fact in facts} == {("b", 0.975)}
    assert make_headline(facts, table, alike).startswith("Not without harm: with a's change added")
    none = statements_of(table, rows.assign(score_excess_high=0.1), alike)
    assert {fact.subject for fact in none} == {"a"}
    assert make_headline(none, table, alike).startswith("No change harms another task detectably")


@pytest.mark.exhaustive
@pytest.mark.slow
def test_included_fine_tunes_are_added_subtracted_and_summed(result: Any) -> None:
    table = result.tables["arithmetic"]
    assert list(dict.fromkeys(table["model"])) == ["zoo:parse-0", "zoo:sentiment-0"]
    alone = table[(table["way"] == ALONE) & (table["scale"] == 1)]
    assert (alone["score_change"] == 0).all()
    harms = result.tables["harms"].set_index(["model", "added"])
    assert set(harms["way"]) == {ADDED}
    assert len(harms) == 4  # a third fine-tune is added to both, and scored nowhere
    assert harms.loc[("zoo:parse-0", "zoo:nli-0"), "random_score"] <= 1
    chosen = table[table["way"] == CHOSEN].set_index("model")
    assert chosen["scale"].to_dict() == {"zoo:parse-0": 1.0, "zoo:sentiment-0": 0.5}
    assert {each.baseline for each in result.statements if each.verdict == REACHES} < {
        ".25", ".50", ".75", "1.00", ".5", "1", "1.0",
    }  # fmt: skip
    assert any("zoo:nli-0" in notice for notice in result.notices)
    assert all(each.named_in(result.headline) for each in result.statements)
    for name, rows in result.tables.items():
        assert all(meaning(name, column) for column in rows.columns), name
    figure = draw_view(result)
    assert list(figure.names) == ["sums", "sums", "harms"]
    assert TOGETHER in str(figure.charts[0].to_dict())


@pytest.mark.exhaustive
@pytest.mark.slow
def test_seeds_of_random_changes_and_of_sentences_repeat(result: Any) -> None:
    again = STUDY.run(ArithmeticSpec(models=TASKS, factors="1, 0.5, −1", **FEW))
    assert again.tables["arithmetic"].equals(result.tables["arithmetic"])


@pytest.mark.parametrize("kind", ["llama", "t5"])
def test_models_without_a_head_that_labels_are_compared_and_not_scored(
    kind: str, tmp_path: Path
) -> None:
    base = save_tiny(tmp_path / "base", kind)
    refs = []
    for number in range(2):
        folder = shutil.copytree(base, tmp_path / f"tuned-{number}")
        weights = load_file(folder / "model.safetensors")
        rng = np.random.default_rng(number)
        weights = {
            name: (value + 0.01 * rng.normal(size=value.shape)).astype(value.dtype)
            for name, value in sorted(weights.items())
        }
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        refs.append(f"path:{folder}")
    found = STUDY.run(ArithmeticSpec(base=f"path:{base}", models=tuple(refs), **FEW))
    assert found.tables["arithmetic"].empty
    (row,) = found.tables["alike"].to_dict("records")
    assert abs(row["cosine"]) < 0.2
    assert 0.4 < row["conflict"] < 0.6
    assert STUDY.words.nothing not in found.headline
    assert not draw_view(found).charts


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"factors": "1 2"}, "2 factors for 3 fine-tunes"),
        ({"factors": "1 x 2"}, "'x' is no factor"),
        ({"factors": "1 nan 2"}, "'nan' is no factor"),
        ({"models": ("zoo:parse-0", "zoo:sentiment-0-from-seed-1")}, "Two fine-tunes of"),
    ],
)
def test_what_cannot_be_added_is_refused_in_a_sentence(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        STUDY.run(ArithmeticSpec(**{"models": TASKS, **FEW, **options}))


def test_a_larger_vocabulary_is_refused_with_its_name(tmp_path: Path) -> None:
    start = {"embeddings": torch.zeros(3, 2)}
    from core.studies.weights.arithmetic.tasks import _refuse_misfits

    with pytest.raises(ModelError, match=r"other shapes than base \(embeddings\)"):
        _refuse_misfits("base", "tuned", start, {"embeddings": torch.zeros(4, 2)})
