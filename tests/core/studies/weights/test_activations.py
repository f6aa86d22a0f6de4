"""Delta activations: means against a slow loop, planted directions, what has none, refusals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from core.errors import ModelError, SpecError, TaskError
from core.maths.spectra.registry import VECTORS
from core.models.loading import memory
from core.runs.runner import Outputs
from core.studies.weights import activations
from core.studies.weights.activations import (
    ROUNDING_SHARE,
    STATE_VECTORS,
    STATES,
    calc_change,
    compare_states,
    every_vector,
    measure_activations,
    measure_states,
    plan_states,
    summary_of,
)
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.study import STUDY
from tests.core.contents import run_as
from tests.core.tiny_models import save_tiny
from tests.core.vectors.test_forward import plain_loop

TEXTS = (("the", "cat", "sat"), ("a", "dog"), ("the", "quick", "cat", "sees", "a", "dog"))
LAYERS, WIDTH = 3, 32
TOP, MIDDLE = "activations_top", "activations_middle"


def state(rows: np.ndarray, family: str = "encoder", ids: Sequence[Any] = ((1, 2),)) -> Any:
    """What `measure_states` returns, with the same states for the last word as for all words."""
    rows = rows.astype(np.float32)
    return {"last": rows, "words": rows, "family": family, "ids": list(ids), "notices": []}


def outputs(**values: Any) -> Outputs:
    return Outputs({(STATES, ref): value for ref, value in values.items()})


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An encoder and a decoder, and for each a model of other weights with its tokenizer."""
    folder = tmp_path_factory.mktemp("tiny")
    return {
        f"{name}-{seed}": save_tiny(folder / f"{name}-{seed}", name, seed=seed)
        for name in ("bert", "gpt2")
        for seed in (0, 1)
    }


def measured(folder: Path, texts: Any = TEXTS) -> Any:
    ref = f"path:{folder}"
    return measure_states(ref, run_as(ref), texts)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_mean_change_equals_a_slow_loop(name: str, tiny: dict[str, Path]) -> None:
    means: dict[str, list[np.ndarray]] = {"last": [], "words": []}
    found = []
    for seed in (0, 1):
        folder = tiny[f"{name}-{seed}"]
        sentences = plain_loop(f"path:{folder}", TEXTS)
        means["last"].append(sum(each[:, -1] for each in sentences) / len(TEXTS))
        means["words"].append(
            sum(sum(each[:, word] for word in range(each.shape[1])) / each.shape[1]
                for each in sentences) / len(TEXTS)
        )  # fmt: skip
        found.append(measured(folder))
    for how, (base, tuned) in means.items():
        np.testing.assert_allclose(
            found[1][how] - found[0][how], tuned - base, atol=2e-5, err_msg=how
        )
    chosen = "last" if name == "gpt2" else "words"
    change = calc_change(summary_of(found[0]), summary_of(found[1]))
    np.testing.assert_allclose(change, means[chosen][1] - means[chosen][0], atol=2e-5)
    assert found[0]["ids"] == found[1]["ids"]
    assert np.abs(found[0]["last"] - found[0]["words"]).max() > 0.01


@pytest.mark.slow
def test_a_direction_planted_in_the_top_layer_is_found(
    tiny: dict[str, Path], tmp_path: Path
) -> None:
    """A constant added to the last norm's bias moves every state of the top layer by it."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, WIDTH)).astype(np.float32)
    planted = {"a-0": first, "a-1": 3 * first, "b-0": second, "b-1": 0.5 * second, "same": None}
    values = {}
    for name, step in planted.items():
        folder = save_tiny(tmp_path / name, "bert", seed=0)
        tensors = load_file(folder / "model.safetensors")
        bias = next(key for key in tensors if key.endswith("layer.2.output.LayerNorm.bias"))
        if step is not None:
            tensors[bias] = tensors[bias] + step
            save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        values[name] = measured(folder)
    base = measured(tiny["bert-0"])
    change = calc_change(summary_of(base), summary_of(values["a-1"]))
    np.testing.assert_allclose(change[LAYERS], 3 * first, atol=1e-4)
    assert not change[:LAYERS].any()
    distances, notices = measure_activations(base, values)
    cosine = 1 - distances[TOP] ** 2 / 2
    between = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
    np.testing.assert_allclose(cosine[0, :4], [1, 1, between, between], atol=1e-4)
    np.testing.assert_allclose(distances[TOP][4, :4], 2**0.5)
    top, middle = (next(n for n in notices if f"layer {layer}" in n) for layer in (3, 2))
    assert top.startswith("same has no")
    assert middle.startswith("a-0, a-1, b-0, b-1, same have no")
    assert (distances[MIDDLE] == 2**0.5 * (1 - np.eye(5))).all()


def test_changes_below_rounding_are_no_direction() -> None:
    base = np.full((2, 4), 10.0)
    small, large = base + 0.1 * ROUNDING_SHARE, base + 10 * ROUNDING_SHARE * base
    assert not calc_change(base, small).any()
    assert calc_change(base, large).all()


def test_distances_are_chords_of_the_chosen_layers() -> None:
    rng = np.random.default_rng(1)
    start = rng.normal(size=(7, 5))
    tuned = [start + rng.normal(size=(7, 5)) for _ in range(3)]
    values = {f"m{place}": state(rows) for place, rows in enumerate(tuned)}
    distances, notices = measure_activations(state(start), values)
    assert not notices
    for name, layer in ((TOP, 6), (MIDDLE, 3)):
        for i, j in np.ndindex(3, 3):
            x, y = ((tuned[each] - start)[layer] for each in (i, j))
            cosine = x @ y / np.sqrt((x @ x) * (y @ y))
            expected = np.sqrt(max(2 - 2 * cosine, 0)) if i != j else 0
            assert distances[name][i, j] == pytest.approx(expected, abs=1e-5), (name, i, j)


def test_middle_of_any_depth_is_above_the_embeddings() -> None:
    middle = STATE_VECTORS[MIDDLE].layer
    assert [middle(layers) for layers in (1, 2, 6, 7, 12)] == [1, 1, 3, 4, 6]


def test_decoders_are_summarised_by_the_last_word_and_encoders_by_all() -> None:
    value = state(np.zeros((2, 3))) | {"words": np.ones((2, 3), np.float32)}
    assert summary_of(value).all()
    assert summary_of(value | {"family": "encoder-decoder"}).all()
    assert not summary_of(value | {"family": "decoder"}).any()


def test_models_with_other_tokens_are_left_out_with_a_sentence() -> None:
    rng = np.random.default_rng(2)
    base, one, two, third = (state(rng.normal(size=(3, 4))) for _ in range(4))
    ready = outputs(base=base, one=one, two=two | {"ids": [[1, 3]]}, third=third)
    kept, distances, notices = compare_states("base", ["one", "two", "third", "failed"], ready)
    assert kept == ["one", "third"]
    assert distances[TOP].shape == (2, 2)
    assert [notice.split()[0] for notice in notices] == ["two"]


def test_without_the_base_or_any_fine_tune_there_is_nothing_to_compare() -> None:
    rng = np.random.default_rng(3)
    base, tuned = (state(rng.normal(size=(3, 4))) for _ in range(2))
    with pytest.raises(TaskError, match="need base, which could not be run"):
        compare_states("base", ["one"], outputs(one=tuned))
    with pytest.raises(TaskError, match=r"No model could be compared\. one is left out"):
        compare_states("base", ["one"], outputs(base=base, one=tuned | {"ids": [[9]]}))


@pytest.mark.slow
def test_sentences_that_are_too_long_are_left_out_and_all_of_them_refused(
    tiny: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    long = ("cat",) * 600
    value = measured(tiny["bert-0"], (long, *TEXTS))
    assert any("1 of 4 sentences" in notice for notice in value["notices"])
    np.testing.assert_array_equal(value["words"], measured(tiny["bert-0"])["words"])
    with pytest.raises(ModelError, match="can read none of the 1 included sentences"):
        measured(tiny["bert-0"], (long,))


@pytest.mark.slow
def test_layers_read_one_at_a_time_give_the_same_means(
    tiny: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = measured(tiny["gpt2-1"])
    memory.release_model()
    monkeypatch.setattr("core.models.loading.reading.READ_AS_ONE", 10)
    by_layer = measured(tiny["gpt2-1"])
    memory.release_model()
    assert any("one at a time" in notice for notice in by_layer["notices"])
    np.testing.assert_allclose(by_layer["last"], whole["last"], atol=1e-5)


def test_one_task_for_each_model_by_content_and_sentences() -> None:
    tasks = plan_states({"zoo:a": "content a", "zoo:b": "content b"}, TEXTS)
    assert [task.role for task in tasks] == [(STATES, "zoo:a"), (STATES, "zoo:b")]
    assert len({task.key for task in [*tasks, *plan_states({"zoo:a": "other"}, TEXTS)]}) == 3
    assert plan_states({"zoo:a": "content a"}, TEXTS[:1])[0].key != tasks[0].key


def test_the_option_is_off_and_the_vector_switches_it_on() -> None:
    assert not WeightsSpec().reads_states
    assert WeightsSpec(activations=True).reads_states
    assert WeightsSpec(vector=TOP).reads_states
    assert list(every_vector()) == [*VECTORS, TOP, MIDDLE]
    for asked in ({"activations": True}, {"vector": MIDDLE}):
        with pytest.raises(SpecError, match="fine-tunes of one base"):
            WeightsSpec(own_bases=True, **asked)  # type: ignore[arg-type]


def test_the_price_counts_the_passes(zoo: Path) -> None:
    without, beside = (
        STUDY.price(WeightsSpec(activations=activations)) for activations in (False, True)
    )
    assert beside.processor > without.processor + 10 * activations.SENTENCES * 1e-3
    assert beside.memory > without.memory + 0.2  # torch
    assert STUDY.price(WeightsSpec(vector=TOP)).processor == beside.processor
