"""`convert --add`: sums of task vectors written as models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from core.commands.main import main
from core.models import load_model, zoo_folder
from core.models.loading.layers import body_weights
from core.models.loading.task_models import describe_head

MODELS = zoo_folder() / "models"


def weights_of(name: str) -> dict[str, np.ndarray]:
    return load_file(MODELS / name / "model.safetensors")


def test_one_change_with_factor_1_is_the_fine_tune_bit_for_bit(tmp_path: Path) -> None:
    out = tmp_path / "sum"
    assert main(["convert", "zoo:seed-0", "--add", "zoo:sentiment-0", "--out", str(out)]) == 0
    written, expected = load_file(out / "model.safetensors"), weights_of("sentiment-0")
    assert written.keys() == expected.keys()
    assert all((written[name] == expected[name].astype("f4")).all() for name in expected)


@pytest.mark.slow
def test_a_sum_is_the_base_plus_each_change_and_has_the_first_one_s_head(tmp_path: Path) -> None:
    out = tmp_path / "sum"
    added = ["zoo:parse-0=0.5", "zoo:nli-0=-1"]
    assert main(["convert", "zoo:seed-0", "--add", *added, "--out", str(out)]) == 0
    start, first, second = (
        body_weights(load_model(f"zoo:{name}", device="cpu").model)
        for name in ("seed-0", "parse-0", "nli-0")
    )
    found = body_weights(load_model(f"path:{out}", device="cpu").model)
    for name, value in start.items():
        expected = value + 0.5 * (first[name] - value) - (second[name] - value)
        assert np.allclose(found[name], expected, atol=1e-6), name
    assert describe_head(f"path:{out}").kind == "arcs"


def test_an_adapter_can_be_added(tmp_path: Path) -> None:
    out = tmp_path / "sum"
    added = ["zoo:sentiment-0=1", "zoo:parse-0-lora-8=0.5"]
    assert main(["convert", "zoo:seed-0", "--add", *added, "--out", str(out)]) == 0
    assert describe_head(f"path:{out}").kind == "sentence"


@pytest.mark.parametrize(
    ("added", "said"),
    [
        (["zoo:parse-0=half"], "'half' is no factor"),
        (["zoo:parse-0=inf"], "'inf' is no factor"),
        (["zoo:parse-0", "zoo:parse-0=2"], "named twice"),
        (["zoo:sentiment-0-from-seed-1"], "does not look like a fine-tune"),
        (["zoo:decoder-0"], "is not a fine-tune"),
    ],
)
def test_what_cannot_be_added_is_refused_and_nothing_is_written(
    added: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "sum"
    assert main(["convert", "zoo:seed-0", "--add", *added, "--out", str(out)]) != 0
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
