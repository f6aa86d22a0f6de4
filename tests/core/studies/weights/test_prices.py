"""Prices of weight studies count LoRA adapters, whose matrices are those of their base."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import ModelError
from core.models import costs, zoo_folder
from core.models.sizes import Size, size_of, size_of_adapter
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.study import STUDY
from core.studies.weights.intruders.spec import IntruderSpec
from core.studies.weights.intruders.study import STUDY as INTRUDERS
from tests.core.hub_server import HubServer

ADAPTER, PAIR = "zoo:parse-0-lora-8", ("zoo:parse-0-lora-8", "zoo:sentiment-0-lora-64")


def test_an_adapter_is_priced_with_the_matrices_of_its_base(tmp_path: Path) -> None:
    one = STUDY.price(WeightsSpec(models=("zoo:parse-0",), map="pca"))
    with_adapters = STUDY.price(WeightsSpec(models=("zoo:parse-0", *PAIR), map="pca"))
    whole = STUDY.price(WeightsSpec(models=("zoo:parse-0", "zoo:pos-0", "zoo:nli-0"), map="pca"))
    assert with_adapters.work == "3 tasks on 4 models"
    assert one.processor + 2 * costs.OPENING < with_adapters.processor <= whole.processor
    folder = tmp_path / "mine"
    shutil.copytree(zoo_folder() / "models" / "parse-0-lora-8", folder)
    (folder / "config.json").unlink()
    assert (
        STUDY.price(WeightsSpec(models=(f"path:{folder}",), map="pca")).work == "1 task on 2 models"
    )


def test_factors_are_decomposed_in_less_time_than_wide_matrices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the width of BERT-base sketching a product took a quarter of a decomposition."""

    def wide(ref: str) -> Size:
        if "lora" in ref:
            raise ModelError("An adapter has no size of its own.")
        return Size(110_000_000, 12, 768, 0)

    monkeypatch.setattr(costs, "size_of", wide)
    specs = (WeightsSpec(models=(ref,), map="pca") for ref in (ADAPTER, "zoo:parse-0"))
    factors, whole = (STUDY.price(spec).processor - costs.STARTING_LIGHT for spec in specs)
    assert 0.2 * whole < factors < 0.5 * whole


def test_an_adapter_is_run_for_delta_activations_as_a_fine_tune_is() -> None:
    spec = WeightsSpec(models=("zoo:parse-0",), activations=True)
    more = [replace(spec, models=(*spec.models, ref)) for ref in (ADAPTER, "zoo:pos-0")]
    adapter, tuned = (STUDY.price(each).processor - STUDY.price(spec).processor for each in more)
    run = costs.vectors(size_of("zoo:seed-0"), 20)
    assert costs.OPENING + run < adapter < tuned * 1.01


def test_intruders_of_an_adapter_cost_as_much_as_those_of_a_fine_tune() -> None:
    prices = [INTRUDERS.price(IntruderSpec(models=(ref,))) for ref in (ADAPTER, "zoo:parse-0")]
    assert prices[0] == prices[1]
    assert prices[0].work == "3 tasks on 2 models"


def test_an_adapter_of_the_hub_is_downloaded_without_its_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = size_of("zoo:seed-0")
    files = {"adapter_config.json": b"{}", "adapter_model.safetensors": b"x" * 98}
    with HubServer() as server:
        server.replace_hub(monkeypatch, tmp_path / "cache")
        server.add("org/lora", {**files, "config.json": b"{}"})
        server.add("org/model", {"config.json": b"{}", "model.safetensors": b"x"})
        assert size_of_adapter("hub:org/lora", base) == replace(base, download=100, adapter=True)
        with pytest.raises(ModelError, match="no adapter"):
            size_of_adapter("hub:org/model", base)
    with pytest.raises(ModelError, match="no adapter"):
        size_of_adapter("zoo:parse-0", base)
