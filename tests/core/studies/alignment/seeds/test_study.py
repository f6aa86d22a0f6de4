"""The study end to end on tiny models: tables, bands, headlines, refusals that keep the rest."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from core.commands import main as cli
from core.errors import ModelError, SpecError
from core.maths.evaluation.bands import leave_out
from core.maths.maps import kernel
from core.models.identity import Identity
from core.options.layer_numbers import EVERY_LAYER
from core.results.estimates import Estimate
from core.results.statements import Statement
from core.studies.alignment.seeds.charts import method_chart, pair_chart
from core.studies.alignment.seeds.curves import AND_AGAIN, curve_chart, errors_chart
from core.studies.alignment.seeds.space import space_chart
from core.studies.alignment.seeds.spec import AGAIN, AlignSpec
from core.studies.alignment.seeds.statements import (
    BETTER,
    EQUAL,
    FIRST,
    HIGHEST,
    LEAVES,
    LOWEST,
    PREDICTS,
    PREDICTS_NOTHING,
    SECOND,
    WORSE,
    find,
    judged,
    statements_of,
)
from core.studies.alignment.seeds.study import STUDY, _layers
from core.studies.alignment.seeds.tables import COLUMNS
from core.studies.alignment.seeds.text import (
    WHICH,
    again_sentence,
    layer_clause,
    lead_sentence,
    make_headline,
    make_notices,
    said,
)
from core.studies.alignment.seeds.view_text import pairs_sentence
from core.studies.alignment.stitching import study as stitching
from extras.alignment.attention import study as attention
from extras.alignment.attention.study import MATRIX_COLUMNS
from extras.alignment.attention.tasks import _match_heads, align_attention
from extras.alignment.check import study as check
from tests.core.studies.alignment.conftest import LABELLED, WORDS, save_classifier

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


@pytest.fixture
def again(models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A second run of the first model: its weights, a hundredth of their size away."""
    from transformers import AutoModelForSequenceClassification

    ref = save_classifier(tmp_path / "again", 0)
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "again")
    torch.manual_seed(5)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.01 * weight.std(correction=0) * torch.randn_like(weight)
    model.save_pretrained(tmp_path / "again")
    runs = {models[0]: ref}
    monkeypatch.setattr(
        "core.studies.alignment.seeds.spec.second_run", lambda name: runs.get(name, "")
    )
    return ref


def test_a_second_run_of_the_seed_stands_beside_every_map_as_its_ceiling(
    spec: AlignSpec, again: str
) -> None:
    methods = (*METHODS, "kernel", "static-word")
    spec = replace(spec, methods=methods)
    assert spec.pairs() == [("models", *spec.models), (AGAIN, spec.models[0], again)]
    result, alone = STUDY.run(spec), STUDY.run(replace(spec, second_run=False))
    assert not result.failures
    means = result.tables["methods"]
    first, second = (
        means[(means["group"] == group) & (means["words"] == "all")].set_index("method")["nmse"]
        for group in ("models", AGAIN)
    )
    assert set(second.index) == {*METHODS, "kernel"}  # no network, and the window has no layers
    assert second["identity"] < 0.01 < first["identity"]
    assert (second[["ridge", "procrustes"]] < first[["ridge", "procrustes"]]).all()
    fact = next(fact for fact in result.statements if fact.subject == AGAIN)
    assert fact.verdict == PREDICTS
    assert fact.estimate is not None
    assert fact.estimate.value == pytest.approx(1 - second[fact.baseline])
    best = result.statements[0].subject
    assert fact.baseline == best
    assert f"{fact.estimate.value_text} of a second run's" in result.headline
    others = [Statement("mlp", PREDICTS, Estimate(0.9, kind="per cent")), *result.statements]
    assert f"predicts {fact.estimate.value_text}" in again_sentence(others)
    assert again_sentence(result.statements) == again_sentence(alone.statements) == ""
    between = result.tables["differences"].query("group == @AGAIN and other_group == 'models'")
    ridge = between[(between["method"] == "ridge") & (between["words"] == "all")].iloc[0]
    assert ridge["difference"] == pytest.approx(second["ridge"] - first["ridge"])
    beyond = find(result.statements, AGAIN, FIRST)
    assert beyond is not None
    assert beyond.verdict == BETTER
    assert beyond.number.value == pytest.approx(100 * (first[best] - second[best]))
    assert result.headline.startswith("In part: ")
    equal = [*result.statements]
    equal[equal.index(beyond)] = replace(beyond, verdict=EQUAL)
    assert not lead_sentence(equal, "all").startswith("In part")
    # what is said of the first group does not change
    for name in ("methods", "layers"):
        rows = result.tables[name].query("group == 'models'").reset_index(drop=True)
        pd.testing.assert_frame_equal(rows, alone.tables[name])
    assert pairs_sentence(result) == pairs_sentence(alone)
    drawn = json.dumps(errors_chart(result).to_dict())
    assert AND_AGAIN in drawn
    assert AND_AGAIN not in json.dumps(errors_chart(alone).to_dict())
    circle = "circle: a second run of the seed"
    assert circle in json.dumps(method_chart(result).to_dict())
    assert circle not in json.dumps(method_chart(alone).to_dict())


def test_a_second_run_of_which_ridge_predicts_most(spec: AlignSpec, again: str) -> None:
    result = STUDY.run(replace(spec, methods=("lookup", "ridge")))
    fact = next(fact for fact in result.statements if fact.subject == AGAIN)
    assert fact.baseline == "ridge"
    assert f"{fact.estimate.value_text} of a second run's" in result.headline


def test_a_second_run_that_is_one_of_the_models_is_no_ceiling(models, again: str) -> None:
    assert AGAIN not in AlignSpec((models[0], again), methods=METHODS).groups


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
    assert (
        test.query("method == 'lookup' and layer == 0")["nmse"] < 0.05
    ).all()  # embeddings are a table
    for chart in STUDY.figures(result).values():
        chart.to_dict()
    pair_chart(result, "ridge").to_dict()
    for place in ("source", "mapped"):
        space_chart(result, spec.models[0], spec.models[1], "ridge", 1, place).to_dict()
    with pytest.raises(SpecError, match="network"):
        curve_chart(result, "inn")
    with pytest.raises(SpecError, match="second group"):
        errors_chart(result, "against")


@pytest.mark.parametrize("methods", [("identity", "lookup"), ("static-window",)])
def test_baselines_alone_are_refused_before_anything_runs(methods: tuple[str, ...]) -> None:
    with pytest.raises(SpecError, match="at least one map"):
        AlignSpec(methods=methods).check()


def test_of_deep_models_seven_layers_are_mapped_unless_others_are_asked_for() -> None:
    deep, shallow = (Identity(str(n), "x", "x", n, 32, "bert", 1) for n in (12, 6))
    assert _layers(AlignSpec(), deep, deep) == (0, 2, 4, 6, 8, 10, 12)
    assert _layers(AlignSpec(layers=(3, 5)), deep, deep) == (3, 5)
    for asked, model in (((EVERY_LAYER,), deep), ((), shallow), ((EVERY_LAYER,), shallow)):
        assert _layers(AlignSpec(layers=asked), model, model) == ()
    assert _layers(AlignSpec(), deep, shallow) == ()


def test_both_directions_are_those_of_each_alone(spec: AlignSpec, models) -> None:
    """Fitted side by side, in whichever order the models are named."""
    columns = ["source", "target", "layer", "method", "split", "words"]
    one = STUDY.run(spec).table.set_index(columns).sort_index()
    other = STUDY.run(
        AlignSpec(models[::-1], methods=METHODS, corpus=spec.corpus, sentences=80, split="sentence")
    )
    pd.testing.assert_frame_equal(
        one, other.table.set_index(columns).sort_index(), rtol=1e-5, atol=1e-8
    )
    assert (
        one.query("method == 'ols' and split == 'test'")["nmse"].nunique() == 6
    )  # two directions, three layers


def test_split_by_word_every_test_word_is_new_and_the_lookup_knows_nothing(
    models, many_words
) -> None:
    methods = ("lookup", "ols", "ridge", "kernel")
    result = STUDY.run(AlignSpec(models, methods=methods, corpus=many_words, sentences=80))
    test = result.table.query("split == 'test'")
    assert set(test["words"]) == {"all", "unseen"}
    assert set(result.table.query("split == 'train'")["words"]) == {"all", "seen"}
    assert test.query("method == 'lookup'")["nmse"].to_numpy() == pytest.approx(1.0)
    assert judged(result.tables["methods"]) == "unseen"
    assert find(result.statements, "lookup").verdict == PREDICTS_NOTHING
    assert (
        result.tables["differences"]
        .query("method == 'kernel' and other_method == 'ridge'")["level"]
        .eq(0.95)
        .all()
    )


@pytest.mark.exhaustive
def test_networks_are_trained_until_they_have_converged_with_their_curve(
    models, many_words
) -> None:
    result = STUDY.run(
        AlignSpec(
            models, methods=("ridge", "mlp"), corpus=many_words, sentences=80, layers=(1,), grid=""
        )
    )
    curves = result.tables["curves"]
    assert curves["converged"].all()
    assert not result.notices
    assert set(curves["source"]) == set(models)
    assert (
        curves.groupby("source")["validation"]
        .min()
        .lt(curves.groupby("source")["validation"].first())
        .all()
    )
    curve_chart(result, "inn").to_dict()


def test_a_kernel_of_fewer_rows_says_so(
    models, many_words, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path))
    monkeypatch.setattr(kernel, "MOST_ROWS", 100)
    result = STUDY.run(
        AlignSpec(
            models, methods=("kernel",), corpus=many_words, sentences=80, layers=(1,), grid=""
        )
    )
    assert any({"100", "Kernel"} <= set(notice.split()) for notice in result.notices)


def test_another_seed_is_another_split(spec: AlignSpec, models) -> None:
    other = AlignSpec(
        models, methods=METHODS, corpus=spec.corpus, sentences=80, split="sentence", seed=1
    )
    one, two = (
        STUDY.run(each).table.query("method == 'ridge' and split == 'test'")
        for each in (spec, other)
    )
    assert not np.allclose(one["nmse"], two["nmse"])


def test_a_model_that_fails_is_named_and_the_rest_kept(models, text, tmp_path: Path) -> None:
    broken = f"path:{tmp_path / 'nowhere'}"
    result = STUDY.run(
        AlignSpec((*models, broken), methods=("ols",), corpus=text, sentences=80, split="sentence")
    )
    assert len(result.failures) == 1
    assert all("nowhere" in sentence for sentence in result.failures.values())
    assert set(result.table["source"]) == set(models)


def test_without_a_pair_nothing_is_left_of_the_second_run(
    spec: AlignSpec, again: str, tmp_path: Path
) -> None:
    missing = f"path:{tmp_path / 'nowhere'}"
    result = STUDY.run(replace(spec, models=(spec.models[0], missing)))
    assert list(result.failures) == [missing]
    assert result.headline == said("no_pair")
    assert result.table.empty


def test_two_groups_are_compared(models, text) -> None:
    spec = AlignSpec(
        models, against=models, methods=("ridge",), corpus=text, sentences=80, split="sentence"
    )
    result = STUDY.run(spec)
    row = result.tables["differences"].query("group == 'against'").iloc[0]
    assert row["difference"] == pytest.approx(0, abs=1e-9)
    fact = find(result.statements, SECOND, FIRST)
    assert fact.verdict == EQUAL
    assert fact.estimate.value == pytest.approx(0, abs=1e-9)


def test_rows_of_whole_sentences_have_no_words(models, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    long = tmp_path / "long.txt"
    long.write_text("\n".join(" ".join(rng.choice(WORDS, size=6)) for _ in range(300)))
    asked = AlignSpec(
        models,
        methods=("lookup", "ols"),
        corpus=str(long),
        sentences=300,
        items="mean",
        split="sentence",
    )
    result = STUDY.run(asked)
    assert set(result.table["method"]) == {"ols"}
    assert any(all(ref in notice for ref in models) for notice in result.notices)  # the refused map


def test_unfinished_training_and_few_rows_are_notices() -> None:
    value = {
        "notices": [],
        "rows": 500,
        "d_one": 8,
        "d_other": 16,
        "inn/converged": np.ones((2, 3)),
    }
    role = ("models", "zoo:a", "zoo:b", ("inn",))
    assert make_notices({role: value}) == []
    (unfinished,) = make_notices(
        {role: value | {"inn/converged": np.array([[1, 1, 0], [1, 0, 1]])}}
    )
    assert "2 of 6" in unfinished
    (few,) = make_notices({role: value | {"rows": 16}})
    assert "16" in few


NO_LAYERS = pd.DataFrame(columns=["group", "method", "words", "layer", "nmse", "low", "high"])


def methods_table(words: str = "unseen", **errors: float) -> pd.DataFrame:
    rows = [
        {
            "group": "models",
            "method": name,
            "words": words,
            "nmse": value,
            "low": value - 0.01,
            "high": value + 0.01,
        }
        for name, value in errors.items()
    ]
    return pd.DataFrame(rows)


def difference(
    value: float, width: float, method: str = "inn", other: str = "ridge", words: str = "unseen"
) -> pd.DataFrame:
    row = {
        "group": "models",
        "method": method,
        "other_group": "models",
        "other_method": other,
        "words": words,
    }
    return pd.DataFrame(
        [{**row, "difference": value, "low": value - width, "high": value + width, "level": 0.95}]
    )


def stated(
    methods: pd.DataFrame, layers: pd.DataFrame, differences: pd.DataFrame
) -> tuple[Statement, ...]:
    """The statements, whose numbers the headline names; a share of nothing is a word."""
    facts = statements_of(methods, layers, differences)
    headline = make_headline(facts, judged(methods))
    assert WHICH[judged(methods)] in headline
    unnamed = [fact for fact in facts if not fact.named_in(headline)]
    assert all((fact.subject, fact.verdict) == ("lookup", PREDICTS_NOTHING) for fact in unnamed)
    return facts


@pytest.mark.parametrize(
    ("value", "width", "verdict"),
    [(-0.1, 0.05, BETTER), (0.1, 0.05, WORSE), (-0.01, 0.05, EQUAL)],
)
def test_it_is_stated_whether_a_non_linear_map_beats_ridge(
    value: float, width: float, verdict: str
) -> None:
    errors = methods_table(identity=2.0, ridge=0.5, inn=0.5 + value)
    facts = stated(errors, NO_LAYERS, difference(value, width))
    compared = find(facts, "inn", "ridge")
    assert compared.verdict == verdict
    assert compared.estimate.value == pytest.approx(-100 * value)
    assert (compared.estimate.low, compared.estimate.high) == pytest.approx(
        (100 * (-value - width), 100 * (-value + width))
    )
    assert find(facts, "identity").estimate.value == 2.0
    assert find(facts, "ridge").estimate.value == 0.5
    assert facts[0].subject == ("ridge" if value > 0 else "inn")
    assert facts[0].estimate.value == pytest.approx(max(0.5, 0.5 - value))


def test_beating_least_squares_alone_is_not_claimed() -> None:
    """Plain least squares may only lack rows; the rival is ridge."""
    facts = stated(methods_table(ols=0.5, inn=0.4), NO_LAYERS, difference(-0.1, 0.01, other="ols"))
    assert [fact.verdict for fact in facts] == [PREDICTS]


def test_the_lookup_is_stated_of_words_seen_in_training() -> None:
    errors = pd.concat([methods_table(ridge=0.6), methods_table("seen", lookup=0.31, ridge=0.35)])
    facts = stated(errors, NO_LAYERS, difference(0.04, 0.01, "ridge", "lookup", "seen"))
    assert (facts[0].subject, facts[0].verdict, facts[0].estimate.value) == ("ridge", PREDICTS, 0.4)
    assert find(facts, "lookup on seen words").verdict == LEAVES
    assert find(facts, "lookup on seen words").estimate.value == pytest.approx(0.31)
    compared = find(facts, "ridge on seen words", "lookup")
    assert compared.verdict == WORSE
    assert (compared.estimate.low, compared.estimate.high) == pytest.approx((-5.0, -3.0))


def test_a_lookup_that_predicts_nothing_is_stated_so() -> None:
    facts = stated(methods_table(ridge=0.6, lookup=1.0), NO_LAYERS, difference(0.1, 0.1))
    assert find(facts, "lookup").verdict == PREDICTS_NOTHING
    (nothing, *_) = stated(methods_table(ridge=1.2), NO_LAYERS, difference(0.1, 0.1))
    assert (nothing.verdict, nothing.estimate.value) == (PREDICTS_NOTHING, 1.2)


def test_the_layers_of_the_lowest_and_the_highest_error_are_stated() -> None:
    rows = [
        {
            "group": "models",
            "method": "ols",
            "words": "unseen",
            "layer": n,
            "nmse": e,
            "low": e,
            "high": e,
            "tied": e < 0.5,
        }
        for n, e in enumerate((0.3, 0.1, 0.6))
    ]
    facts = stated(methods_table(ols=0.5), pd.DataFrame(rows), difference(0.1, 0.05))
    ends = {fact.verdict: (fact.layers, fact.estimate.value) for fact in facts if fact.layers}
    assert ends == {LOWEST: ((0, 1), 0.1), HIGHEST: ((2,), 0.6)}
    most, least = (fact for fact in facts if fact.layers)
    clause = layer_clause([most, least])
    assert clause == "layers 0 and 1 agree most (error .10 [.10, .10]; elsewhere up to .60)"
    all_tied = replace(most, layers=(0, 1, 2))
    assert layer_clause([all_tied, least]).startswith("no layer agrees detectably most")


def test_a_layer_is_lowest_as_far_as_its_units_tell() -> None:
    drawn = np.random.default_rng(0)
    noise = drawn.normal(size=(2, 1, 40))
    error = np.stack([noise[0] + 10, noise[0] + 10.001 + noise[1], noise[0] + 14], axis=1)
    estimate = leave_out(error, np.full((1, 3, 40), 20.0), [("a", "b")])
    assert estimate.lowest().tolist() == [True, True, False]


def test_without_any_pair_nothing_is_stated() -> None:
    facts = statements_of(methods_table(identity=2.0), NO_LAYERS, difference(0.1, 0.1))
    assert facts == ()
    assert make_headline(facts, "unseen") == said("no_pair")


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
        ({"layers": (-3, "a")}, "layers takes some, all, or numbers"),
        ({"models": tuple(f"zoo:seed-{n}" for n in range(30))}, "up to 25|2 to 25"),
    ],
)
def test_a_spec_that_makes_no_sense_is_refused(change: dict, reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        AlignSpec(**{"models": ("zoo:seed-0", "zoo:seed-1"), **change})


@pytest.mark.exhaustive
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
        assert result.statements
        assert all(fact.named_in(result.headline) for fact in result.statements)
        assert result.table["method"].nunique() == 3 if "method" in result.table else True
        drawn = experiment.STUDY.figures(result)
        assert drawn
        for chart in drawn.values():
            chart.to_dict()
        json.dumps(result.spec)
        if experiment is attention:
            matrix = result.tables["head_matrix"]
            assert tuple(matrix.columns) == MATRIX_COLUMNS
            assert len(matrix) == len(
                set(zip(*(matrix[name] for name in MATRIX_COLUMNS[2:6]), strict=True))
            )
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
        assert (
            value["matched"][layer, head]
            == value["matrix"][layer, head, layer, value["match"][layer, head]]
        )


def test_attention_of_other_tokenizers_is_refused(models, sentences, tmp_path) -> None:
    from tests.core.studies.alignment.conftest import save_classifier
    from zoo.recipe.tokenizer import save_tokenizer, train_tokenizer

    other = save_classifier(tmp_path, 3)
    save_tokenizer(train_tokenizer(["xyz " * 5], 60), tmp_path)
    with pytest.raises(ModelError, match="tokenizer"):
        align_attention(models[0], other, "a", "b", sentences, ("identity",), 0)


def test_every_head_has_a_match_or_the_pair_is_refused(models, sentences, tmp_path) -> None:
    from tests.core.studies.alignment.conftest import save_classifier

    fewer = save_classifier(tmp_path, 3, heads=1)
    value = align_attention(fewer, models[0], "a", "b", sentences, ("identity",), 0)
    assert value["match"].shape == (2, 1)
    with pytest.raises(ModelError, match=r"2 heads in a layer and .* 1, so that not every head"):
        align_attention(models[0], fewer, "b", "a", sentences, ("identity",), 0)


@pytest.fixture
def command(models, text) -> list[str]:
    options = [
        "--methods",
        "ols",
        "ridge",
        "--corpus",
        text,
        "--sentences",
        "80",
        "--split",
        "sentence",
    ]
    return ["align", "--models", *models, *options]


def test_the_command_writes_the_files_and_a_second_run_computes_nothing(
    command, tmp_path, capsys
) -> None:
    assert cli.main([*command, "--out", str(tmp_path / "one")]) == 0
    assert cli.main([*command, "--out", str(tmp_path / "two")]) == 0
    assert "2 of 2 tasks were stored" in capsys.readouterr().err
    one, two = (pd.read_csv(tmp_path / name / "table.csv") for name in ("one", "two"))
    pd.testing.assert_frame_equal(one, two)
    assert tuple(one.columns) == COLUMNS
    assert (tmp_path / "one" / "figure.svg").stat().st_size
    assert cli.main([*command, "--layers", "most", "--out", str(tmp_path / "three")]) == 2
    assert "layers takes some, all, or numbers" in capsys.readouterr().err


def test_the_commands_seed_reaches_the_numbers(command, tmp_path) -> None:
    for seed in ("0", "7"):
        assert cli.main([*command, "--seed", seed, "--out", str(tmp_path / seed)]) == 0
        assert json.loads((tmp_path / seed / "result.json").read_text())["spec"]["seed"] == int(
            seed
        )
    one, other = (
        pd.read_csv(tmp_path / seed / "table.csv").query("split == 'test'") for seed in ("0", "7")
    )
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
    assert cli.main(["align", *flags, "--out", str(tmp_path)]) == 2
    assert f"There is no option '{flags[1]}'" in capsys.readouterr().err
