"""Merging of adapters: each product lands in its weight, in closed form; nothing is left over."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy import ndarray
from safetensors.numpy import load_file, save_file

from core.commands.main import main
from core.errors import ModelError
from core.models import load_model, load_tokenizer, load_with_head, locate
from core.models.loading.conversion import merge_adapter
from core.models.loading.task_models import describe_head, load_task
from core.models.sizes import size_of
from tests.core.tiny_models import save_tiny

RANK, ALPHA = 3, 6.0
EMBEDDINGS, QUERY = "model.embed_tokens", "model.layers.0.self_attn.q_proj"
Tensors = dict[str, ndarray]


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder with an output layer of its own, and a buffer of whole numbers."""
    folder = save_tiny(tmp_path_factory.mktemp("models") / "llama", "llama", head=True)
    buffer = {"model.positions": np.arange(4)}
    path = folder / "model.safetensors"
    save_file(load_file(path) | buffer, path, metadata={"format": "pt"})
    return folder


def factors_of(module: str, shape: tuple[int, ...], *, embedding: bool = False) -> Tensors:
    """lora_A and lora_B as PEFT saves them; an embedding's multiply to its transpose."""
    rng = np.random.default_rng(len(module))
    outer, inner = shape[::-1] if embedding else shape
    parts = {"A": rng.normal(size=(RANK, inner)), "B": rng.normal(size=(outer, RANK))}
    form = "lora_embedding_{}" if embedding else "lora_{}.weight"
    return {
        f"{module}.{form.format(side)}": 0.02 * part.astype(np.float32)
        for side, part in parts.items()
    }


def write_adapter(folder: Path, base: Path, tensors: Tensors, **settings: Any) -> str:
    """Write an adapter with the configuration of the merged model beside it."""
    folder.mkdir()
    names = {f"base_model.model.{name}": part for name, part in tensors.items()}
    save_file(names, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, **settings}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    shutil.copy(base / "config.json", folder)
    return f"path:{folder}"


def write_peft(folder: Path, base: Path, tensors: Tensors, **settings: Any) -> str:
    """Write an adapter as PEFT does: it names its base, and has no configuration of a model."""
    settings = {"base_model_name_or_path": str(base), **settings}
    ref = write_adapter(folder, base, tensors, **settings)
    (folder / "config.json").unlink()
    return ref


def product(factors: Tensors, scaling: float = ALPHA / RANK) -> ndarray:
    """B A, scaled."""
    lower, upper = factors.values()
    return scaling * upper.astype(np.float64) @ lower.astype(np.float64)


def test_heads_and_embeddings_are_merged_as_layers_are(tmp_path: Path, llama: Path) -> None:
    base = load_file(llama / "model.safetensors")
    shape = base[f"{EMBEDDINGS}.weight"].shape
    query = factors_of(QUERY, base[f"{QUERY}.weight"].shape)
    head = factors_of("lm_head", shape)
    words = factors_of(EMBEDDINGS, shape, embedding=True)
    adapter = write_adapter(
        tmp_path / "lora", llama, query | head | words, alpha_pattern={"lm_head": 12.0}
    )
    assert main(
        ["convert", adapter, "--base", f"path:{llama}", "--out", str(tmp_path / "new")]
    ) == 0  # fmt: skip
    merged = load_file(tmp_path / "new" / "model.safetensors")
    changes = {
        f"{QUERY}.weight": product(query),
        "lm_head.weight": product(head, 12.0 / RANK),
        f"{EMBEDDINGS}.weight": product(words).T,
    }
    assert merged.keys() == base.keys() - {"model.positions"}
    for name, weight in merged.items():
        np.testing.assert_allclose(weight, base[name] + changes.get(name, 0.0), atol=1e-7)
        assert np.array_equal(weight, base[name]) == (name not in changes), name


def test_a_head_alone_is_merged(tmp_path: Path, llama: Path) -> None:
    base = load_file(llama / "model.safetensors")["lm_head.weight"]
    head = factors_of("lm_head", base.shape)
    merge_adapter(write_adapter(tmp_path / "a", llama, head), f"path:{llama}", tmp_path / "m")
    merged = load_file(tmp_path / "m" / "model.safetensors")["lm_head.weight"]
    np.testing.assert_allclose(merged, base + product(head), atol=1e-7)


def test_embeddings_saved_beside_their_factors_are_the_base_of_them(
    tmp_path: Path, llama: Path
) -> None:
    """PEFT saves them whole where the vocabulary was enlarged, and the output layer, too."""
    base = load_file(llama / "model.safetensors")
    larger, head = (
        np.concatenate([base[name], base[name][:2] + 1.0])
        for name in (f"{EMBEDDINGS}.weight", "lm_head.weight")
    )
    words = factors_of(EMBEDDINGS, larger.shape, embedding=True)
    whole = {f"{EMBEDDINGS}.base_layer.weight": larger, "lm_head.weight": head}
    adapter = write_peft(tmp_path / "a", llama, words | whole)
    merge_adapter(adapter, f"path:{llama}", tmp_path / "m")
    merged = load_file(tmp_path / "m" / "model.safetensors")
    np.testing.assert_allclose(merged[f"{EMBEDDINGS}.weight"], larger + product(words).T, atol=1e-7)
    assert np.array_equal(merged["lm_head.weight"], head)
    assert not [name for name in merged if "base_layer" in name or "lora" in name]
    assert load_with_head(f"path:{tmp_path / 'm'}").info.vocabulary == len(larger)
    del whole["lm_head.weight"]
    short = write_peft(tmp_path / "b", llama, words | whole)
    with pytest.raises(ModelError, match=r"model that was written stores lm_head\.weight as"):
        merge_adapter(short, f"path:{llama}", tmp_path / "n")
    assert not list(tmp_path.glob("n*"))


@pytest.mark.parametrize(
    ("model_type", "stored", "named"),
    [("llama", "embed_tokens", EMBEDDINGS), ("gpt2", "wte", "transformer.wte")],
)
def test_a_base_without_the_prefix_of_a_head_fits(
    tmp_path: Path, model_type: str, stored: str, named: str
) -> None:
    folder = save_tiny(tmp_path / "base", model_type)
    base = load_file(folder / "model.safetensors")
    words = factors_of(named, base[f"{stored}.weight"].shape, embedding=True)
    merge_adapter(write_adapter(tmp_path / "a", folder, words), f"path:{folder}", tmp_path / "m")
    merged = load_file(tmp_path / "m" / "model.safetensors")
    assert merged.keys() == base.keys()
    np.testing.assert_allclose(
        merged[f"{stored}.weight"], base[f"{stored}.weight"] + product(words).T, atol=1e-7
    )


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("of no module", "holds nowhere, which fits no weight of llama"),
        ("of another kind", "holds lm_head.lora_magnitude_vector, which fits no weight"),
        ("a side is missing", "has no lora_A for lm_head: it is damaged"),
        ("of another rank", "holds lm_head, which fits no weight of llama"),
        ("of two ranks", "holds lm_head, which fits no weight of llama"),
        ("not transposed", f"holds {EMBEDDINGS}, which fits no weight of llama"),
        ("twice", "two adapters in one file"),
        ("none", "has no factors: get the adapter again"),
    ],
)
def test_factors_that_would_be_lost_are_refused(
    tmp_path: Path, llama: Path, capsys: pytest.CaptureFixture[str], damage: str, said: str
) -> None:
    shape = load_file(llama / "model.safetensors")["lm_head.weight"].shape
    tensors, settings = factors_of("lm_head", shape), dict[str, Any]()
    if damage == "of no module":
        tensors |= factors_of("nowhere", shape)
    elif damage == "of another kind":
        tensors["lm_head.lora_magnitude_vector"] = np.ones(4, np.float32)
    elif damage == "a side is missing":
        del tensors["lm_head.lora_A.weight"]
    elif damage == "of another rank":
        settings = {"rank_pattern": {"lm_head": 2}}
    elif damage == "of two ranks":
        tensors["lm_head.lora_A.weight"] = np.ones((RANK + 1, shape[1]), np.float32)
    elif damage == "not transposed":
        tensors |= factors_of(EMBEDDINGS, shape[::-1], embedding=True)
    elif damage == "twice":
        words = factors_of(EMBEDDINGS, shape, embedding=True)
        tensors |= words | {f"{name}.another": part for name, part in words.items()}
    else:
        tensors = {"score.weight": np.ones((2, 4), np.float32)}
    adapter = write_adapter(tmp_path / "lora", llama, tensors, **settings)
    out = ["--base", f"path:{llama}", "--out", str(tmp_path / "new")]
    assert main(["convert", adapter, *out]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.glob("new*"))


@pytest.mark.parametrize("stored", [False, True])
def test_an_output_layer_tied_to_the_embeddings_is_not_changed_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], stored: bool
) -> None:
    folder = save_tiny(tmp_path / "base", "llama", head=True, tie_word_embeddings=True)
    base = load_file(folder / "model.safetensors")
    words = base[f"{EMBEDDINGS}.weight"]
    assert "lm_head.weight" not in base
    if stored:
        save_file(base | {"lm_head.weight": words}, folder / "model.safetensors")
    adapter = write_adapter(tmp_path / "lora", folder, factors_of("lm_head", words.shape))
    out = ["--base", f"path:{folder}", "--out", str(tmp_path / "new")]
    assert main(["convert", adapter, *out]) == 2
    said = f"shares with {EMBEDDINGS}.weight: save" if stored else "fits no weight of"
    assert said in capsys.readouterr().err


def merged_by(adapter: str, target: Path) -> tuple[Tensors, dict[str, Any]]:
    """Tensors and configuration of what `convert` makes of an adapter that names its base."""
    assert main(["convert", adapter, "--out", str(target)]) == 0
    return load_file(target / "model.safetensors"), json.loads((target / "config.json").read_text())


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder with the head of its pretraining, without a pooler."""
    return save_tiny(tmp_path_factory.mktemp("models") / "bert", "bert", head=True)


BERT_QUERY = "bert.encoder.layer.1.attention.self.query"
HEAD = {
    "classifier.weight": np.arange(96, dtype=np.float32).reshape(3, 32),
    "classifier.bias": np.ones(3, np.float32),
}


@pytest.mark.parametrize("named", [False, True])
def test_rows_of_an_embedding_that_were_trained_take_the_place_of_the_bases(
    tmp_path: Path, llama: Path, named: bool
) -> None:
    base, rows = load_file(llama / "model.safetensors"), [3, 9]
    values = np.full((2, 32), 7.0, np.float32)
    tensors = factors_of(QUERY, base[f"{QUERY}.weight"].shape)
    tensors[f"{EMBEDDINGS}.token_adapter.trainable_tokens_delta"] = values
    indices = {"embed_tokens": rows} if named else rows
    adapter = write_peft(tmp_path / "a", llama, tensors, trainable_token_indices=indices)
    merged, _ = merged_by(adapter, tmp_path / "m")
    expected = base[f"{EMBEDDINGS}.weight"].copy()
    expected[rows] = values
    assert np.array_equal(merged[f"{EMBEDDINGS}.weight"], expected)
    for wrong in ([3], [3, 9_999], {"lm_head": rows}):
        settings = {"trainable_token_indices": wrong}
        adapter = write_peft(tmp_path / f"{wrong}", llama, tensors, **settings)
        with pytest.raises(ModelError, match=rf"holds {EMBEDDINGS}, which fits no weight of llama"):
            merge_adapter(adapter, f"path:{llama}", tmp_path / "n")


def test_names_as_they_are_inside_a_model_in_training_are_read(tmp_path: Path, bert: Path) -> None:
    factors = factors_of(BERT_QUERY, (32, 32))
    inside = {name.replace(".weight", ".default.weight"): part for name, part in factors.items()}
    for name, part in HEAD.items():
        place = name.replace(".", ".modules_to_save.default.")
        inside |= {place: part, name.replace(".", ".original_module."): 0 * part}
    settings = {"modules_to_save": ["classifier"], "task_type": "TOKEN_CLS"}
    plain, _ = merged_by(
        write_peft(tmp_path / "a", bert, factors | HEAD, **settings), tmp_path / "m"
    )
    same, _ = merged_by(write_peft(tmp_path / "b", bert, inside, **settings), tmp_path / "n")
    assert plain.keys() == same.keys()
    assert all(np.array_equal(plain[name], part) for name, part in same.items())
    assert np.array_equal(same["classifier.weight"], HEAD["classifier.weight"])


@pytest.mark.parametrize("said", ["by the task", "by the class"])
def test_task_and_head_come_from_the_adapters_files(tmp_path: Path, bert: Path, said: str) -> None:
    settings: dict[str, Any] = {"modules_to_save": ["classifier", "score"]}
    if said == "by the task":
        settings["task_type"] = "TOKEN_CLS"
    else:
        settings["auto_mapping"] = {"base_model_class": "BertForTokenClassification"}
    factors = factors_of(BERT_QUERY, (32, 32))
    adapter = write_peft(tmp_path / "a", bert, factors | HEAD, **settings)
    merged, config = merged_by(adapter, tmp_path / "m")
    base = load_file(bert / "model.safetensors")
    assert config["architectures"] == ["BertForTokenClassification"]
    body = {name for name in base if name.startswith("bert.")}
    assert merged.keys() == body | HEAD.keys()  # not the head of the pretraining
    np.testing.assert_allclose(
        merged[f"{BERT_QUERY}.weight"], base[f"{BERT_QUERY}.weight"] + product(factors), atol=1e-7
    )
    for ref in (adapter, f"path:{tmp_path / 'm'}"):  # merged on demand, and by the command
        assert describe_head(ref).labels == ("LABEL_0", "LABEL_1", "LABEL_2")
        assert (load_task(ref).model.classifier.weight.numpy() == HEAD["classifier.weight"]).all()
    size, whole = size_of(adapter), size_of(f"path:{tmp_path / 'm'}")
    assert (size.layers, size.d_model, size.architecture) == (
        whole.layers, whole.d_model, whole.architecture,
    )  # fmt: skip


@pytest.mark.slow
def test_a_head_whose_task_is_not_said_and_one_that_reads_a_missing_pooler_are_refused(
    tmp_path: Path, bert: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tensors = factors_of(BERT_QUERY, (32, 32)) | HEAD
    silent = write_peft(tmp_path / "a", bert, tensors, modules_to_save=["classifier"])
    pooled = write_peft(
        tmp_path / "b", bert, tensors, modules_to_save=["classifier"], task_type="SEQ_CLS"
    )
    for adapter, said in ((silent, "does not say what its head predicts"),
                          (pooled, "lacks 2 weights (bert.pooler")):  # fmt: skip
        assert main(["convert", adapter, "--out", str(tmp_path / "new")]) == 2
        assert said in capsys.readouterr().err
        assert not list(tmp_path.glob("new*"))
    with pytest.raises(ModelError, match=r"lacks 2 weights .*pooler"):
        load_with_head(pooled)
    assert load_model(pooled).info.layers == 3  # its states do not depend on a pooler


def test_a_bare_base_gets_the_names_of_the_model_with_its_new_head(tmp_path: Path) -> None:
    bare = save_tiny(tmp_path / "bare", "bert")
    factors = factors_of(BERT_QUERY, (32, 32))
    settings = {"modules_to_save": ["classifier"], "task_type": "SEQ_CLS"}
    adapter = write_peft(tmp_path / "a", bare, factors | HEAD, **settings)
    merged, _ = merged_by(adapter, tmp_path / "m")
    names = load_file(bare / "model.safetensors").keys()
    assert merged.keys() == {f"bert.{name}" for name in names} | HEAD.keys()


@pytest.mark.parametrize("form", ["all", "of factors"])
def test_biases_that_were_trained_take_the_place_of_the_bases(
    tmp_path: Path, bert: Path, form: str
) -> None:
    names = {f"{BERT_QUERY}.base_layer.bias": f"{BERT_QUERY}.bias"}
    if form == "all":
        names["bert.embeddings.LayerNorm.bias"] = "bert.embeddings.LayerNorm.bias"
    biases = {name: np.full(32, 5.0, np.float32) for name in names}
    tensors = factors_of(BERT_QUERY, (32, 32)) | biases
    merged, _ = merged_by(write_peft(tmp_path / "a", bert, tensors, bias="all"), tmp_path / "m")
    base = load_file(bert / "model.safetensors")
    changed = {name for name in base if not np.array_equal(base[name], merged[name])}
    assert changed == {*names.values(), f"{BERT_QUERY}.weight"}
    assert all((merged[name] == 5.0).all() for name in names.values())


@pytest.mark.parametrize(
    ("stray", "settings"),
    [
        ({"classifier.weight": np.ones((3, 32), np.float32)}, {}),
        ({"nowhere.weight": np.ones(3, np.float32)}, {"modules_to_save": ["classifier"]}),
        ({f"{BERT_QUERY}.bias": np.ones(31, np.float32)}, {}),
        ({"bert.embeddings.word_embeddings.weight": np.ones((90, 31), np.float32)}, {}),
        ({"cls.predictions.decoder.weight": np.ones((93, 32), np.float32)}, {}),
    ],
)
def test_a_tensor_without_a_place_is_refused_by_name(
    tmp_path: Path, bert: Path, stray: Tensors, settings: dict[str, Any]
) -> None:
    tensors = factors_of(BERT_QUERY, (32, 32)) | stray
    adapter = write_peft(tmp_path / "a", bert, tensors, **settings)
    with pytest.raises(ModelError, match=f"holds {next(iter(stray))}, which fits no weight"):
        merge_adapter(adapter, f"path:{bert}", tmp_path / "m")


@pytest.fixture(scope="module")
def tied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder whose output layer is its embeddings."""
    folder = tmp_path_factory.mktemp("models") / "tied"
    return save_tiny(folder, "llama", head=True, tie_word_embeddings=True)


@pytest.mark.parametrize(
    ("saved", "settings", "expected"),
    [
        (("lm_head",), {}, (1.0, 5.0)),
        ((EMBEDDINGS,), {}, (5.0, 1.0)),
        ((EMBEDDINGS,), {"ensure_weight_tying": True}, (5.0, 5.0)),
        ((EMBEDDINGS, "lm_head"), {}, (5.0, 5.0)),
    ],
)
def test_tied_embeddings_follow_as_in_peft(
    tmp_path: Path,
    tied: Path,
    saved: tuple[str, ...],
    settings: dict[str, Any],
    expected: tuple[float, float],
) -> None:
    """Without being asked, PEFT trains a copy, and the other of the two stays the base's."""
    base = load_file(tied / "model.safetensors")[f"{EMBEDDINGS}.weight"]
    tensors = factors_of(QUERY, (32, 32)) | {f"{name}.weight": 5.0 * base for name in saved}
    adapter = write_peft(tmp_path / "a", tied, tensors, modules_to_save=[*saved], **settings)
    merged_by(adapter, tmp_path / "m")
    state = load_with_head(f"path:{tmp_path / 'm'}", device="cpu").model.state_dict()
    for name, factor in zip((EMBEDDINGS, "lm_head"), expected, strict=True):
        np.testing.assert_allclose(state[f"{name}.weight"].numpy(), factor * base, rtol=1e-6)


def test_a_stored_copy_of_tied_embeddings_is_left_out_where_they_change(
    tmp_path: Path, tied: Path
) -> None:
    folder = shutil.copytree(tied, tmp_path / "base")
    base = load_file(folder / "model.safetensors")
    words = base[f"{EMBEDDINGS}.weight"]
    save_file(base | {"lm_head.weight": words}, folder / "model.safetensors")
    factors = factors_of(EMBEDDINGS, words.shape, embedding=True)
    merged, _ = merged_by(write_peft(tmp_path / "a", folder, factors), tmp_path / "m")
    assert merged.keys() == base.keys()
    larger = np.concatenate([words, words[:1]])
    whole = {f"{EMBEDDINGS}.weight": larger, "lm_head.weight": larger}
    tensors = factors_of(QUERY, (32, 32)) | whole  # a vocabulary that was enlarged, saved twice
    merged, config = merged_by(write_peft(tmp_path / "b", tied, tensors), tmp_path / "n")
    assert config["vocab_size"] == len(larger)
    assert merged.keys() == base.keys()


def test_the_adapters_tokenizer_is_taken_where_it_has_one(tmp_path: Path, bert: Path) -> None:
    adapter = write_peft(tmp_path / "a", bert, factors_of(BERT_QUERY, (32, 32)))
    plain = locate(adapter)
    assert load_tokenizer(adapter).longest == load_tokenizer(f"path:{bert}").longest
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(bert / name, tmp_path / "a")
    settings = json.loads((tmp_path / "a" / "tokenizer_config.json").read_text())
    (tmp_path / "a" / "tokenizer_config.json").write_text(json.dumps(settings | {"mine": 1}))
    merged = locate(adapter)
    assert merged != plain
    assert '"mine": 1' in (merged / "tokenizer_config.json").read_text()
