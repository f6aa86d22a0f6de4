"""Output divergence from beginning to end, on included models."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.errors import ModelError, SpecError
from core.models.loading import reading
from core.models.loading.language_models import LanguageModel, load_language_model
from core.results.columns import meaning
from core.results.estimates import Estimate, estimate_of
from core.results.export import Result
from core.results.statements import Statement
from core.studies.notices import base_left_out, few_sentences
from core.studies.rsa.divergence import tasks
from core.studies.rsa.divergence.charts import first_models, looks_of
from core.studies.rsa.divergence.report import (
    ALL,
    CLOSEST,
    FOLLOWS,
    GAP,
    SIMILAR,
    SIMILAR_BASELINE,
    make_headline,
)
from core.studies.rsa.divergence.spec import DivergenceSpec
from core.studies.rsa.divergence.study import STUDY
from core.studies.rsa.divergence.tasks import compare_predictions
from tests.core.contents import run_as
from tests.core.studies.rsa.facts import stated, unnamed
from tests.core.tiny_models import SENTENCES, save_tiny

SMALL = {"sentences": 30, "words": 100}


@pytest.mark.slow
def test_a_later_step_predicts_more_like_the_final_model() -> None:
    spec = DivergenceSpec(compare=("zoo:seed-0@step-200", "zoo:seed-0@step-3200"), **SMALL)
    result = STUDY.run(spec)
    assert not result.failures
    whole = result.table[result.table["by"] == ALL].set_index("model")
    assert whole.loc["zoo:seed-0@step-3200", "js"] < whole.loc["zoo:seed-0@step-200", "js"]
    assert (whole["js"] < whole["chance_js"]).all()
    assert whole["part"].tolist() == ["compared", "compared", "baseline"]
    for row in whole.itertuples():
        assert 0 < row.low <= row.js <= row.high < 1
    closest = stated(result.statements, CLOSEST)
    assert (closest.subject, closest.baseline) == ("zoo:seed-0@step-3200", "zoo:seed-0")
    assert closest.estimate == estimate_of(whole.loc["zoo:seed-0@step-3200"], "js")
    states = result.tables["states"]
    assert stated(result.statements, SIMILAR).layers == (int(states["layer"].max()),)
    assert len(states) == 3 * 7
    assert not unnamed(result.statements, result.headline)
    assert set(STUDY.figures(result)) == {"divergence", "states", "correlation", "coloured"}
    coloured = result.tables["coloured"]
    assert coloured["sentence"].max() == 8
    assert (coloured["base_token"].str.len() > 0).all()
    assert all(
        meaning(name, column) for name, table in result.tables.items() for column in table.columns
    )


def test_a_model_predicts_like_itself_and_unmasked_text_is_easier() -> None:
    twin = run_as("zoo:seed-0")
    sentences = (("the", "cat", "sat", "on", "the", "mat", "."),)
    masked, unmasked = (
        compare_predictions("zoo:seed-0", "zoo:seed-0", twin, twin, sentences, masking)
        for masking in ("masked", "unmasked")
    )
    for value in (masked, unmasked):
        assert value["js"] == pytest.approx([0.0] * 7, abs=1e-6)
        assert value["agree"].tolist() == [1.0] * 7
        assert (value["surprisal"] == value["base_surprisal"]).all()
    assert unmasked["surprisal"].mean() < masked["surprisal"].mean() / 2


def test_causal_models_predict_the_next_token(tmp_path: Path) -> None:
    refs = [
        f"path:{save_tiny(tmp_path / str(seed), 'gpt2', head=True, seed=seed)}" for seed in (0, 1)
    ]
    value = compare_predictions(*refs, *map(run_as, refs), SENTENCES, "masked")
    predicted = set(zip(value["sentence"].tolist(), value["word"].tolist(), strict=True))
    assert len(predicted) >= sum(len(words) - 1 for words in SENTENCES)
    assert (value["js"] > 0).all()


@pytest.mark.parametrize("model_type", ["bert", "llama"])
def test_models_that_are_read_by_layer_differ_as_much(
    model_type: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = [
        f"path:{save_tiny(tmp_path / str(seed), model_type, head=True, seed=seed)}"
        for seed in (0, 1)
    ]
    asked = (*pair, *map(run_as, pair), SENTENCES, "unmasked")
    whole = compare_predictions(*asked)
    monkeypatch.setattr(reading, "READ_AS_ONE", 10)
    by_layer = compare_predictions(*asked)
    assert whole.keys() == by_layer.keys()
    assert by_layer["top"] == whole["top"]
    assert whole["notices"] == []
    assert [notice.split()[0] for notice in by_layer["notices"]] == pair
    for name in ("js", "kl", "surprisal", "base_surprisal", "sentence", "word"):
        assert by_layer[name] == pytest.approx(whole[name], abs=1e-5), name


def test_models_of_different_kinds_or_vocabularies_are_refused(tmp_path: Path) -> None:
    causal = f"path:{save_tiny(tmp_path / 'a', 'gpt2', head=True)}"
    masked = f"path:{save_tiny(tmp_path / 'b', 'bert', head=True)}"

    def run(first: str, second: str) -> None:
        compare_predictions(first, second, run_as(first), run_as(second), SENTENCES, "masked")

    with pytest.raises(ModelError, match="choose two models of one kind"):
        run(masked, causal)
    with pytest.raises(ModelError, match="different subwords"):
        run("zoo:seed-0", masked)


def test_a_masked_model_without_a_mask_token_reads_unmasked_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def without_mask(ref: str) -> LanguageModel:
        model = load_language_model(ref)
        tokenizer = copy(model.loaded.tokenizer)
        tokenizer.mask = None
        return replace(model, loaded=replace(model.loaded, tokenizer=tokenizer))

    monkeypatch.setattr(tasks, "load_language_model", without_mask)
    pair = ("zoo:seed-0", "zoo:seed-1")
    asked = (*pair, *map(run_as, pair), (("the", "cat", "sat"),))
    assert len(compare_predictions(*asked, "unmasked")["js"]) == 3
    with pytest.raises(ModelError, match="no mask token"):
        compare_predictions(*asked, "masked")


@pytest.mark.slow
def test_a_base_without_a_head_ends_the_study_and_a_model_without_one_is_left_out() -> None:
    with pytest.raises(ModelError, match="predicts no words"):
        STUDY.run(DivergenceSpec(base="zoo:parse-0", **SMALL))
    result = STUDY.run(DivergenceSpec(compare=("zoo:parse-0",), others=(), **SMALL))
    assert result.headline == STUDY.words.nothing
    assert any("predicts no words" in sentence for sentence in result.failures.values())
    assert STUDY.figures(result) == {}


def test_the_base_is_not_compared_with_itself() -> None:
    for others in ((), ("zoo:seed-1",)):
        with pytest.raises(SpecError, match="zoo:seed-0 cannot be compared with itself"):
            STUDY.run(DivergenceSpec(compare=("zoo:seed-0",), others=others, **SMALL))


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "among",
    [
        pytest.param(
            {"compare": ("zoo:seed-0", "zoo:seed-0@step-200"), "others": ()},
            marks=pytest.mark.exhaustive,
        ),
        {"compare": ("zoo:seed-0@step-200",), "others": ("zoo:seed-0",)},
    ],
)
def test_a_base_among_the_models_is_left_out_with_a_notice(among: dict) -> None:
    small = {"sentences": 20, "words": 30}
    result = STUDY.run(DivergenceSpec(**among, **small))
    assert base_left_out("zoo:seed-0") in result.notices
    assert set(result.table["model"]) == {"zoo:seed-0@step-200"}
    assert few_sentences(20) in result.notices
    plain = STUDY.run(DivergenceSpec(compare=("zoo:seed-0@step-200",), others=(), **SMALL))
    assert few_sentences(30) not in plain.notices
    assert base_left_out("zoo:seed-0") not in plain.notices


def test_a_model_whose_predictions_are_not_finite_fails_alone(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    refs = [save_tiny(tmp_path / str(seed), "bert", head=True, seed=seed) for seed in range(3)]
    weights = load_file(refs[2] / "model.safetensors")
    name = next(name for name in weights if name.endswith("layer.0.output.dense.weight"))
    weights[name][:] = np.inf
    save_file(weights, refs[2] / "model.safetensors", metadata={"format": "pt"})
    base, sound, broken = (f"path:{folder}" for folder in refs)
    text = "\n".join(" ".join(words) for words in SENTENCES)
    spec = DivergenceSpec(
        base=base, compare=(sound, broken), others=(), corpus="upload:a.txt", words=30
    )
    result = STUDY.run(spec, {"upload:a.txt": text.encode()})
    assert set(result.table["model"]) == {sound}
    (reason,) = (said for key, said in result.failures.items() if key.startswith("pred"))
    assert f"The predictions of {broken} are not finite" in reason


def test_a_page_shows_the_closest_model_and_the_baseline_first_in_their_own_colours() -> None:
    refs = ["zoo:seed-0@step-50", "zoo:seed-0@step-200", "zoo:seed-1"]
    rows = pd.DataFrame({"model": refs, "by": "all", "words": "all", "js": [0.3, 0.2, 0.1],
                         "part": ["compared", "compared", "baseline"]})  # fmt: skip
    tables = {"divergence": rows, "states": rows[["model"]], "coloured": rows[["model"]][:2]}
    result = Result("divergence", {}, "", tables)
    first = first_models(result)
    assert first.table["model"].tolist() == refs[1:]
    assert first.tables["states"]["model"].tolist() == refs[1:]
    every = looks_of(result)
    assert looks_of(first) == {name: every[name] for name in ("seed-0@step-200", "seed-1")}
    assert first_models(first) is first


def test_the_headline_follows_its_statements() -> None:
    js = Estimate(0.2, 0.18, 0.22, kind="probability")
    statements = [Statement("a", CLOSEST, js, baseline="b")]
    assert ".20 [.18, .22]" in make_headline(statements)
    for low, words in ((0.1, "more"), (-0.1, "not detectably different")):
        gap = Estimate(0.15, low, 0.2, kind="probability")
        said = make_headline([*statements, Statement("a", GAP, gap, baseline="c")])
        assert words in said
    gap = Statement("a", GAP, Estimate(0.1, 0.05, 0.2, kind="probability"), baseline="c")
    near = [Statement("a", SIMILAR, Estimate(0.7, 0.65, 0.75)),
            Statement("c", SIMILAR_BASELINE, Estimate(0.5, 0.45, 0.55))]  # fmt: skip
    said = make_headline([*statements, gap, *near])
    assert said.startswith(
        "a predicts less like b than c does (JS divergence .10 [.05, .20] bits more)"
    )
    assert "The divergence is .20 [.18, .22] bits per word." in said
    assert ", yet its states are more similar (.70 and .50; RSA)" in said
    far = [near[0], Statement("c", SIMILAR_BASELINE, Estimate(0.7, 0.6, 0.8))]
    assert "similarity of the top layers" in make_headline([*statements, gap, *far])
    for value, words in ((0.3, "differ more"), (-0.3, "differ less")):
        rho = Estimate(value, value - 0.1, value + 0.1)
        assert words in make_headline([*statements, Statement("a", FOLLOWS, rho, (6,), "b")])
    none = Statement("a", FOLLOWS, Estimate(0.0, -0.1, 0.1), (6,), "b")
    assert "not detectably" in make_headline([*statements, none])
    assert make_headline([]) == ""
