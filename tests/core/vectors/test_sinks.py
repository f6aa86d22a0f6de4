"""Attention sinks: found as a slow loop finds them, left out of comparisons, and said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.catalogue import STUDIES
from core.errors import ModelError, ShapeError
from core.results.export import Result
from core.runs.runner import Outputs, run
from core.runs.store import Store, using
from core.studies.rsa.layers import study
from core.studies.rsa.layers.spec import RsaSpec
from core.study import run_first_stage
from core.text.corpora import Corpus, Sentence
from core.vectors.activations import extract
from core.vectors.notices import sinks_left_out
from core.vectors.pairs import Items, extract_pair
from core.vectors.sinks import (
    COLUMNS,
    find_sinks,
    massive_activations,
    positions_of,
    record,
    sinks_in,
    with_sinks,
)
from tests.core.massive import FIRST, SIZE, make_massive, sentences
from tests.core.tiny_models import LAYERS, save_tiny


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Two unrelated decoders in which the first word has one massive activation, and an encoder."""
    folder = tmp_path_factory.mktemp("sinks")
    refs = {"encoder": f"path:{save_tiny(folder / 'bert', 'bert')}"}
    for seed, name in enumerate(("first", "second")):
        save_tiny(folder / name, "llama", seed=seed)
        make_massive(folder / name)
        refs[name] = f"path:{folder / name}"
    refs["plain"] = f"path:{save_tiny(folder / 'plain', 'llama', seed=7)}"
    return refs


def test_massive_activations_equal_the_slow_loop() -> None:
    rng = np.random.default_rng(1)
    states = rng.standard_normal((4, 9, 6)) * rng.choice([1e-3, 1.0, 50.0], (4, 9, 1))
    states[2, 3, 1], states[2, 4, 1], states[3, 0, 5] = -4_000.0, 90.0, 99.9
    states[0] *= 1e-3
    states[0, 5, 2] = 101.0
    pieces = rng.integers(0, 4, 9)
    pieces[[0, 3, 5]] = 1, 3, 1
    massive, largest, times = massive_activations(states, pieces)
    seen = 0
    for layer in range(4):
        numbers = [
            abs(value) * pieces[word]
            for word in range(9)
            if pieces[word]
            for value in states[layer, word]
        ]
        median = sorted(numbers)[len(numbers) // 2 - 1 : len(numbers) // 2 + 1]
        middle = sum(median) / 2 if len(numbers) % 2 == 0 else sorted(numbers)[len(numbers) // 2]
        for word in range(9):
            top = max(abs(value) * pieces[word] for value in states[layer, word])
            assert largest[layer, word] == pytest.approx(top)
            assert times[layer, word] == pytest.approx(top / middle)
            assert massive[layer, word] == (pieces[word] > 0 and top > 100 and top > 1_000 * middle)
            seen += massive[layer, word]
    assert seen >= 2
    assert massive[2, 3]
    assert massive[0, 5]


def test_no_word_that_the_tokenizer_keeps_is_no_sink() -> None:
    massive, _, times = massive_activations(np.full((2, 3, 4), 1e6), np.zeros(3, dtype=int))
    assert not massive.any()
    assert not times.any()


def test_the_sinks_of_a_decoder_are_where_they_were_put(models: dict[str, str]) -> None:
    text = (*sentences(), ("the", "man"), ("the", "dog"))
    sinks = find_sinks(models["first"], text)
    assert positions_of([sinks], len(text)) == (((0,),) * 30 + ((1,), ()))
    assert sorted(set(sinks.layer.tolist())) == list(range(LAYERS)), "the final norm scales it down"
    layers = [row[1:4] for row in sinks.rows()]
    assert layers == [[layer, 31, 30] for layer in range(LAYERS)] + [[LAYERS, 0, 0]]
    assert sinks.words == sum(map(len, text))
    assert sinks.rows()[1][5] == pytest.approx(SIZE, rel=0.01)
    assert len(find_sinks(models["plain"], text).layer) == 0


def test_they_are_stored_and_found_without_the_model(
    models: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = find_sinks(models["first"], sentences())
    monkeypatch.setattr("core.vectors.sinks.visit_sentences", None)
    after = find_sinks(models["first"], sentences())
    assert np.array_equal(before.word, after.word)
    assert before.rows() == after.rows()


def test_a_sentence_that_is_too_long_has_none(models: dict[str, str]) -> None:
    long = (FIRST,) + ("door",) * 2_000
    sinks = find_sinks(models["first"], [long, (FIRST, "dog")])
    assert (sinks.words, positions_of([sinks], 2)) == (2, ((), (0,)))


def test_states_of_one_sequence(models: dict[str, str]) -> None:
    states = extract(models["first"], [(FIRST, "dog", "door")]).vectors
    pieces = np.array([2, 1, 1])
    assert positions_of([sinks_in("a", states, pieces)], 1) == ((0,),)


@pytest.mark.slow
def test_a_pair_leaves_out_the_sinks_of_both(models: dict[str, str]) -> None:
    text = sentences()
    items = Items(text, tuple((0, 2) for _ in text), "words")
    whole = extract_pair(models["plain"], models["first"], items)
    left = extract_pair(models["plain"], models["first"], items, sinks="auto")
    assert whole.base.shape[1] == 60
    assert left.base.shape[1] == 30
    assert set(left.word.tolist()) == {2}
    assert np.array_equal(left.base, whole.base[:, whole.word == 2])
    assert whole.sinks is None
    assert left.sinks is not None
    assert (left.sinks["left_out"], left.sinks["items"]) == (30, 60)
    functions = extract_pair(models["plain"], models["first"], items, functions=True, sinks="auto")
    assert functions.base.shape[1] == 30


def test_a_mean_is_over_the_other_words(models: dict[str, str]) -> None:
    text = sentences()
    left = extract_pair(models["first"], models["plain"], Items(text, (), "mean"), sinks="auto")
    words = extract(models["first"], text)
    for number in range(len(text)):
        mine = (words.sentence == number) & (words.word > 0)
        expected = words.vectors[:, mine].mean(axis=1)
        np.testing.assert_allclose(left.base[:, number], expected, rtol=2e-3, atol=2e-3)
    only = (*text, (FIRST,))
    alone = extract_pair(models["first"], models["plain"], Items(only, (), "mean"), sinks="auto")
    assert alone.sentence.tolist() == list(range(30)), "a sentence that is a sink has no mean"


def test_too_few_words_that_are_no_sinks(models: dict[str, str]) -> None:
    text = sentences()
    items = Items(text, tuple((0,) for _ in text), "words")
    with pytest.raises(ShapeError, match="can read 0 of the items"):
        extract_pair(models["first"], models["second"], items, sinks="auto")


@pytest.mark.parametrize(("choice", "left"), [("auto", 0), ("drop", 1)])
def test_encoders_are_looked_at_only_if_asked(
    models: dict[str, str], choice: str, left: int
) -> None:
    items = Items(sentences(), (), "words")
    paired = extract_pair(models["encoder"], models["encoder"], items, sinks=choice)
    assert paired.sinks is not None
    assert len(paired.sinks["rows"]) == left * 2 * (LAYERS + 1)


def test_a_model_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a folder"):
        find_sinks(f"path:{tmp_path / 'none'}", sentences())


def corpus() -> dict[str, Corpus]:
    return {"demo": Corpus("demo", tuple(Sentence(words) for words in sentences()))}


def similarity(models: dict[str, str], **changes: Any) -> Result:
    spec = RsaSpec(
        models["first"],
        (models["second"],),
        references=False,
        functions=False,
        one_per_word=True,
        **changes,
    )
    result = study.STUDY.run(spec, corpus())
    assert isinstance(result, Result)
    return result


@pytest.mark.slow
def test_rsa_is_dominated_by_sinks_that_are_kept_and_not_otherwise(models: dict[str, str]) -> None:
    kept, left = similarity(models, sinks="keep"), similarity(models)
    inner = slice(0, LAYERS)  # the final norm takes the last layer's activation down
    assert kept.table["similarity"][inner].min() > 0.8
    assert left.table["similarity"].max() < 0.2, "the models are unrelated"
    assert "sinks" not in kept.tables
    assert not any("attention sinks" in notice for notice in kept.notices)
    table = left.tables["sinks"]
    assert list(table) == list(COLUMNS)
    assert table["model"].nunique() == 2
    inside = table[table["layer"] == 1]
    assert (inside["sinks"] > 10).all(), "of all sentences with a sampled word"
    assert inside["first_words"].tolist() == inside["sinks"].tolist()
    (notice,) = (each for each in left.notices if "attention sinks" in each)
    different = {word for words in sentences() for word in words}
    assert f"10 of {len(different)} words" in notice
    assert "first and second" in notice
    assert {"sun2024", "xiao2024"} <= {paper.key for paper in left.citations}


def test_a_notice_names_models_and_counts() -> None:
    one = sinks_left_out(["path:/a/x"], [(1, 1_200)])
    assert "1 of 1,200 words was left out" in one
    several = sinks_left_out(["path:/a/x", "path:/a/y", "path:/a/z"], [(7, 90), (3, 90)])
    assert "3 to 7 of 90 words were" in several
    assert "x, y and z" in several


def test_models_that_share_their_words_leave_out_the_union() -> None:
    states = np.ones((1, 4, 3))
    values = {}
    for ref, word in (("path:/a", 0), ("path:/b", 2)):
        massive = states.copy()
        massive[0, word, 1] = 1e5
        sinks = sinks_in(ref, massive, np.ones(4, dtype=int))
        values[ref] = {"sinks": record([sinks], 1, 4) | {"positions": [word]}}
    plain = Result("tokens", {}, "", {})
    result = with_sinks(plain, Outputs(values))
    assert any("2 of 4 words" in notice for notice in result.notices)
    assert with_sinks(plain, Outputs({"text": corpus()["demo"]})) is plain


def test_keys_of_encoders_do_not_know_the_option(models: dict[str, str]) -> None:
    def keys(name: str, sinks: str) -> list[str]:
        spec = RsaSpec(
            models[name], (f"random:{models[name]}",), references=False, grid=True, sinks=sinks
        )
        ready = run_first_stage(study.prepare(spec, corpus()))
        return [task.key for task in study.plan(spec, ready)]

    assert keys("encoder", "auto") == keys("encoder", "keep") != keys("encoder", "drop")
    assert keys("first", "auto") != keys("first", "keep")
    assert keys("first", "auto") != keys("first", "drop")


@pytest.mark.slow
def test_a_study_of_encoders_finds_what_is_stored(models: dict[str, str], tmp_path: Path) -> None:
    encoder = models["encoder"]
    spec = RsaSpec(encoder, (f"random:{encoder}",), references=False)
    with using(Store(tmp_path)):
        study.STUDY.run(replace(spec, sinks="keep"), corpus())
        outputs = run(study.plan(spec, run_first_stage(study.prepare(spec, corpus()))))
    assert outputs.stored == len(outputs.values)


def test_every_study_of_words_has_the_option() -> None:
    having = {name for name, each in STUDIES.items() if hasattr(each.Spec(), "sinks")}
    assert having >= {
        *("rsa", "training", "divergence", "tokens", "probe", "probe edges", "probe training"),
        *("align", "align rotation", "align check", "truth"),
    }
    for name in {"align stitch", "align attention", "align protocol", "swap"} - having:
        said = " ".join([*STUDIES[name].caveats, *STUDIES[name].caveats.values()]).lower()
        assert "sinks" in said or "position" in said, f"{name} does not say why it has none"
