"""The static window on planted spaces: it predicts what its words say, and no layer is read for
it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.errors import ShapeError
from core.maths.maps.registry import STATIC
from core.studies.alignment.seeds import tasks, window
from core.studies.alignment.seeds.spec import AlignSpec
from core.studies.alignment.seeds.statements import _of_layers
from core.studies.alignment.seeds.study import plan, prepare
from core.studies.alignment.seeds.tables import (
    GAINS,
    OVERALL,
    band_tables,
    error_table,
    estimates_of,
)
from core.studies.alignment.seeds.text import beside_sentence, gain_sentence, reaches_in_words
from core.studies.alignment.seeds.window import align_static
from core.study import run_first_stage
from core.vectors.pairs import Paired
from core.vectors.window import REACHES

SENTENCES = tuple(
    tuple(f"w{(7 * number + 3 * place) % 150}" for place in range(6)) for number in range(120)
)
SENTENCE, WORD = np.repeat(np.arange(120), 6), np.tile(np.arange(6), 120)
NAMES = sorted({word for words in SENTENCES for word in words})
PAIR = ("models", "zoo:a", "zoo:b")


@pytest.fixture(scope="module")
def spaces() -> tuple[np.ndarray, np.ndarray]:
    """Layer 0 is a table of words; layer 1 their neighbour to the left; layer 2 what only the
    source's state knows."""
    rng = np.random.default_rng(0)
    table = rng.standard_normal((len(NAMES), 4))
    words = table[[NAMES.index(word) for words in SENTENCES for word in words]]
    left = np.where((WORD > 0)[:, None], np.roll(words, 1, axis=0), 0.0)
    state = rng.standard_normal(words.shape)  # no word tells it
    one = np.stack([words, left, state])
    turns = rng.standard_normal((3, 4, 4))
    return one.astype(np.float32), (one @ turns + 0.01 * rng.standard_normal(one.shape)).astype(
        np.float32
    )


def values(spaces: Any, monkeypatch: pytest.MonkeyPatch, *methods: str) -> dict[str, Any]:
    paired = Paired(*spaces, SENTENCE, WORD, ())
    for module in (tasks, window):
        monkeypatch.setattr(module, "extract_pair", lambda *given, **more: paired)
    return dict(
        align_static("zoo:a", "zoo:b", "a", "b", SENTENCES, "words", "word", methods, (), 0)
    )


@pytest.mark.slow
def test_each_reads_what_it_may(spaces: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = values(spaces, monkeypatch, *STATIC)
    errors = {
        name: found[f"{name}/nmse"][0, 1, 0] for name in STATIC
    }  # one into other, held out, all words
    assert errors["static-word"][0] < 0.1
    assert errors["static-word"][1] > 0.9
    assert errors["static-window"][1] < 0.3
    assert errors["static-window"][2] > 0.9
    assert errors["state-and-window"][2] < 0.3
    table = error_table({(*PAIR, STATIC): found})
    assert not table[["reach", "penalty"]].isna().any(axis=None)
    reach = table[table["words"] == "all"].groupby(["method", "layer"])["reach"].agg(set)
    assert all(reach["static-word", layer] == {0} for layer in range(3))
    assert all(reach["static-window", layer] <= {*REACHES} for layer in range(3))
    assert reach["state-and-window", 0] == {max(REACHES)}
    nearest = int((found["static-window/reach"] == min(REACHES)).sum())
    said = reaches_in_words(table)
    assert "Of the 6 maps" in said
    assert (f"{nearest} read {min(REACHES)}" in said) == (nearest > 0)
    assert reaches_in_words(table[table["method"] != "static-window"]) == ""


@pytest.mark.exhaustive
@pytest.mark.slow
def test_layers_beside_the_window_are_mapped_a_few_at_a_time(
    spaces: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = values(spaces, monkeypatch, *STATIC)
    monkeypatch.setattr(tasks, "GROUP", 1)
    apart = values(spaces, monkeypatch, *STATIC)
    assert apart.keys() == whole.keys()
    for name, value in whole.items():
        np.testing.assert_allclose(apart[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_no_layer_but_the_first_is_read(spaces: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("static-word", "static-window")
    before = values(spaces, monkeypatch, *names)
    blind = spaces[0].copy()
    blind[1:] = np.nan
    paired = Paired(blind, spaces[1], SENTENCE, WORD, ())
    monkeypatch.setattr(window, "extract_pair", lambda *given, **more: paired)
    monkeypatch.setattr(
        window, "by_direction", lambda fits, layers: fits[0]
    )  # the other way its targets are blind
    monkeypatch.setattr(window, "_fit", first_only(window._fit))
    after = align_static("zoo:a", "zoo:b", "a", "b", SENTENCES, "words", "word", names, (), 0)
    for name in names:
        np.testing.assert_allclose(after[f"{name}/nmse"], before[f"{name}/nmse"][0], rtol=1e-6)


def first_only(fit: Any) -> Any:
    done: list[Any] = []

    def once(*given: Any) -> Any:
        if not done:
            done.append(fit(*given))
        return done[0]

    return once


def test_rows_that_are_no_words_are_refused(spaces: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    paired = Paired(*spaces, SENTENCE, np.full(len(WORD), -1), ())
    monkeypatch.setattr(window, "extract_pair", lambda *given, **more: paired)
    with pytest.raises(ShapeError, match="rows that are words"):
        align_static("zoo:a", "zoo:b", "a", "b", SENTENCES, "mean", "sentence", STATIC, (), 0)


@pytest.mark.parametrize(
    ("items", "split", "planned"), [("words", "word", 1), ("mean", "sentence", 0)]
)
def test_a_study_of_whole_sentences_plans_none(items: str, split: str, planned: int) -> None:
    spec = AlignSpec(items=items, split=split, sentences=40)
    tasks = plan(spec, run_first_stage(prepare(spec)))
    assert sum(task.function is align_static for task in tasks) == planned


@pytest.mark.exhaustive
@pytest.mark.slow
def test_gains_are_differences_of_errors_with_bands(
    spaces: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    static = values(spaces, monkeypatch, *STATIC)
    kernel = tasks.align_pair(
        "zoo:a", "zoo:b", "a", "b", SENTENCES, "words", "word", ("kernel",), (), 0
    )
    assert kernel["kernel/penalty"].shape == (2, 3)  # direction, layer
    spec = AlignSpec(models=("zoo:a", "zoo:b"), methods=("kernel", *STATIC))
    estimates = estimates_of({(*PAIR, STATIC): static, (*PAIR, ("kernel",)): dict(kernel)})
    layers, _, _, gains = band_tables(spec, estimates)
    error = layers[layers["words"] == "all"].set_index(["method", "layer"])["nmse"]
    gain = gains[gains["words"] == "all"].set_index(["gain", "layer"])
    for layer in range(3):
        expected = error["static-window", layer] - error["kernel", layer]
        assert gain.loc[("state over window", layer), "difference"] == pytest.approx(expected)
    assert gain.loc[("state over window", 2), "low"] > 0.5
    assert gain.loc[("window over word", 1), "low"] > 0.5
    level = gain.loc["state over window", "level"]  # of single layers, two of which are run
    assert level[OVERALL] == pytest.approx(0.95)
    assert level[1] == level[2] == pytest.approx(0.975)
    mean = gain.loc[("state over window", OVERALL), "difference"]
    assert mean == pytest.approx(
        np.mean([gain.loc[("state over window", layer), "difference"] for layer in (1, 2)])
    )


def test_the_sentence_says_which_layers_and_both_comparisons() -> None:
    rows = [("state over window", layer, 0.0, 0.01) for layer in (1, 2)]
    rows += [("state over window", 3, 0.06, 0.01), ("state over window", OVERALL, 0.02, 0.01)]
    rows += [("state beside window", layer, 0.01 * layer, 0.005) for layer in (0, 1, 2, 3)]
    gains = pd.DataFrame(
        [
            ("models", gain, "unseen", layer, middle, middle - half, middle + half, 0.95)
            for gain, layer, middle, half in rows
        ],
        columns=list(GAINS),
    )
    facts = tuple(_of_layers(gains, "unseen"))
    sentence = f"{gain_sentence(facts)} {beside_sentence(facts)}"
    assert sentence == (
        "Layers 1 to 3 predict 2.0 points [1.0, 3.0] more than words alone (static window), "
        "most at layer 3 (6.0 points) and not detectably more at layers 1 and 2. Beside "
        "the static window, layers add 1.0 to 3.0 points, detectably at layers 1 to 3."
    )
