"""The study end to end on tiny models: tables, bands, headlines, refusals that keep the rest."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.alignment.attention import align_attention
from core.alignment.attention_study import AttentionSpec, collect_attention, plan_attention
from core.alignment.charts import curve_chart, figures, layer_chart, pair_chart, space_chart
from core.alignment.experiment_charts import experiment_figures
from core.alignment.experiments import (
    CheckSpec,
    StitchSpec,
    collect_check,
    collect_stitch,
    plan_check,
    plan_stitch,
)
from core.alignment.headline import make_headline
from core.alignment.spec import AlignSpec
from core.alignment.study import COLUMNS, _name, _parse, run_study
from core.commands import main as cli
from core.errors import ModelError, SpecError
from core.runs.runner import run
from tests.core.alignment.conftest import LABELLED

METHODS = ("identity", "shuffled", "procrustes", "ols", "ridge")


@pytest.fixture(scope="module")
def text(sentences, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(" ".join(words) for words in sentences))
    return str(path)


@pytest.fixture
def spec(models, text) -> AlignSpec:
    return AlignSpec(models, methods=METHODS, corpus=text, limit=80, draws=50)


def test_the_table_holds_every_pair_layer_method_and_split(spec: AlignSpec) -> None:
    result = run_study(spec)
    assert tuple(result.table.columns) == COLUMNS
    assert len(result.table) == 2 * 3 * len(METHODS) * 2
    assert not result.failures
    layers = result.tables["layers"]
    assert ((layers["low"] <= layers["nmse"]) & (layers["nmse"] <= layers["high"])).mean() > 0.9
    shuffled = result.table.query("method == 'shuffled' and split == 'test'")["nmse"]
    assert shuffled.between(0.95, 1.1).all()
    for chart in figures(result).values():
        chart.to_dict()
    pair_chart(result, "ridge").to_dict()
    for place in ("source", "mapped"):
        space_chart(result, spec.models[0], spec.models[1], "ridge", 1, place).to_dict()
    with pytest.raises(SpecError, match="No network"):
        curve_chart(result)
    with pytest.raises(SpecError, match="second group"):
        layer_chart(result, "against")


def test_a_model_that_fails_is_named_and_the_rest_kept(spec: AlignSpec, models, text, tmp_path: Path) -> None:
    broken = f"path:{tmp_path / 'nowhere'}"
    result = run_study(AlignSpec((*models, broken), methods=("ols",), corpus=text, limit=80, draws=20))
    assert len(result.failures) == 4
    assert all("nowhere" in sentence for sentence in result.failures.values())
    assert set(result.table["source"]) == set(models)


def test_two_groups_are_compared(models, text) -> None:
    result = run_study(AlignSpec(models, against=models, methods=("ridge",), corpus=text, limit=80, draws=20))
    row = result.tables["differences"].query("group == 'against'").iloc[0]
    assert row["difference"] == pytest.approx(0, abs=1e-9)
    assert "equally well" in result.headline


def test_few_rows_are_noted(models, text) -> None:
    result = run_study(AlignSpec(models, methods=("ols",), corpus=text, limit=80, items="mean", draws=20))
    assert result.table["nmse"].notna().all()


def methods_table(**errors: float) -> pd.DataFrame:
    rows = [
        {"group": "models", "method": name, "nmse": value, "low": value - 0.01, "high": value + 0.01}
        for name, value in errors.items()
    ]
    return pd.DataFrame(rows)


NO_LAYERS = pd.DataFrame(columns=["group", "method", "layer", "nmse", "low", "high"])


def difference(value: float, width: float, other: str = "ols") -> pd.DataFrame:
    row = {"group": "models", "method": "inn", "other_group": "models", "other_method": other}
    return pd.DataFrame([{**row, "difference": value, "low": value - width, "high": value + width}])


@pytest.mark.parametrize(
    ("value", "width", "said"),
    [(-0.1, 0.05, "beats closed-form"), (0.1, 0.05, "it is worse"), (0.01, 0.05, "a band that holds 0")],
)
def test_the_headline_says_plainly_whether_the_network_wins(value: float, width: float, said: str) -> None:
    headline = make_headline(
        methods_table(identity=2.0, ols=0.5, inn=0.5 + value), NO_LAYERS, difference(value, width), False
    )
    assert said in headline
    assert "without a map 2.00" in headline


def test_the_network_is_held_against_ridge_where_there_is_one() -> None:
    """Plain least squares may only lack rows; ridge is the stronger opponent."""
    both = pd.concat([difference(-0.1, 0.05), difference(0.01, 0.05, "ridge")])
    headline = make_headline(methods_table(ols=0.5, inn=0.4), NO_LAYERS, both, False)
    assert "does not beat closed-form least squares (ridge)" in headline


def test_the_headline_says_which_layers_are_most_and_least_alike() -> None:
    rows = [
        {"group": "models", "method": "ols", "layer": n, "nmse": e, "low": e, "high": e}
        for n, e in enumerate((0.3, 0.1, 0.6))
    ]
    headline = make_headline(methods_table(ols=0.5), pd.DataFrame(rows), difference(0.1, 0.05), False)
    assert "most alike in layer 1 (0.100 [0.100, 0.100]), least in layer 2 (0.600 [0.600, 0.600])" in headline


def test_a_folder_may_hold_the_separators_of_names() -> None:
    name = _name("models", "path:/a: b/c", "zoo:seed-1", "closed forms")
    assert _parse(name) == ("models", "path:/a: b/c", "zoo:seed-1", "closed forms")


def test_without_any_pair_the_headline_says_so() -> None:
    assert "No pair" in make_headline(methods_table(identity=2.0), NO_LAYERS, pd.DataFrame(columns=["group"]), False)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"models": ("zoo:seed-0",)}, "at least two"),
        ({"against": ("zoo:seed-0",)}, "second group"),
        ({"methods": ()}, "at least one method"),
        ({"methods": ("magic",)}, "no alignment method 'magic'"),
        ({"grid": "inn"}, "layer-by-layer"),
        ({"items": "letters"}, "items must be"),
        ({"limit": 3}, "Sentences must"),
        ({"draws": 1}, "draws must"),
        ({"models": tuple(f"zoo:seed-{n}" for n in range(30))}, "At most"),
    ],
)
def test_a_spec_that_makes_no_sense_is_refused(change: dict, reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        AlignSpec(**{"models": ("zoo:seed-0", "zoo:seed-1"), **change})


def test_the_experiments_run_and_are_drawn(models, text, tmp_path: Path) -> None:
    labelled = tmp_path / "labelled.tsv"
    labelled.write_text("\n".join(f"{label}\t{sentence}" for sentence, label in LABELLED))
    check = CheckSpec(models[0], layer=1, blocks=(0, 2), methods=("identity", "ols"), corpus=text, limit=80)
    stitch = StitchSpec(models, methods=("identity", "ols"), corpus=text, labelled=str(labelled), limit=80, draws=20)
    attention = AttentionSpec(models, methods=("identity", "ols"), corpus=text, limit=80)
    for spec, plan, collect in (
        (check, plan_check, collect_check),
        (stitch, plan_stitch, collect_stitch),
        (attention, plan_attention, collect_attention),
    ):
        result = collect(spec, run(plan(spec)))
        assert len(result.table)
        assert result.headline.endswith(".")
        for chart in experiment_figures(result).values():
            chart.to_dict()
        json.dumps(result.spec)


def test_heads_of_a_model_match_themselves(models, sentences) -> None:
    value = align_attention(models[0], models[0], "a", "a", sentences, ("identity",), 0)
    np.testing.assert_allclose(value["matched"], 1.0)
    assert (value["match"] == np.arange(value["match"].shape[1])).all()
    np.testing.assert_allclose(value["identity/nmse"], 0.0, atol=1e-12)


def test_attention_of_other_tokenizers_is_refused(models, sentences, tmp_path) -> None:
    from tests.core.alignment.conftest import save_classifier
    from zoo.recipe.tokenizer import save_tokenizer, train_tokenizer

    other = save_classifier(tmp_path, 3)
    save_tokenizer(train_tokenizer(["xyz " * 5], 60), tmp_path)
    with pytest.raises(ModelError, match="cut words differently"):
        align_attention(models[0], other, "a", "b", sentences, ("identity",), 0)


def test_the_command_writes_the_files_and_a_second_run_computes_nothing(models, text, tmp_path, capsys) -> None:
    command = [
        "align",
        "--models",
        *models,
        "--methods",
        "ols",
        "ridge",
        "--corpus",
        text,
        "--limit",
        "80",
        "--draws",
        "20",
    ]
    assert cli.main([*command, "--out", str(tmp_path / "one")]) == 0
    assert cli.main([*command, "--out", str(tmp_path / "two")]) == 0
    assert "3 of 3 tasks were stored" in capsys.readouterr().err
    one, two = (pd.read_csv(tmp_path / name / "table.csv") for name in ("one", "two"))
    pd.testing.assert_frame_equal(one, two)
    assert tuple(one.columns) == COLUMNS
    assert (tmp_path / "one" / "figure.svg").stat().st_size
    assert cli.main([*command, "--layers", "some", "--out", str(tmp_path / "three")]) == 2
    assert "--layers takes numbers" in capsys.readouterr().err
