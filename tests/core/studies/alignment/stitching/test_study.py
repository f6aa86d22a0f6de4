"""Stitching: nothing is lost where nothing is changed, and every refusal is a sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from core.errors import ModelError, ShapeError
from core.maths.statistics import sentence_counts
from core.models.loading.layers import answers_in_tuples, enter, layer_list, states
from core.results.statements import TWO_LINES, lead_of
from core.studies.alignment.forward import batches
from core.studies.alignment.stitching.study import _means
from core.studies.alignment.stitching.tasks import stitch_pair
from core.studies.alignment.stitching.text import (
    ABOVE,
    AT_LAYER_0,
    BELOW,
    EQUAL,
    REACHES,
    UNMODIFIED,
    make_headline,
    statements_of,
)
from tests.core.studies.alignment.conftest import LABELLED, save_classifier


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def stitch(source: str, target: str, sentences, methods=("identity", "ols"), labelled=LABELLED):
    return stitch_pair(source, target, "a", "b", sentences, labelled, methods, 0)


def test_entering_a_model_with_its_own_states_changes_nothing(models) -> None:
    from core.models import load_tokenizer, load_with_head

    model, tokenizer = load_with_head(models[0], device="cpu").model, load_tokenizer(models[0])
    for batch in batches(tokenizer, [text for text, _ in LABELLED]):
        with torch.inference_mode():
            expected = model(
                input_ids=batch.ids, attention_mask=batch.mask, output_hidden_states=True
            )
        hidden = states(model, batch)
        torch.testing.assert_close(hidden, torch.stack(expected.hidden_states))
        for layer in range(len(hidden)):
            in_tuple = answers_in_tuples(model, batch)
            assert torch.equal(
                enter(model, batch, layer, hidden[layer], in_tuple=in_tuple).logits, expected.logits
            )
        with pytest.raises(ModelError, match="cannot be entered at"):
            enter(model, batch, len(hidden), hidden[0], in_tuple=in_tuple)


def test_a_model_stitched_into_itself_loses_nothing_at_any_layer(models, sentences) -> None:
    value = stitch(models[0], models[0], sentences, ("identity", "procrustes", "ols"))
    for method in ("identity", "procrustes", "ols"):
        assert (value[f"{method}/correct"] == value["own_target"]).all(), method


def test_the_map_and_not_the_source_decides_at_layer_zero(models, sentences) -> None:
    """Same tokens, other embeddings: least squares maps them onto the target's, for words that it
    saw."""
    value = stitch(models[0], models[1], sentences)
    assert (value["ols/correct"][0] == value["own_target"]).mean() > 0.9


def test_other_tokenizers_are_refused(models, sentences, tmp_path) -> None:
    from zoo.recipe.tokenizer import save_tokenizer, train_tokenizer

    other = save_classifier(tmp_path, 3)
    save_tokenizer(train_tokenizer(["xyz " * 5], 60), tmp_path)
    with pytest.raises(ModelError, match="tokenizer"):
        stitch(models[0], other, sentences)


def test_another_depth_is_refused(models, sentences, tmp_path) -> None:
    with pytest.raises(ModelError, match="same number"):
        stitch(models[0], save_classifier(tmp_path, 3, layers=3), sentences)


def test_an_unknown_label_names_the_known_ones(models, sentences) -> None:
    with pytest.raises(ShapeError, match="bad, good"):
        stitch(models[0], models[1], sentences, labelled=(("the film", "excellent"),))


def test_a_model_without_a_list_of_layers_is_refused() -> None:
    with pytest.raises(ModelError, match="not described here"):
        layer_list(torch.nn.Linear(2, 2))


def means_of(**accuracy: float) -> pd.DataFrame:
    rows = [
        {"method": name, "layer": layer, "accuracy": value}
        for name, value in accuracy.items()
        for layer in range(3)
    ]
    return pd.DataFrame(rows).assign(low=0.0, high=1.0)


def differences_of(**value: float) -> pd.DataFrame:
    """What ridge has more than each baseline at the middle layer, within .05."""
    rows = [
        {"method": "ridge", "layer": 1, "baseline": baseline, "difference": difference}
        for baseline, difference in value.items()
    ]
    ends = pd.DataFrame(rows).assign(level=0.975)
    ends["baseline"] = ends["baseline"].replace(
        {"at_layer_0": AT_LAYER_0, "unmodified": UNMODIFIED}
    )
    return ends.assign(low=ends["difference"] - 0.05, high=ends["difference"] + 0.05)


@pytest.mark.parametrize(
    ("value", "verdict", "answer"),
    [(0.1, ABOVE, "Yes"), (-0.1, BELOW, "Only in part"), (0.01, EQUAL, "Yes")],
)
def test_the_best_map_is_compared_with_unmodified_models(
    value: float, verdict: str, answer: str
) -> None:
    means = means_of(ols=0.6, ridge=0.7, identity=0.5, lookup=0.4)
    means.loc[(means["method"] == "identity") & (means["layer"] == 2), "accuracy"] = 0.72
    facts = statements_of(means, differences_of(unmodified=value, lookup=0.3, at_layer_0=0.2), 0.65)
    reached = {
        (fact.subject, *fact.layers): fact.number.value for fact in facts if fact.verdict == REACHES
    }
    assert reached == {
        ("ridge", 1): 0.7, ("identity", 1): 0.5, ("identity", 2): 0.72, (UNMODIFIED,): 0.65
    }  # fmt: skip
    (compared,) = [fact for fact in facts if fact.baseline == UNMODIFIED]
    assert (compared.subject, compared.verdict, compared.layers) == ("ridge", verdict, (1,))
    assert compared.number.value == pytest.approx(100 * value)
    assert compared.number.level == 0.975
    said = make_headline(facts)
    assert said.startswith(f"{answer}: ")
    assert all(fact.named_in(said) for fact in facts)


@pytest.mark.parametrize(
    ("rivals", "said"),
    [
        ({"lookup": 0.3, "at_layer_0": 0.02}, "not detectably more than at layer 0"),
        ({"lookup": 0.02, "at_layer_0": 0.2}, "not detectably more than with a per-subword"),
        ({"lookup": 0.3, "at_layer_0": -0.2}, "less than at layer 0"),
        ({"at_layer_0": 0.2}, "no per-subword average was fitted"),
    ],
)
def test_a_map_that_does_not_beat_both_rivals_shows_nothing(
    rivals: dict[str, float], said: str
) -> None:
    means = means_of(ridge=0.7, identity=0.5)
    facts = statements_of(means, differences_of(unmodified=0.01, **rivals), 0.7)
    headline = make_headline(facts)
    assert headline.startswith("Not shown: ")
    assert said in lead_of(headline)
    assert len(lead_of(headline)) <= TWO_LINES
    assert all(fact.named_in(headline) for fact in facts)


def test_means_and_differences_are_those_of_a_slow_loop(rng) -> None:
    pairs = [rng.random((2, 30)) < 0.7 for _ in range(3)]
    own = {name: rng.random(30) < 0.8 for name in "ab"}
    counts = sentence_counts(30, 40, np.random.default_rng(0))
    maps = {name: [pair.astype(float) for pair in pairs] for name in ("ols", "ridge", "lookup")}
    means, differences = _means(maps, own, counts)
    assert len(differences) == 3 * 3 * 2
    for layer in range(2):
        stitched = np.array([[pair[layer, text] for pair in pairs] for text in range(30)]).mean(1)
        unmodified = np.array([[model[text] for model in own.values()] for text in range(30)]).mean(
            1
        )
        row, beside, moved, risen = (
            table[(table["layer"] == layer) & (table["method"] == "ols")].iloc[number]
            for table, number in ((means, 0), *((differences, number) for number in range(3)))
        )
        assert row["accuracy"] == pytest.approx(stitched.mean())
        assert [beside["baseline"], moved["baseline"], risen["baseline"]] == [
            UNMODIFIED, "lookup", AT_LAYER_0
        ]  # fmt: skip
        first = np.array([[pair[0, text] for pair in pairs] for text in range(30)]).mean(1)
        for apart, other in ((beside, unmodified), (risen, first)):
            drawn = [float(((stitched - other) * draw).sum() / 30) for draw in counts]
            assert apart["difference"] == pytest.approx(stitched.mean() - other.mean())
            assert apart["level"] == 0.975  # of two maps; the per-subword average is none
            ends = np.quantile(drawn, [0.0125, 0.9875])
            assert [apart["low"], apart["high"]] == pytest.approx(ends)
        assert moved["difference"] == 0


def test_without_a_pair_nothing_is_stated() -> None:
    assert statements_of(means_of(), pd.DataFrame(), 0.6) == ()


def test_the_lookup_ignores_the_source(models, sentences) -> None:
    """From whichever model: the target's mean states of the subwords continue through the target,
    and decide alone."""
    one, other = (stitch(source, models[1], sentences, ("lookup",)) for source in models)
    assert (one["lookup/correct"] == other["lookup/correct"]).all()
    assert (one["lookup/correct"][0] == one["own_target"]).mean() > 0.9  # embeddings are a table
