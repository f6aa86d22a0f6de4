"""Fingerprints, descriptions and loading: of folders, of the box, of random controls."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.errors import ModelError
from core.limits import SHARED
from core.models import (
    describe,
    describing,
    load_model,
    load_with_head,
    locate,
    read_manifest,
)
from core.models.architectures import ARCHITECTURES
from core.models.files import checkpoints
from core.models.loading import model as models
from core.models.loading.tokenizing import first_line
from core.models.zoo import not_included, zoo_folder
from tests import ROOT
from tests.cases import exhaustive
from tests.core.tiny_models import D_MODEL, HEADS, LAYERS, TYPES, save_tiny


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(saved, tmp_path / "copy"))


@pytest.fixture
def box(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A box with one model, `zoo:seed-0`."""
    shutil.copytree(saved, tmp_path / "zoo" / "models" / "seed-0")
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path / "zoo"))
    return tmp_path / "zoo"


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_model_is_known_by_content_and_not_by_name(saved, folder, box) -> None:
    same = {describe(ref).fingerprint for ref in (f"path:{saved}", f"path:{folder}", "zoo:seed-0")}
    assert len(same) == 1
    edit(folder / "config.json", _name_or_path="elsewhere", transformers_version="9")
    assert describe(f"path:{folder}").fingerprint in same
    edit(folder / "config.json", layer_norm_eps=0.1)  # computes other numbers
    assert describe(f"path:{folder}").fingerprint not in same


def test_one_changed_byte_is_another_model(saved, folder) -> None:
    path = folder / "model.safetensors"
    before = describe(f"path:{folder}").fingerprint
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert describe(f"path:{folder}").fingerprint != before == describe(f"path:{saved}").fingerprint


def test_random_weights_are_known_by_configuration(folder, tmp_path) -> None:
    other = save_tiny(tmp_path / "other", seed=1)
    larger = save_tiny(tmp_path / "larger", num_hidden_layers=2)
    first = describe(f"random:path:{folder}").fingerprint
    assert (
        first
        == describe(f"random:path:{other}").fingerprint
        != describe(f"path:{folder}").fingerprint
    )
    assert first != describe(f"random:path:{larger}").fingerprint


def test_random_weights_are_the_same_each_time_and_not_the_trained_ones(folder) -> None:
    import torch

    state = torch.random.get_rng_state()
    one, two = (load_model(f"random:path:{folder}").model.state_dict() for _ in range(2))
    assert torch.equal(state, torch.random.get_rng_state())
    trained = load_model(f"path:{folder}").model.state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one)
    name = "encoder.layer.0.attention.self.query.weight"
    assert not torch.equal(one[name], trained[name])
    assert 0.015 < float(one[name].std()) < 0.025  # as BERT is initialised


@pytest.mark.slow
@pytest.mark.parametrize("model_type", exhaustive(TYPES, "bert", "gpt2", "llama", "t5"))
def test_describe_knows_every_architecture_from_headers(tmp_path, model_type) -> None:
    ref = f"path:{save_tiny(tmp_path, model_type)}"
    info, loaded = describe(ref), load_model(ref, device="cpu")
    assert (info.model_type, info.layers, info.d_model, info.heads) == (
        model_type,
        LAYERS,
        D_MODEL,
        HEADS,
    )
    assert info.family == ARCHITECTURES[model_type].family
    assert info.vocabulary == loaded.model.config.vocab_size
    assert info.architecture == type(loaded.model).__name__
    unique = {id(parameter): parameter.numel() for parameter in loaded.model.parameters()}
    saved = loaded.model.state_dict()
    buffers = [
        (name, table) for name, table in loaded.model.named_buffers() if table.is_floating_point()
    ]
    tables = {id(table): table.numel() for name, table in buffers if name in saved}
    assert info.parameters == sum((unique | tables).values())
    assert not loaded.model.training
    assert all(not parameter.requires_grad for parameter in loaded.model.parameters())
    assert loaded.info == info


@pytest.mark.slow
def test_describe_and_fingerprints_import_no_torch(box) -> None:
    code = (
        "import sys; from core.models.describing import describe, tokenizer_fingerprint\n"
        "describe('zoo:seed-0'); describe('random:zoo:seed-0'); "
        "tokenizer_fingerprint('zoo:seed-0')\n"
        "print('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "False"


def test_weights_in_half_precision_are_read_in_float32(folder) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    weights = {
        name: tensor.half() for name, tensor in load_file(folder / "model.safetensors").items()
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    edit(folder / "config.json", dtype="float16")
    assert {one.dtype for one in load_model(f"path:{folder}").model.parameters()} == {torch.float32}
    assert {
        one.dtype for one in load_model(f"path:{folder}", dtype="bfloat16").model.parameters()
    } == {torch.bfloat16}


def test_double_precision_is_the_models_and_not_that_of_other_threads(folder, monkeypatch) -> None:
    """transformers makes a model's numbers the default of the process, while other tasks run."""
    import torch

    types: list[torch.dtype] = []
    setter = torch.set_default_dtype
    monkeypatch.setattr(torch, "set_default_dtype", lambda kind: types.append(kind) or setter(kind))
    single, double = (load_model(f"path:{folder}", dtype=kind) for kind in ("float32", "float64"))
    assert {*types} == {torch.float32}
    weights = zip(single.model.parameters(), double.model.parameters(), strict=True)
    assert all(
        two.dtype == torch.float64 and torch.equal(one.double(), two) for one, two in weights
    )


@pytest.mark.slow
def test_networks_of_other_threads_stay_in_single_precision_while_a_model_is_read(
    tmp_path,
) -> None:
    import torch

    path = save_tiny(tmp_path / "llama", "llama")
    edit(path / "config.json", dtype="bfloat16")
    made: set[torch.dtype] = set()
    finished = threading.Event()

    def make_networks() -> None:
        while not finished.is_set():
            made.add(torch.nn.Linear(2, 2).weight.dtype)

    thread = threading.Thread(target=make_networks)
    thread.start()
    try:
        for dtype in ("bfloat16", "float64", "float32"):
            weights = load_model(f"path:{path}", dtype=dtype, device="cpu").model.parameters()
            assert {weight.dtype for weight in weights} == {getattr(torch, dtype)}
    finally:
        finished.set()
        thread.join()
    assert made == {torch.float32}


@pytest.mark.parametrize("model_type", ["bert", "esm", "llama", "gemma3_text", "mbart"])
def test_bfloat16_gives_the_numbers_of_transformers(tmp_path, monkeypatch, model_type) -> None:
    import torch
    from transformers import AutoModel

    path = save_tiny(tmp_path / model_type, model_type)
    ids = torch.tensor([[1, 7, 9, 30, 31, 2], [1, 8, 9, 2, 0, 0]])
    asked = {"input_ids": ids, "attention_mask": (ids > 0).long()}
    if model_type == "mbart":
        asked["decoder_input_ids"] = ids
    with torch.inference_mode():
        expected = AutoModel.from_pretrained(path, dtype=torch.bfloat16).eval()(**asked)[0]
        types: list[torch.dtype] = []
        setter = torch.set_default_dtype
        monkeypatch.setattr(
            torch, "set_default_dtype", lambda kind: types.append(kind) or setter(kind)
        )
        given = load_model(f"path:{path}", dtype="bfloat16", device="cpu").model(**asked)[0]
    assert given.dtype == torch.bfloat16
    assert torch.equal(given, expected)
    assert {*types} <= {torch.float32}


def test_attentions_come_from_eager_attention(folder) -> None:
    import torch

    loaded = load_model(f"path:{folder}", attentions=True, device="cpu")
    output = loaded.model(input_ids=torch.tensor([[1, 5, 2]]), output_attentions=True)
    assert output.attentions[0].shape == (1, HEADS, 3, 3)
    assert load_model(f"path:{folder}").model.config._attn_implementation == "sdpa"


@pytest.mark.slow
@pytest.mark.parametrize("model_type", ["bert", "gpt2", "t5", "roformer"])
def test_heads_are_loaded_where_they_were_saved(tmp_path, model_type) -> None:
    ref = f"path:{save_tiny(tmp_path / 'head', model_type, head=True)}"
    whole = load_with_head(ref, device="cpu")
    assert type(whole.model).__name__ == describe(ref).architecture
    assert (
        type(load_model(ref).model).__name__ != describe(ref).architecture
    )  # the same folder without its head
    assert load_with_head(f"random:{ref}").info.fingerprint != whole.info.fingerprint
    bare = save_tiny(tmp_path / "bare", model_type)
    with pytest.raises(ModelError, match="was saved without a head"):
        load_with_head(f"path:{bare}")


def test_a_head_that_is_not_in_the_weights_is_refused(folder) -> None:
    edit(folder / "config.json", architectures=["BertForMaskedLM"])
    with pytest.raises(ModelError, match=r"lacks \d+ weights \(cls"):
        load_with_head(f"path:{folder}")


def test_missing_weights_are_refused_but_for_the_pooler(folder) -> None:
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    weights = load_file(path)
    save_file(
        {k: v for k, v in weights.items() if "pooler" not in k}, path, metadata={"format": "pt"}
    )
    load_model(f"path:{folder}")
    gone = "encoder.layer.1.output.dense.weight"
    save_file({k: v for k, v in weights.items() if k != gone}, path, metadata={"format": "pt"})
    with pytest.raises(
        ModelError, match=rf"lacks 1 weights \({gone}\), which would be random numbers"
    ):
        load_model(f"path:{folder}")


def test_layers_beyond_those_of_the_configuration_are_refused(folder) -> None:
    edit(folder / "config.json", num_hidden_layers=1)
    with pytest.raises(
        ModelError, match=r"holds encoder\.layer\.1\..* correct the number of layers"
    ):
        load_model(f"path:{folder}")


def test_weights_that_do_not_fit_the_configuration_are_refused(folder) -> None:
    edit(folder / "config.json", vocab_size=50)
    with pytest.raises(ModelError, match="they do not belong together"):
        load_model(f"path:{folder}")


def test_pickled_tensors_are_read_and_pickled_code_is_not(folder, tmp_path, monkeypatch) -> None:
    import torch
    from safetensors.torch import load_file

    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    loaded = load_model(f"path:{folder}")
    name = "encoder.layer.0.attention.self.query.weight"
    assert torch.equal(loaded.model.state_dict()[name], weights[name])
    parameters = sum(tensor.numel() for tensor in weights.values())
    assert loaded.info.parameters == pytest.approx(parameters, rel=0.2)  # from the file's size
    torch.save({**weights, "evil": Touch(tmp_path / "touched")}, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="does not hold plain tensors") as refusal:
        load_model(f"path:{folder}")
    assert "trust" not in str(refusal.value)
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize(
    ("message", "left"),
    [
        ("Only this failed. You can still load it, if you trust the source.\nMore.", "Only this failed."),
        ("You need to pip install sentencepiece.", "RuntimeError"),
        ("a mismatch in size: 3 and 4", "a mismatch in size: 3 and 4"),
        ("", "RuntimeError"),
    ],
)  # fmt: skip
def test_a_librarys_message_is_quoted_without_its_advice(message: str, left: str) -> None:
    assert first_line(RuntimeError(message)) == left


class Touch:
    """Touches a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_pickled_weights_are_not_opened_when_shared(box, monkeypatch) -> None:
    folder = box / "models" / "seed-0"
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    with pytest.raises(ModelError, match=r"pickled weights only \(\.bin\).*choose another"):
        describe("zoo:seed-0")


def test_safetensors_are_preferred_to_pickled_weights(folder) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"never opened")
    load_model(f"path:{folder}")


@pytest.mark.parametrize("file", ["config.json", "model.safetensors"])
def test_what_is_missing_or_damaged_in_the_box_can_be_restored(box, file) -> None:
    path = box / "models" / "seed-0" / file
    path.write_bytes(path.read_bytes()[:-5])
    for use in (describe, load_model):
        with pytest.raises(
            ModelError, match=rf"{path}.*restore it with `git checkout -- zoo/models/seed-0`"
        ):
            use("zoo:seed-0")
    path.unlink()
    with pytest.raises(ModelError, match=rf"{path} is missing.*git checkout -- zoo/models/seed-0"):
        load_model("zoo:seed-0")
    shutil.rmtree(box / "models" / "seed-0")
    with pytest.raises(
        ModelError, match=r"no model 'seed-0': restore them with `git checkout -- zoo`"
    ):
        locate("zoo:seed-0")


def test_a_name_that_is_not_included_is_answered_with_the_nearest(box) -> None:
    with pytest.raises(
        ModelError,
        match=r"no model 'seed-9'; the nearest name is seed-0\. .*list` show all [0-9]+\.",
    ):
        describe("zoo:seed-9")


def test_a_model_that_a_shipped_result_reads_is_said_not_to_be_included() -> None:
    message = not_included("minilm-parse-full", zoo_folder() / "models")
    assert message.startswith("zoo:minilm-parse-full is not included")
    assert "docs/models.md" in message
    assert "another model" in message


def test_a_name_that_resembles_none_is_not_taken_for_another() -> None:
    message = not_included("nope", zoo_folder() / "models")
    assert "nope" in message
    assert "nearest" not in message
    assert "zoo list" in message


def test_a_model_of_the_box_must_be_the_one_in_its_manifest(box) -> None:
    assert read_manifest() == []
    path = box / "models" / "seed-0" / "model.safetensors"
    digest = checkpoints.content_hash(path)
    entry = {"name": "seed-0", "ref": "zoo:seed-0", "files": {"model.safetensors": digest}}
    (box / "manifest.json").write_text(json.dumps({"models": [entry]}))
    assert read_manifest() == [entry]
    describe("zoo:seed-0")
    entry["files"] = {"model.safetensors": "0" * 64}
    (box / "manifest.json").write_text(json.dumps({"models": [entry]}))
    with pytest.raises(
        ModelError, match=rf"{path} is not the file that the manifest describes: restore it with"
    ):
        describe("zoo:seed-0")


def test_too_many_parameters_are_refused(box, monkeypatch) -> None:
    monkeypatch.setattr(describing, "current_limits", lambda: replace(SHARED, max_parameters=10))
    with pytest.raises(ModelError, match="zoo:seed-0 is too large: 0 million parameters"):
        load_model("zoo:seed-0")


def test_a_folder_that_is_none(tmp_path) -> None:
    with pytest.raises(
        ModelError, match=r"is not a folder: give the folder that holds the model's config\.json"
    ):
        describe(f"path:{tmp_path / 'nowhere'}")


def test_loading_a_folder_asks_nobody_on_the_network(folder, monkeypatch) -> None:
    def refused(*arguments: object) -> None:
        pytest.fail("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    load_model(f"path:{folder}")
    load_model(f"random:path:{folder}")


def test_the_device_is_chosen(monkeypatch, folder) -> None:
    import torch

    assert models.choose_device() in ("cpu", "cuda", "mps")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert models.choose_device() == "cuda"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert models.choose_device() == "mps"
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert models.choose_device() == load_model(f"path:{folder}").device == "cpu"


def test_an_unknown_number_format_is_refused(folder) -> None:
    with pytest.raises(ModelError, match="dtype must be one of float32, float64, bfloat16, got"):
        load_model(f"path:{folder}", dtype="int8")
