"""Half precision is chosen for large models that are stored in it, and stays apart from single."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from core.errors import ModelError, SpecError
from core.maths import devices
from core.maths.devices import fast_half, processor_flags
from core.models import describe, precision, tokenizer_fingerprint
from core.models.identity import as_identified
from core.models.precision import HALF, SINGLE, VARIABLE, precision_in, precision_of
from core.models.sizes import size_of
from core.runs.store import Store, using
from core.vectors.activations import extract
from core.vectors.stored import read_with
from tests.core.contents import run_as
from tests.core.hub_server import HubServer
from tests.core.tiny_models import SENTENCES, save_tiny


@pytest.fixture
def llama(tmp_path: Path) -> str:
    """A model that is stored in bfloat16."""
    folder = save_tiny(tmp_path / "llama", "llama")
    store(folder, torch.bfloat16)
    return f"path:{folder}"


def store(folder: Path, dtype: torch.dtype) -> None:
    path = folder / "model.safetensors"
    weights = {name: tensor.to(dtype) for name, tensor in load_file(path).items()}
    save_file(weights, path, metadata={"format": "pt"})


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every model counts as large, on a machine that is fast at half precision."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(precision, "LARGE", 10)
    monkeypatch.setattr(precision, "fast_half", lambda: True)


@pytest.mark.usefixtures("large")
def test_half_precision_needs_size_storage_and_a_machine(
    llama: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert precision_of(llama) == precision_of(f"random:{llama}") == HALF
    assert precision_of("zoo:seed-0") == SINGLE
    other = save_tiny(tmp_path / "other", "llama")
    assert precision_of(f"path:{other}") == SINGLE
    with monkeypatch.context() as slow:
        slow.setattr(precision, "fast_half", lambda: False)
        assert precision_of(llama) == SINGLE
    with monkeypatch.context() as small:
        small.setattr(precision, "LARGE", 10**9)
        assert precision_of(llama) == SINGLE
    monkeypatch.setenv(VARIABLE, SINGLE)
    assert precision_of(llama) == SINGLE
    monkeypatch.setenv(VARIABLE, "half")
    with pytest.raises(SpecError, match="set it to float32"):
        precision_of(llama)


@pytest.mark.usefixtures("large")
def test_a_size_knows_the_precision_and_hashes_nothing(
    llama: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.models.files.checkpoints.content_hash", None)
    other = f"path:{save_tiny(tmp_path / 'other', 'llama')}"
    assert [size_of(ref).precision for ref in (llama, other)] == [HALF, SINGLE]
    empty = tmp_path / "not downloaded"
    empty.mkdir()
    config = json.loads((tmp_path / "other" / "config.json").read_text())
    for name, expected in (("bfloat16", HALF), ("float32", SINGLE)):
        (empty / "config.json").write_text(json.dumps({**config, "dtype": name}))
        assert precision_in(empty, 100, complete=False) == expected


@pytest.mark.usefixtures("large")
def test_a_model_on_the_hub_has_numbers_of_the_size_that_its_configuration_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save_tiny(tmp_path / "tiny", "llama")
    config = json.loads((folder / "config.json").read_text())
    with HubServer() as server:
        server.replace_hub(monkeypatch, tmp_path / "cache")
        for name in (HALF, SINGLE):
            (folder / "config.json").write_text(json.dumps({**config, "dtype": name}))
            server.add(f"org/{name}", folder, sizes={"model.safetensors": 1_000_000})
        half, single = (size_of(f"hub:org/{name}") for name in (HALF, SINGLE))
    assert (half.parameters, half.precision) == (500_000, HALF)
    assert (single.parameters, single.precision) == (250_000, SINGLE)


def test_the_processor_says_whether_it_has_instructions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.maths.devices.choose_device", lambda: "cpu")
    monkeypatch.setattr(devices, "PROCESSOR", tmp_path / "cpuinfo")
    for text, fast in ((None, False), ("flags: avx2", False), ("flags: avx2 avx512_bf16", True)):
        if text is not None:
            (tmp_path / "cpuinfo").write_text(text)
        forget()
        assert fast_half() is fast
    forget()


def forget() -> None:
    """What was found out about the machine."""
    fast_half.cache_clear()
    processor_flags.cache_clear()


@pytest.mark.usefixtures("large")
def test_keys_hold_half_precision_and_old_ones_stay(
    llama: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = f"{describe(llama).fingerprint} {tokenizer_fingerprint(llama)}"
    half = run_as(llama)
    assert half.split() == [describe(llama).fingerprint, HALF, tokenizer_fingerprint(llama)]
    keys = {dtype: read_with(llama, dtype=dtype).identity
            for dtype in (None, SINGLE, HALF)}  # fmt: skip
    assert keys[None] == keys[HALF] != keys[SINGLE]
    shared = read_with(llama, between=(llama, 0.5))
    assert shared.dtype == SINGLE
    monkeypatch.setenv(VARIABLE, SINGLE)
    assert run_as(llama) == kept
    with (
        pytest.raises(ModelError, match="another precision"),
        as_identified({"model": llama, "model_identity": half}),
    ):
        pass
    with (
        pytest.raises(ModelError, match="has changed since"),
        as_identified({"model": llama, "model_identity": f"other {half}"}),
    ):
        pass


@pytest.mark.usefixtures("large")
def test_states_in_half_precision_are_near_and_said(llama: str, tmp_path: Path) -> None:
    with using(Store(tmp_path / "store")):
        half = extract(llama, SENTENCES, device="cpu")
        single = extract(llama, SENTENCES, device="cpu", dtype=SINGLE)
    assert any("bfloat16" in notice and VARIABLE in notice for notice in half.notices)
    assert not any("bfloat16" in notice for notice in single.notices)
    share = np.linalg.norm(half.vectors - single.vectors) / np.linalg.norm(single.vectors)
    assert 1e-4 < share < 2e-2
