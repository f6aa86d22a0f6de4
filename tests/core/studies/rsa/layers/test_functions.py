"""Functions of layers: which layer was changed, where states only say from which layer models
differ."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from core.errors import ModelError
from core.maths.similarity.scoring import distance_ratios
from core.maths.statistics import t_interval
from core.results.estimates import Estimate
from core.results.export import Result
from core.results.statements import TWO_LINES, Statement
from core.studies.rsa.layers import charts, runs
from core.studies.rsa.layers.differences import (
    BEYOND_RANDOM,
    CHANGED_MOST,
    COMPARED,
    DIFFERS,
    LIKE_RANDOM,
    LOWEST,
    UNMEASURED,
    function_statements,
)
from core.studies.rsa.layers.notice_text import said
from core.studies.rsa.layers.random_changes import RANDOM
from core.studies.rsa.layers.spec import RsaSpec
from core.studies.rsa.layers.study import STUDY, plan, prepare
from core.studies.rsa.layers.tables import ratio_rows
from core.studies.rsa.layers.text import CHANGES, changed_sentences, facts_of, most_changed
from core.study import run_first_stage
from core.text.corpora import Corpus, Sentence
from core.vectors.activations import extract
from core.vectors.turning import turned
from tests.core.studies.rsa.facts import stated, unnamed
from tests.core.tiny_models import LAYERS, SENTENCES, save_tiny

CHANGED = 1
CORPORA = {"demo": Corpus("demo", tuple(Sentence(words) for words in SENTENCES * 4), ())}


def changed_in_words(statements: Sequence[Statement]) -> str:
    """What the headline says first, of layers."""
    return " ".join(changed_sentences(statements))


def stated_in_full(statements: Sequence[Statement]) -> str:
    """What it says of layers at its end."""
    facts = facts_of(statements)
    return "".join(most_changed(facts, verdict) for verdict in CHANGES)


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny models: a base, and a copy of it in which layer 1 alone was overwritten."""
    from safetensors.numpy import load_file, save_file

    folder = tmp_path_factory.mktemp("box")
    for name in ("bert", "albert"):
        save_tiny(folder / "models" / f"{name}-base", name)
        tuned = folder / "models" / f"{name}-tuned"
        shutil.copytree(folder / "models" / f"{name}-base", tuned)
        weights = load_file(tuned / "model.safetensors")
        rng = np.random.default_rng(0)
        for key, value in sorted(weights.items()):  # their order in the file is not fixed
            if f"layer.{CHANGED - 1}." in key or "albert_layers" in key:
                weights[key] = value + 0.3 * rng.standard_normal(value.shape).astype(value.dtype)
        save_file(weights, tuned / "model.safetensors", metadata={"format": "pt"})
    save_tiny(folder / "models" / "stranger", "bert", seed=3)
    save_tiny(folder / "models" / "deep", "bert", num_hidden_layers=LAYERS + 2)
    return folder


@pytest.fixture(autouse=True)
def _in_the_box(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_ZOO", str(box))


def _spec(**changes: Any) -> RsaSpec:
    given = {"base": "zoo:bert-base", "compare": ("zoo:bert-tuned",), "words": 100}
    return RsaSpec(**{**given, "references": False, **changes})


@pytest.mark.slow
def test_only_the_changed_layer_falls_by_its_function_and_all_above_it_by_their_states() -> None:
    result = STUDY.run(_spec(), CORPORA)
    states = result.tables["similarity"]["similarity"].to_numpy()
    functions = result.tables["functions"]["similarity"].to_numpy()
    assert (states[CHANGED:] < 0.98).all()
    assert functions[CHANGED] == pytest.approx(states[CHANGED])
    assert np.delete(functions, CHANGED) == pytest.approx(np.ones(LAYERS), abs=1e-6)
    changed = (each for each in result.statements if each.verdict in (BEYOND_RANDOM, LIKE_RANDOM))
    assert next(changed).layers == (CHANGED,)
    assert stated(result.statements, DIFFERS).layers[0] == CHANGED
    assert not unnamed(result.statements, result.headline)
    assert said("functions") in result.methods
    null = result.tables["functions"]
    assert (null["null_high"] < 0.9).all()


@pytest.mark.slow
def test_each_panel_has_a_title_of_its_own() -> None:
    result = STUDY.run(_spec(), CORPORA)
    assert charts.parts_of(result) == ("random_functions", "states")
    alone = [charts.similarity_chart(result, part).to_dict() for part in charts.parts_of(result)]
    assert alone[0]["title"] != alone[1]["title"]


def test_without_functions_the_study_has_one_panel_and_two_tasks_less() -> None:
    ready = run_first_stage(prepare(_spec(), CORPORA))
    with_them, without = (plan(_spec(functions=each), ready) for each in (True, False))
    assert {task.key for task in with_them} > {task.key for task in without}
    assert len(with_them) == len(without) + 2
    more = {task.name.partition(" zoo:")[0] for task in with_them[len(without) - 1 :]}
    assert more >= {"layer functions of", "random changes of"}
    result = STUDY.run(_spec(functions=False), CORPORA)
    assert "functions" not in result.tables
    assert said("functions") not in result.methods
    assert not stated_in_full(result.statements)


@pytest.mark.slow
def test_models_of_another_start_and_of_another_depth_have_states_alone() -> None:
    result = STUDY.run(_spec(compare=("zoo:stranger", "zoo:deep", "zoo:bert-tuned")), CORPORA)
    assert set(result.tables["functions"]["model"]) == {"zoo:bert-tuned"}
    assert set(result.tables["similarity"]["model"]) >= {"zoo:stranger", "zoo:deep"}
    assert not result.failures


def test_an_architecture_whose_layers_depend_on_each_other_is_told_and_compared_by_states() -> None:
    spec = _spec(base="zoo:albert-base", compare=("zoo:albert-tuned",))
    result = STUDY.run(spec, CORPORA)
    assert "functions" not in result.tables
    assert not result.failures
    reason = "one set of weights serves all its layers"
    assert said("no_functions", base="zoo:albert-base", reason=reason) in result.notices
    assert said("functions") not in result.methods


def test_a_layer_changed_in_a_model_whose_states_cannot_be_compared_is_not_said() -> None:
    changed = Statement("zoo:a", CHANGED_MOST, Estimate(0.9, 0.8, 0.95), (1,), "zoo:b")
    assert not stated_in_full([Statement("zoo:a", UNMEASURED, baseline="zoo:b"), changed])


@pytest.mark.slow
def test_a_share_of_the_change_is_applied_and_stored_apart() -> None:
    def top(share: float) -> np.ndarray:
        given = {"functions": ("zoo:bert-tuned", share)}
        return extract("zoo:bert-base", SENTENCES, **given).vectors[CHANGED]

    base = extract("zoo:bert-base", SENTENCES).vectors[CHANGED]
    moved = [np.linalg.norm(top(share) - base) for share in (0.05, 0.5, 1.0)]
    assert 0 < moved[0] < moved[1] < moved[2]


def test_layers_that_cannot_read_the_states_are_refused() -> None:
    with pytest.raises(ModelError, match="differ in") as refused:
        extract("zoo:bert-base", SENTENCES, functions=("zoo:deep", 1.0))
    assert str(refused.value) == (
        "The layers of zoo:deep cannot read the states of zoo:bert-base, because the two models "
        "differ in type, depth, width or vocabulary: choose a fine-tune of zoo:bert-base."
    )


def _table(**models: list[tuple[float, float, float]]) -> pd.DataFrame:
    rows = [
        {"model": f"zoo:{name}", "layer": layer, "similarity": value, "low": low, "high": high}
        for name, curve in models.items()
        for layer, (low, value, high) in enumerate(curve)
    ]
    return pd.DataFrame(rows).assign(null_high=0.1)


def test_layers_whose_bands_overlap_with_the_lowest_are_named_together() -> None:
    clear, tied = (0.97, 0.98, 0.99), (0.88, 0.91, 0.94)
    table = _table(
        a=[clear, (0.88, 0.90, 0.92), clear],
        b=[clear, tied, (0.89, 0.92, 0.95)],
        c=[(1.0, 1.0, 1.0)] * 3,
    )
    made = {each.subject: each for each in function_statements(table, "zoo:base")}
    assert set(made) == {"zoo:a", "zoo:b"}, "nothing changed in c"
    assert made["zoo:a"].layers == (1,)
    assert made["zoo:b"].layers == (1, 2)
    assert made["zoo:b"].estimate is not None
    assert made["zoo:b"].estimate.value == 0.91


def test_the_first_sentence_names_the_layers_that_changed_most() -> None:
    """Models with one answer stand together, and many models are said in as many lines."""

    def ratio(model: str, value: float, *layers: int) -> list[Statement]:
        there = Estimate(0.5, 0.4, 0.6)
        estimate = Estimate(value, value - 1, value + 1, kind="amount")
        return [
            Statement(model, COMPARED, layers=(0, 1, 2), baseline="zoo:b"),
            Statement(model, LOWEST, there, (2,), "zoo:b"),
            Statement(model, BEYOND_RANDOM, estimate, layers, "zoo:b"),
        ]

    few = [*ratio("zoo:a", 9, 2), *ratio("zoo:c", 20, 0, 1), *ratio("zoo:d", 4, 0, 1)]
    assert changed_in_words(few) == (
        "Fine-tuning changes layer 2 of a and layers 0 and 1 of c and d most: outputs differ up to "
        "20 [19, 21] times as much as after random changes."
    )
    many = [each for n in range(30) for each in ratio(f"zoo:model-{n}", 5 + n, n % 3)]
    said = changed_in_words(many)
    assert len(said) <= TWO_LINES
    assert "layer 2 of model-29 most (34 [33, 35] times" in said
    assert "the other 29 models change most in layers 0 to 2" in said
    two = [*ratio("zoo:model-with-a-long-name", 9, *range(0, 40, 2)),
           *ratio("zoo:other", 20, *range(0, 40, 2), 41)]  # fmt: skip
    assert "; model-with-a-long-name changes most in layers 0, 2" in changed_in_words(two)
    level = changed_in_words([*ratio("zoo:a", 9, 2), *ratio("zoo:c", 3, 1, 2)])
    assert "layer 2 of a most: its output differs 9.0" in level
    assert level.endswith("No layer of c changes detectably more than the others: outputs differ up "
                          "to 3.0 [2.0, 4.0] times as much as after random changes.")  # fmt: skip
    alone = [each for each in few if each.verdict != BEYOND_RANDOM]
    assert changed_in_words(alone) == ""
    similar = Statement("zoo:a", CHANGED_MOST, Estimate(0.9, 0.8, 0.95), (1,), "zoo:b")
    assert changed_in_words([*alone, similar]).endswith(
        "layer 1 of a most: similarity of its output to the base's .90 [.80, .95]."
    )


@pytest.mark.slow
def test_outputs_have_an_axis_that_shows_them_and_states_stand_beside() -> None:
    result = STUDY.run(_spec(), CORPORA)
    tables = {name: rows for name, rows in result.tables.items() if name != "random_functions"}
    outputs = Result("rsa", result.spec, result.headline, tables)
    assert charts.parts_of(outputs) == ("functions", "states")
    lowest = float(result.tables["functions"]["low"].min())
    drawn = charts.similarity_chart(outputs, "functions").to_dict()
    (begin, end) = drawn["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert lowest - 0.1 < begin < lowest
    assert end >= 1.0
    assert ("the axis begins at" in drawn["title"]["subtitle"]) == (begin > 0)
    assert "Chance level" in drawn["title"]["subtitle"]


def test_a_layer_without_a_band_is_named_alone() -> None:
    bare = [(np.nan, value, np.nan) for value in (1.0, 0.8, 0.9)]
    (made,) = function_statements(_table(a=bare), "zoo:base")
    assert made.layers == (1,)


@pytest.mark.slow
def test_the_figure_has_no_second_panel_for_a_stored_result_without_functions() -> None:
    result = STUDY.run(_spec(), CORPORA)
    tables = {name: table for name, table in result.tables.items() if "functions" not in name}
    old = Result("rsa", result.spec, result.headline, tables)
    assert charts.parts_of(old) == ("states",)


@pytest.mark.slow
def test_a_planted_change_moves_its_layer_further_than_random_ones_and_a_rotated_one_does_not(
    planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted change writes along the states' own directions, which random ones miss."""
    monkeypatch.setenv("PALIMPSEST_ZOO", str(planted))
    spec = _spec(base="zoo:base", compare=("zoo:special", "zoo:rotated"))
    result = STUDY.run(spec, CORPORA)
    table = result.tables["random_functions"].set_index(["model", "layer"])
    special, rotated = (table.loc[(f"zoo:{name}", CHANGED)] for name in ("special", "rotated"))
    assert special["low"] > 1.0
    assert special["ratio"] > 2.0 * rotated["ratio"]
    assert rotated["low"] <= 1.0 <= rotated["high"]
    assert table["ratio"].drop(CHANGED, level="layer").isna().all(), "nothing else moved"
    assert stated(result.statements, BEYOND_RANDOM).subject == "zoo:special"
    assert stated(result.statements, LIKE_RANDOM).subject == "zoo:rotated"
    assert not unnamed(result.statements, result.headline)
    assert "differs most (1 − similarity) is that of layer 1 of special" in result.headline
    assert result.headline.startswith("Fine-tuning changes layer 1 of special most: its output")
    assert "No layer of rotated changes detectably more than at random" in result.headline
    assert RANDOM in result.methods
    drawn = charts.similarity_chart(result, "random_functions").to_dict()
    assert "compared with random changes" in str(drawn["title"])


@pytest.fixture(scope="module")
def planted(box: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies of the base: a rank-one change of layer 1 that reads the mean state, and the same,
    rotated at random."""
    from safetensors.numpy import load_file, save_file

    folder = tmp_path_factory.mktemp("planted")
    for name in ("base", "special", "rotated"):
        shutil.copytree(box / "models" / "bert-base", folder / "models" / name)
    states = extract(f"path:{folder / 'models' / 'base'}", SENTENCES).vectors[CHANGED - 1]
    along = np.linalg.svd(states, full_matrices=False)[2][0]
    weights = load_file(folder / "models" / "base" / "model.safetensors")
    key = next(name for name in sorted(weights) if "layer.0.intermediate.dense.weight" in name)
    out = np.random.default_rng(0).standard_normal(len(weights[key]))
    change = torch.from_numpy(np.outer(out, along).astype(np.float32))
    made = {"special": change, "rotated": turned(change, torch.Generator().manual_seed(5))}
    for name, moved in made.items():
        there = weights | {key: weights[key] + moved.numpy()}
        save_file(there, folder / "models" / name / "model.safetensors", {"format": "pt"})
    return folder


def test_ratios_equal_a_loop_over_layers() -> None:
    rng = np.random.default_rng(0)
    distances = rng.uniform(0.1, 0.5, (4, 4))
    distances[2, 0] = 0.0
    replicates = distances[..., None] * rng.uniform(0.9, 1.1, (4, 4, 20))
    made = np.stack(distance_ratios(distances, replicates))
    moved = [0, 1, 3]
    spread = np.mean([np.log(distances[layer, 1:]).var(ddof=1) for layer in moved])
    for layer in moved:
        ratio = distances[layer, 0] / np.prod(distances[layer, 1:]) ** (1 / 3)
        each = np.log(replicates[layer, 0] / np.prod(replicates[layer, 1:], axis=0) ** (1 / 3))
        over_sentences = 19 / 20 * ((each - each.mean()) ** 2).sum()
        ends = t_interval(np.log(ratio), [over_sentences, spread * 4 / 3], [19, 6])
        assert made[:, layer] == pytest.approx([ratio, *np.exp(ends)])
    assert np.isnan(made[:, 2]).all()


def test_runs_are_pooled_by_their_geometric_mean() -> None:
    def value(ratio: float) -> dict[str, Any]:
        ends = {"low": np.array([ratio / 2]), "high": np.array([ratio * 2])}
        return {"random_similarity": np.array([0.9]), "ratio": np.array([ratio]), **ends}

    (row,) = ratio_rows({"a": value(2.0), "b": value(8.0)}, {"both": ("a", "b")}).itertuples()
    assert row.ratio == pytest.approx(4.0)
    assert row.low < 2.0 < 8.0 < row.high
    assert row.low_together == pytest.approx(row.low), "there is one layer"
    assert row.runs == 2


def test_an_output_moves_further_than_at_random_if_its_band_among_all_layers_says_so() -> None:
    """The layer with the largest ratio need not be one that is significant."""

    def made_of(*layers: tuple[float, float, float]) -> Statement:
        ratio, low, high = np.array(layers).T
        value = {"random_similarity": ratio, "ratio": ratio, "low": low, "high": high}
        rows = ratio_rows({"zoo:a": value}, {"zoo:a": ("zoo:a",)})
        similar = _table(a=[(0.5, 0.6, 0.7)] * len(layers))
        (made,) = function_statements(similar, "zoo:base", rows)
        return made

    wide, narrow = (3.0, 0.9, 10.0), (2.0, 1.6, 2.5)
    assert made_of(wide, narrow).verdict == BEYOND_RANDOM
    assert made_of(wide, narrow).number.value == 2.0
    assert made_of(wide, narrow).layers == (0, 1)
    assert made_of(wide).verdict == LIKE_RANDOM
    barely = (1.5, 1.02, 2.2)
    assert made_of(barely).verdict == BEYOND_RANDOM
    assert made_of(*[barely] * 7).verdict == LIKE_RANDOM


def test_the_factor_of_a_corrected_band_is_that_of_student_s_t() -> None:
    value = {"ratio": np.full(7, 2.0), "low": np.full(7, 1.0), "high": np.full(7, 4.0)}
    value["random_similarity"] = value["ratio"]
    rows = ratio_rows({"a": value}, {"a": ("a",)})
    wide, single = stats.t.ppf([1 - 0.025 / 7, 0.975], 14)
    assert rows["low_together"].to_numpy() == pytest.approx(2.0 ** (1 - wide / single))
    assert (rows["low"] == 1.0).all()


@pytest.mark.slow
def test_a_model_that_is_read_layer_by_layer_has_no_random_changes_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runs, "is_layerwise", lambda *given, **more: True)
    result = STUDY.run(_spec(), CORPORA)
    assert "random_functions" not in result.tables
    assert said("no_random_changes", base="zoo:bert-base") in result.notices
    assert stated(result.statements, CHANGED_MOST).layers == (CHANGED,)
