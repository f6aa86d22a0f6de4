"""Estimates of what large models take, whose layers are read one at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.errors import ModelError
from core.models import costs
from core.models.architectures import ARCHITECTURES
from core.models.describing import describe
from core.models.loading import reading
from core.models.loading.reading import HELD, PASSED, READ_AS_ONE
from core.models.precision import HALF
from core.models.sizes import Size, size_of
from core.models.zoo import zoo_folder
from core.runs.price import Cost
from core.runs.tasks import Task, pure

SMALL = Size(110_000_000, 12, 768, 0)
LARGE = Size(8_000_000_000, 32, 4096, 0)
WHOLE = {  # types whose layers cannot be run apart
    name
    for name, architecture in ARCHITECTURES.items()
    if architecture.family == "encoder-decoder" or architecture.inseparable
}
BILLION = Size(1_235_814_400, 16, 2048, 0, architecture="LlamaForCausalLM")


def test_the_memory_of_a_large_model_is_two_layers_and_what_is_held_of_the_text() -> None:
    assert 4 * SMALL.parameters < READ_AS_ONE < 4 * LARGE.parameters
    assert costs.resident({"a": SMALL}) == 4 * SMALL.parameters
    assert costs.resident({"a": SMALL, "b": LARGE}) == 2 * 1_000_000_000 + HELD
    assert costs.resident({"a": SMALL, "b": LARGE}, whole=True) == 4 * LARGE.parameters
    few = costs.resident({"b": LARGE}, 10)
    assert few == 2 * 1_000_000_000 + 4 * 33 * 4096 * 10 * costs.WORDS
    assert costs.resident({}) == 0


@pure("tests.shares", cost=lambda sizes, /, own: Cost(own, shared={"text": Cost(2.0)}))
def shares(own: float) -> dict[str, float]:
    return {"own": own}


@pure("tests.unpriced")
def unpriced() -> dict[str, float]:
    return {}


def test_what_tasks_share_is_expected_of_the_first() -> None:
    first, second = (Task.of(str(own), shares, own=own) for own in (1.0, 3.0))
    expected = costs.expected_costs([first, second, first, Task.of("unpriced", unpriced)])
    assert len(expected) == 2
    assert expected[first.key].seconds == pytest.approx(3.0 + costs.STARTING_TASK)
    assert expected[second.key].seconds == pytest.approx(3.0 + costs.STARTING_TASK)


def test_the_size_of_a_folder_is_read_from_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = zoo_folder() / "models" / "seed-0"
    info = describe(f"path:{folder}")
    monkeypatch.setattr("core.models.files.checkpoints.content_hash", None)
    size = size_of(f"random:path:{folder}")
    assert (size.parameters, size.layers, size.d_model) == (
        info.parameters, info.layers, info.d_model,
    )  # fmt: skip
    assert (size.download, size.asked) == (0, True)
    with pytest.raises(ModelError, match="not a folder"):
        size_of(f"path:{folder}-none")


def test_a_large_model_never_takes_more_than_all_its_weights() -> None:
    shallow = Size(READ_AS_ONE // 4 + 1, 2, 4096, 0)
    assert costs.resident({"a": shallow}) == 4 * shallow.parameters


@pytest.mark.parametrize("model_type", ARCHITECTURES)
def test_a_large_model_is_priced_as_it_is_loaded(
    model_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a whole where its layers need each other, and else two of them at a time."""
    size = replace(LARGE, model_type=model_type)
    monkeypatch.setattr(reading, "free_memory", lambda: 1e15)
    by_layer = reading.is_layerwise(size.parameters, model_type)
    assert (costs.resident({"a": size}) < 4 * size.parameters) == by_layer
    assert by_layer == (model_type not in WHOLE)


@pytest.mark.parametrize(("size", "first", "most"), [(SMALL, 0, 0), (LARGE, 3, 102)])
def test_a_large_model_is_read_again_for_every_part_of_a_long_text(
    size: Size, first: int, most: int
) -> None:
    def readings(sentences: float) -> float:
        numbers = (size.layers + 1) * size.d_model * costs.WORDS * sentences
        rest = costs.opening(size) + costs.passing(size, sentences) + costs.READING * numbers
        return (costs.vectors(size, sentences) - rest) / (costs.REREAD * size.parameters)

    part = HELD / (4 * (size.layers + 1) * size.d_model * costs.WORDS)  # sentences
    assert readings(part / 2) == pytest.approx(first, abs=1e-6)  # two to check its layers
    assert readings(100 * part) == pytest.approx(most, abs=1e-6)


def test_a_large_model_with_its_head_is_read_again_for_every_batch() -> None:
    def rest(size: Size, sentences: float, **how: float) -> float:
        return costs.passes(size, sentences, **how) - costs.passing(
            size, sentences, how.get("each", 1.0)
        )

    def readings(sentences: float, **how: float) -> float:
        read = rest(LARGE, sentences, **how) - costs.opening(LARGE)
        return read / (costs.REREAD * LARGE.parameters)

    batch = PASSED / (costs.SUBWORDS * LARGE.d_model)  # sentences
    assert rest(SMALL, 100 * batch) == pytest.approx(costs.opening(SMALL))
    assert readings(batch / 2) == pytest.approx(2 + 1)  # two to check its layers
    assert readings(batch, each=10.0) == pytest.approx(2 + 10)
    assert readings(batch / 2, least=6.0) == pytest.approx(2 + 6)


def test_vectors_of_a_large_model_cost_less_in_half_precision() -> None:
    """As measured by `benchmarks.layerwise` and again later; other load is up to a third of it."""
    for size, seconds, gigabytes in (
        (BILLION, (52, 70), 1.10),
        (replace(BILLION, precision=HALF), (25, 42), 0.86),
    ):
        least, most = seconds
        priced = costs.STARTING + costs.vectors(size, 60)
        assert 0.9 * least < priced < 1.1 * most
        assert costs.TORCH + costs.resident({"a": size}, 60) / 1e9 == pytest.approx(
            gigabytes, rel=0.1
        )
    half = replace(BILLION, precision=HALF)
    assert costs.resident({"a": half}, head=True) == costs.resident({"a": BILLION}, head=True)
    assert costs.passes(half, 60) == costs.passes(BILLION, 60)  # predictions are in float32
