"""The study end to end on tiny models: tables, bands, headlines, refusals that keep the rest."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.alignment.attention import study as attention
from core.alignment.attention.study import MATRIX_COLUMNS, _match_heads, align_attention
from core.alignment.check import study as check
from core.alignment.maps import kernel
from core.alignment.seeds.charts import curve_chart, figures, layer_chart, pair_chart, space_chart
from core.alignment.seeds.spec import AlignSpec
from core.alignment.seeds.study import STUDY
from core.alignment.seeds.tables import COLUMNS
from core.alignment.seeds.text import make_headline
from core.alignment.stitching import study as stitching
from core.commands import main as cli
from core.errors import ModelError, SpecError
from tests.core.alignment.conftest import LABELLED, WORDS

METHODS = ("identity", "shuffled", "lookup", "procrustes", "ols", "ridge")


@pytest.fixture(scope="module")
def text(sentences, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(" ".join(words) for words in sentences))
    return str(path)


@pytest.fixture(scope="module")
def many_words(tmp_path_factory) -> str:
    """A text of 144 word types, for the split by word."""
    rng = np.random.default_rng(1)
    kinds = [a + b for a in WORDS for b in WORDS]
    path = tmp_path_factory.mktemp("text") / "many.txt"
    path.write_text("\n".join(" ".join(rng.choice(kinds, size=6)) for _ in range(80)))
    return str(path)


@pytest.fixture
def spec(models, text) -> AlignSpec:
    return AlignSpec(models, methods=METHODS, corpus=text, sentences=80, split="sentence")


def test_the_table_holds_every_pair_layer_method_split_and_kind_of_word(spec: AlignSpec) -> None:
    result = STUDY.run(spec)
    assert tuple(result.table.columns) == COLUMNS
    assert not result.failures
    test = result.table.query("split == 'test'")
    assert set(test["words"]) == {"all", "seen"}  # of twelve words none is new in a test sentence
    assert len(result.table) == 2 * 3 * len(METHODS) * 2 * 2
    layers = result.tables["layers"]
    assert ((layers["low"] <= layers["nmse"]) & (layers["nmse"] <= layers["high"])).all()
    assert test.query("method == 'shuffled'")["nmse"].between(0.9, 1.2).all()
    assert (test.query("method == 'lookup' and layer == 0")["nmse"] < 0.05).all()  # embeddings are a table
    for chart in figures(result).values():
        chart.to_dict()
    pair_chart(result, "ridge").to_dict()
    for place in ("source", "mapped"):
        space_chart(result, spec.models[0], spec.models[1], "ridge", 1, place).to_dict()
    with pytest.raises(SpecError, match="No network"):
        curve_chart(result)
    with pytest.raises(SpecError, match="second group"):
        layer_chart(result, "against")


def test_both_directions_are_those_of_each_alone(spec: AlignSpec, models) -> None:
    """Fitted side by side, in whichever order the models are named."""
    columns = ["source", "target", "layer", "method", "split", "words"]
    one = STUDY.run(spec).table.set_index(columns).sort_index()
    other = STUDY.run(AlignSpec(models[::-1], methods=METHODS, corpus=spec.corpus, sentences=80, split="sentence"))
    pd.testing.assert_frame_equal(one, other.table.set_index(columns).sort_index(), rtol=1e-5, atol=1e-8)
    assert one.query("method == 'ols' and split == 'test'")["nmse"].nunique() == 6  # two directions, three layers


def test_split_by_word_every_test_word_is_new_and_the_lookup_knows_nothing(models, many_words) -> None:
    methods = ("lookup", "ols", "ridge", "kernel")
    result = STUDY.run(AlignSpec(models, methods=methods, corpus=many_words, sentences=80))
    test = result.table.query("split == 'test'")
    assert set(test["words"]) == {"all", "unseen"}
    assert set(result.table.query("split == 'train'")["words"]) == {"all", "seen"}
    assert test.query("method == 'lookup'")["nmse"].to_numpy() == pytest.approx(1.0)
    assert "words that no map was fitted on" in result.headline
    assert result.tables["differences"].query("method == 'kernel' and other_method == 'ridge'")["level"].eq(0.95).all()


def test_networks_are_trained_until_they_have_converged_with_their_curve(models, many_words) -> None:
    result = STUDY.run(
        AlignSpec(models, methods=("ridge", "mlp"), corpus=many_words, sentences=80, layers=(1,), grid="")
    )
    curves = result.tables["curves"]
    assert curves["converged"].all()
    assert not [notice for notice in result.notices if "had not converged" in notice]
    assert set(curves["source"]) == set(models)
    assert curves.groupby("source")["validation"].min().lt(curves.groupby("source")["validation"].first()).all()
    curve_chart(result).to_dict()


def test_a_kernel_of_fewer_rows_says_so(models, many_words, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path))
    monkeypatch.setattr(kernel, "MOST_ROWS", 100)
    result = STUDY.run(AlignSpec(models, methods=("kernel",), corpus=many_words, sentences=80, layers=(1,), grid=""))
    assert any("kernel ridge was fitted on 100 of" in notice for notice in result.notices)


def test_another_seed_is_another_split(spec: AlignSpec, models) -> None:
    other = AlignSpec(models, methods=METHODS, corpus=spec.corpus, sentences=80, split="sentence", seed=1)
    one, two = (STUDY.run(each).table.query("method == 'ridge' and split == 'test'") for each in (spec, other))
    assert not np.allclose(one["nmse"], two["nmse"])


def test_a_model_that_fails_is_named_and_the_rest_kept(models, text, tmp_path: Path) -> None:
    broken = f"path:{tmp_path / 'nowhere'}"
    result = STUDY.run(AlignSpec((*models, broken), methods=("ols",), corpus=text, sentences=80, split="sentence"))
    assert len(result.failures) == 1
    assert all("nowhere" in sentence for sentence in result.failures.values())
    assert set(result.table["source"]) == set(models)


def test_two_groups_are_compared(models, text) -> None:
    spec = AlignSpec(models, against=models, methods=("ridge",), corpus=text, sentences=80, split="sentence")
    result = STUDY.run(spec)
    row = result.tables["differences"].query("group == 'against'").iloc[0]
    assert row["difference"] == pytest.approx(0, abs=1e-9)
    assert "equally well" in result.headline


def test_rows_of_whole_sentences_have_no_words(models, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    long = tmp_path / "long.txt"
    long.write_text("\n".join(" ".join(rng.choice(WORDS, size=6)) for _ in range(300)))
    asked = AlignSpec(
        models, methods=("lookup", "ols"), corpus=str(long), sentences=300, items="mean", split="sentence"
    )
    result = STUDY.run(asked)
    assert set(result.table["method"]) == {"ols"}
    assert any("lookup by word needs rows" in notice for notice in result.notices)


SPEC = AlignSpec()
NO_LAYERS = pd.DataFrame(columns=["group", "method", "words", "layer", "nmse", "low", "high"])


def methods_table(words: str = "unseen", **errors: float) -> pd.DataFrame:
    rows = [
        {"group": "models", "method": name, "words": words, "nmse": value, "low": value - 0.01, "high": value + 0.01}
        for name, value in errors.items()
    ]
    return pd.DataFrame(rows)


def difference(
    value: float, width: float, method: str = "inn", other: str = "ridge", words: str = "unseen"
) -> pd.DataFrame:
    row = {"group": "models", "method": method, "other_group": "models", "other_method": other, "words": words}
    return pd.DataFrame([{**row, "difference": value, "low": value - width, "high": value + width, "level": 0.95}])


@pytest.mark.parametrize(
    ("value", "width", "said"),
    [
        (-0.1, 0.05, "Invertible network beats ridge there (error .10 ["),
        (0.1, 0.05, "No non-linear map beats ridge there; the best, invertible network, is worse"),
        (-0.01, 0.05, "No non-linear map is shown to beat ridge"),
    ],
)
def test_the_headline_says_plainly_whether_a_non_linear_map_wins(value: float, width: float, said: str) -> None:
    errors = methods_table(identity=2.0, ridge=0.5, inn=0.5 + value)
    headline = make_headline(SPEC, errors, NO_LAYERS, difference(value, width))
    assert said in headline
    assert "without a map 2.0" in headline
    assert "ridge .50" in headline or value > 0


def test_beating_least_squares_alone_is_not_claimed() -> None:
    """Plain least squares may only lack rows; the rival is ridge."""
    headline = make_headline(SPEC, methods_table(ols=0.5, inn=0.4), NO_LAYERS, difference(-0.1, 0.01, other="ols"))
    assert "beats" not in headline


def test_what_carries_over_is_said_of_new_words_and_the_lookup_of_known_ones() -> None:
    errors = pd.concat([methods_table(ridge=0.6), methods_table("seen", lookup=0.31, ridge=0.35)])
    headline = make_headline(SPEC, errors, NO_LAYERS, difference(0.04, 0.01, "ridge", "lookup", "seen"))
    assert "On words that no map was fitted on, 40 % of the target's variance carries over" in headline
    assert "reads no source, leaves .31 [.30, .32], and ridge .040 [.030, .050] more" in headline


def test_the_headline_says_which_layers_are_most_and_least_alike() -> None:
    rows = [
        {"group": "models", "method": "ols", "words": "unseen", "layer": n, "nmse": e, "low": e, "high": e}
        for n, e in enumerate((0.3, 0.1, 0.6))
    ]
    headline = make_headline(SPEC, methods_table(ols=0.5), pd.DataFrame(rows), difference(0.1, 0.05))
    assert "most alike in layer 1 (.10 [.10, .10]), least in layer 2 (.60 [.60, .60])" in headline


def test_without_any_pair_the_headline_says_so() -> None:
    assert "No pair" in make_headline(SPEC, methods_table(identity=2.0), NO_LAYERS, difference(0.1, 0.1))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"models": ("zoo:seed-0",)}, "at least 2"),
        ({"against": ("zoo:seed-0",)}, "second group"),
        ({"methods": ()}, "methods needs at least 1"),
        ({"methods": ("magic",)}, "methods takes any of .*, not magic"),
        ({"grid": "inn"}, "grid takes one of"),
        ({"items": "letters"}, "items takes one of"),
        ({"items": "mean"}, "split takes sentence"),
        ({"split": "letter"}, "split takes one of word, sentence"),
        ({"sentences": 3}, "sentences takes a whole number"),
        ({"seed": "x"}, "seed takes a whole number"),
        ({"layers": (-3, "a")}, "layers takes all, or numbers"),
        ({"models": tuple(f"zoo:seed-{n}" for n in range(30))}, "up to 25|2 to 25"),
    ],
)
def test_a_spec_that_makes_no_sense_is_refused(change: dict, reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        AlignSpec(**{"models": ("zoo:seed-0", "zoo:seed-1"), **change})


def test_the_experiments_run_and_are_drawn(models, text, tmp_path: Path) -> None:
    labelled = tmp_path / "labelled.tsv"
    labelled.write_text("\n".join(f"{label}\t{sentence}" for sentence, label in LABELLED))
    common = {"methods": ("identity", "lookup", "ols"), "corpus": text, "sentences": 80}
    for experiment, asked in (
        (check, check.STUDY.Spec(models[0], layer=1, split="sentence", **common)),
        (stitching, stitching.STUDY.Spec(models, labelled=str(labelled), draws=20, **common)),
        (attention, attention.STUDY.Spec(models, **common)),
    ):
        result = experiment.STUDY.run(asked)
        assert len(result.table)
        assert not result.failures
        assert result.headline.endswith(".")
        assert result.table["method"].nunique() == 3 if "method" in result.table else True
        drawn = experiment.STUDY.figures(result)
        assert drawn
        for chart in drawn.values():
            chart.to_dict()
        json.dumps(result.spec)
        if experiment is attention:
            matrix = result.tables["head_matrix"]
            assert tuple(matrix.columns) == MATRIX_COLUMNS
            assert len(matrix) == len(set(zip(*(matrix[name] for name in MATRIX_COLUMNS[2:6]), strict=True)))
            assert set(matrix["source"]) == {models[0]}
            assert "head-matrix" in drawn
        assert experiment.STUDY.price(asked).processor > 0


def test_heads_of_a_model_match_themselves(models, sentences) -> None:
    value = align_attention(models[0], models[0], "a", "a", sentences, ("identity",), 0)
    np.testing.assert_allclose(value["matched"], 1.0)
    assert (value["match"] == np.arange(value["match"].shape[1])).all()
    np.testing.assert_allclose(value["identity/nmse"], 0.0, atol=1e-12)
    layers, heads = value["matched"].shape
    matrix = value["matrix"].reshape(layers * heads, layers * heads)
    np.testing.assert_allclose(np.diag(matrix), 1.0)
    np.testing.assert_allclose(matrix, matrix.T)


def test_every_head_is_held_against_every_head_as_a_slow_loop_would() -> None:
    rng = np.random.default_rng(0)
    x, y = ([rng.random((3, 2, 40)), rng.random((3, 2, 50))] for _ in range(2))
    y[1][2, 0] = x[1][0, 1] * 2 + 1  # one head of the first layer has its like in the last
    value = _match_heads(x, y, 0)
    for one, head, two, other in np.ndindex(3, 2, 3, 2):
        expected = np.corrcoef(x[1][one, head], y[1][two, other])[0, 1]
        assert value["matrix"][one, head, two, other] == pytest.approx(expected)
    assert value["matrix"][0, 1, 2, 0] == pytest.approx(1.0)
    for layer, head in np.ndindex(3, 2):
        assert value["matched"][layer, head] == value["matrix"][layer, head, layer, value["match"][layer, head]]


def test_attention_of_other_tokenizers_is_refused(models, sentences, tmp_path) -> None:
    from tests.core.alignment.conftest import save_classifier
    from zoo.recipe.tokenizer import save_tokenizer, train_tokenizer

    other = save_classifier(tmp_path, 3)
    save_tokenizer(train_tokenizer(["xyz " * 5], 60), tmp_path)
    with pytest.raises(ModelError, match="cut words differently"):
        align_attention(models[0], other, "a", "b", sentences, ("identity",), 0)


@pytest.fixture
def command(models, text) -> list[str]:
    options = ["--methods", "ols", "ridge", "--corpus", text, "--sentences", "80", "--split", "sentence"]
    return ["align", "--models", *models, *options]


def test_the_command_writes_the_files_and_a_second_run_computes_nothing(command, tmp_path, capsys) -> None:
    assert cli.main([*command, "--out", str(tmp_path / "one")]) == 0
    assert cli.main([*command, "--out", str(tmp_path / "two")]) == 0
    assert "2 of 2 tasks were stored" in capsys.readouterr().err
    one, two = (pd.read_csv(tmp_path / name / "table.csv") for name in ("one", "two"))
    pd.testing.assert_frame_equal(one, two)
    assert tuple(one.columns) == COLUMNS
    assert (tmp_path / "one" / "figure.svg").stat().st_size
    assert cli.main([*command, "--layers", "some", "--out", str(tmp_path / "three")]) == 2
    assert "layers takes all, or numbers" in capsys.readouterr().err


def test_the_commands_seed_reaches_the_numbers(command, tmp_path) -> None:
    for seed in ("0", "7"):
        assert cli.main([*command, "--seed", seed, "--out", str(tmp_path / seed)]) == 0
        assert json.loads((tmp_path / seed / "result.json").read_text())["spec"]["seed"] == int(seed)
    one, other = (pd.read_csv(tmp_path / seed / "table.csv").query("split == 'test'") for seed in ("0", "7"))
    assert not np.allclose(one["nmse"], other["nmse"])


@pytest.mark.parametrize(
    "flags",
    [
        ["check", "--draws", "30"],
        ["check", "--against", "zoo:seed-1"],
        ["check", "--labelled", "x.tsv"],
        ["stitch", "--items", "cls"],
        ["stitch", "--layers", "1"],
        ["attention", "--items", "cls"],
        ["attention", "--draws", "30"],
    ],
)
def test_a_flag_that_an_experiment_has_not_is_refused(flags: list[str], tmp_path, capsys) -> None:
    with pytest.raises(SystemExit):
        cli.main(["align", *flags, "--out", str(tmp_path)])
    assert f"unrecognized arguments: {flags[1]}" in capsys.readouterr().err
