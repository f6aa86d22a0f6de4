"""The loading policy on folders that are missing something, damaged or hostile."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from core.errors import CancelledError, ModelError
from core.limits import LOCAL
from core.models import describe, load_model, load_tokenizer, tokenizer_fingerprint, zoo
from core.models.files import checkpoints
from core.models.files.checkpoints import read_config
from core.models.weights.tensors import open_folder
from tests.cases import exhaustive
from tests.core.tiny_models import plain_tokenizer, save_tiny

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(saved, tmp_path / "copy"))


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_the_hash_is_remembered_until_the_file_changes(folder, monkeypatch) -> None:
    describe(f"path:{folder}")
    monkeypatch.setattr(zoo, "tick", lambda *arguments: pytest.fail("read again"))
    describe(f"path:{folder}")


def test_a_hash_can_be_seen_and_cancelled_and_is_that_of_the_file(folder, monkeypatch) -> None:
    path, seen = folder / "model.safetensors", []

    def cancelled(fraction: float, note: str) -> None:
        seen.append((fraction, note))
        if len(seen) == 2:
            raise CancelledError("cancelled")

    monkeypatch.setattr(zoo, "PIECE", path.stat().st_size // 4)
    monkeypatch.setattr(zoo, "tick", cancelled)
    with pytest.raises(CancelledError):
        checkpoints.content_hash(path)
    assert seen == [(pytest.approx(part, abs=0.01), f"reading {path.name}") for part in (0.25, 0.5)]
    assert checkpoints.content_hash(path) == hashlib.sha256(path.read_bytes()).hexdigest()


def test_tokenizers_have_fingerprints_of_their_own(saved, folder) -> None:
    before = tokenizer_fingerprint(f"path:{folder}")
    assert before == tokenizer_fingerprint(f"path:{saved}")
    edit(folder / "tokenizer_config.json", name_or_path="elsewhere")
    assert before == tokenizer_fingerprint(f"path:{folder}")
    edit(folder / "tokenizer_config.json", do_lower_case=False)
    assert before != tokenizer_fingerprint(f"path:{folder}")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"auto_map": {"AutoModel": "evil.Evil"}}, "needs its author's own code to run"),
        ({"encoder": {"auto_map": {}}}, "needs its author's own code to run"),
        ({"_attn_implementation": "someone/kernel"}, "asks for a kernel from elsewhere"),
        ({"attn_implementation": {"": "someone/kernel"}}, "asks for a kernel from elsewhere"),
        ({"attn_implementation": {"text": ["paged|a/b@v1"]}}, "asks for a kernel from elsewhere"),
        (
            {"text_config": [{"_attn_implementation_internal": "a/b:c"}]},
            "asks for a kernel from elsewhere",
        ),
        ({"experts_implementation": "someone/kernel"}, "asks for a kernel from elsewhere"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantised weights"),
        ({"model_type": "whisper"}, "is of type 'whisper'.*: bert, roberta"),
        ({"model_type": None, "architectures": None}, "does not say its model type"),
        ({"model_type": ["bert"]}, "is of type"),
        ({"num_hidden_layers": "three"}, "does not say num_hidden_layers"),
        ({"hidden_size": None}, "does not say hidden_size"),
        ({"num_hidden_layers": 10**9}, "claims 1000000000 layers"),
        ({"hidden_size": 10**7}, "which no model has"),
        (
            {"intermediate_size": 1_000_000},
            "claims intermediate_size = 1000000, which no model has",
        ),
        ({"vocab_size": 10**9}, "claims vocab_size"),
        ({"vocab_size": "many"}, "does not say vocab_size"),
        ({"max_position_embeddings": float("inf")}, "claims max_position_embeddings = inf"),
        ({"num_labels": 10**9}, "claims num_labels"),
        ({"text_config": {"intermediate_size": -1}}, "claims intermediate_size = -1"),
        ({"type_vocab_size": 10**400}, "claims type_vocab_size = a number of many digits"),
        ({"attention_window": [[float("nan")]]}, "claims attention_window = nan"),
        ({"inner_group_num": 10**6}, "claims inner_group_num = 1000000"),
        ({"n_head": 2**31}, "claims n_head"),
        ({"rope_theta": float("nan")}, "rotations need a base above 0"),
        ({"rope_theta": 0}, "rotations need a base above 0"),
        (
            {"rope_parameters": {"rope_type": "default", "rope_theta": -1e4}},
            "rotations need a base above 0",
        ),
        (
            {"rope_parameters": {"full_attention": {"rope_theta": 0.0}}},
            "rotations need a base above 0",
        ),
        ({"rotary_emb_base": 0}, "rotations need a base above 0"),
        ({"architectures": 5}, "gives no names in its architectures"),
        ({"architectures": [None]}, "gives no names in its architectures"),
        ({"many": [0] * 100_001}, "which no configuration has"),
        (
            {"model_type": "roformer", "max_position_embeddings": 1_000_000},
            "1,000,000 positions, too many",
        ),
        (
            {"transformers_weights": "other.safetensors"},
            "names other files to load .transformers_weights",
        ),
        ({"encoder": {"transformers_weights": "x"}}, "names other files to load"),
    ],
)
def test_hostile_or_senseless_configurations_are_refused(folder, changes, sentence) -> None:
    edit(folder / "config.json", **changes)
    for use in (describe, load_model, load_tokenizer):
        with pytest.raises(ModelError, match=sentence):
            use(f"path:{folder}")


def test_tokenizer_files_that_are_not_fingerprinted_are_refused(folder) -> None:
    edit(folder / "tokenizer_config.json", fast_tokenizer_files=["tokenizer.4.0.0.json"])
    for use in (describe, tokenizer_fingerprint, load_tokenizer):
        with pytest.raises(ModelError, match=r"names other files to load \(fast_tokenizer_files\)"):
            use(f"path:{folder}")


@pytest.mark.parametrize(
    "content", ["[" * 100_000, '{"model": ' * 5_000, '{"version": "1.0"}', "null", "\0"]
)
def test_a_tokenizer_that_is_none_is_one_sentence(folder, content) -> None:
    (folder / "tokenizer.json").write_text(content)
    with pytest.raises(ModelError, match=r"The tokenizer of path:.* cannot be read"):
        load_tokenizer(f"path:{folder}")


@pytest.mark.parametrize("file", ["special_tokens_map.json", "added_tokens.json"])
def test_what_is_read_beside_tokenizer_json_is_part_of_its_fingerprint(folder, file) -> None:
    before = tokenizer_fingerprint(f"path:{folder}")
    (folder / file).write_text("{}")
    empty = tokenizer_fingerprint(f"path:{folder}")
    (folder / file).write_text('{"[NEW]": 90}')
    assert len({before, empty, tokenizer_fingerprint(f"path:{folder}")}) == 3


@pytest.mark.parametrize(
    ("shared", "prefix"),
    exhaustive([(True, ""), (True, "random:"), (False, ""), (False, "random:")], (True, "")),
)
def test_a_configuration_that_asks_for_more_than_its_weights_allocates_nothing(
    folder, prefix, shared, monkeypatch
) -> None:
    import resource

    import torch

    edit(folder / "config.json", intermediate_size=200_000, hidden_size=4_096, num_hidden_layers=8)
    if shared:
        monkeypatch.setenv("PALIMPSEST_MODE", "shared")
        monkeypatch.setattr("core.models.references.current_limits", lambda: LOCAL)
    torch.zeros(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # of a size without limit, what its weights do not hold is refused
    said = "is too large: 1[34],[0-9]+ million" if shared else "asks for 1[34],[0-9]+ million"
    with pytest.raises(ModelError, match=f"{said} parameters"):
        load_model(f"{prefix}path:{folder}")
    assert (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
    )  # KiB; it asks for 50 GB


@pytest.mark.exhaustive
def test_a_configuration_that_its_weights_do_not_explain_is_refused(folder) -> None:
    edit(folder / "config.json", intermediate_size=200_000)
    with pytest.raises(
        ModelError, match=r"asks for 39 million parameters, and its weights hold 0\.0 million"
    ):
        load_model(f"random:path:{folder}")


@pytest.mark.parametrize(
    "changes",
    [
        {"_attn_implementation": "eager"},
        {"_attn_implementation": "flash_attention_2", "_attn_implementation_autoset": True},
        {"attn_implementation": "flex_attention"},
        {"attn_implementation": {"": "sdpa", "text_config": "flash_attention_3"}},
        {"_experts_implementation": "no such kernel"},
        {"dtype": "torch.float16"},
        {"torch_dtype": "auto", "dtype": None},
        {"trained_at": 1_732_500_000_000, "best_loss": float("nan"), "steps": {"layers": 10**9}},
    ],
)
def test_what_sizes_nothing_may_be_anything_and_kernels_are_overruled(folder, changes) -> None:
    edit(folder / "config.json", **changes)
    describe(f"path:{folder}")
    config = load_model(f"path:{folder}", device="cpu").model.config
    assert config._attn_implementation == "sdpa"


def test_remote_code_in_the_tokenizer_is_refused(folder) -> None:
    edit(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.Evil", None]})
    with pytest.raises(ModelError, match=r"tokenizer_config.json needs its author's own code"):
        load_tokenizer(f"path:{folder}")


def test_what_is_left_of_an_adapter_beside_a_merged_model_counts_for_nothing(
    folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With PEFT installed, transformers would read the adapter and apply it to the model."""
    before = load_model(f"path:{folder}", device="cpu").model.state_dict()
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "someone/else"}')
    (folder / "adapter_model.safetensors").write_bytes(b"no factors")
    for module in ("models.auto.auto_factory", "integrations.peft"):
        monkeypatch.setattr(f"transformers.{module}.is_peft_available", lambda: True)
    after = load_model(f"path:{folder}", device="cpu").model.state_dict()
    assert before.keys() == after.keys()
    assert all(weight.equal(after[name]) for name, weight in before.items())


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("config.json", None, r"config\.json is missing"),
        ("config.json", b"{", r"config\.json is damaged \(not JSON"),
        ("config.json", b"[" * 100_000, r"config\.json is damaged"),
        ("config.json", b"[]", r"config\.json is damaged \(not a JSON object"),
        ("config.json", b"\xff", r"config\.json is damaged"),
        ("config.json", b"\xff\xfe{\0}\0", "begins with a byte order mark"),
        ("config.json", b"\xef\xbb\xbf{}", "begins with a byte order mark"),
        ("tokenizer_config.json", b"\xef\xbb\xbf{}", "begins with a byte order mark"),
        ("model.safetensors", POINTER, "pointer of Git LFS .*: run `git lfs pull`"),
        ("tokenizer.json", POINTER, "pointer of Git LFS .*: run `git lfs pull`"),
        ("model.safetensors", None, r"model\.safetensors is missing"),
        ("model.safetensors", b"", r"model\.safetensors is empty"),
        ("tokenizer.json", b"", r"tokenizer\.json is empty"),
        ("config.json", b"", r"config\.json is empty"),
        ("model.safetensors", b"version https://git-lfs", r"model\.safetensors is damaged"),
        (
            "model.safetensors",
            (8).to_bytes(8, "little") + b"[1, 2]  ",
            r"model\.safetensors is damaged",
        ),
        (
            "model.safetensors",
            (18).to_bytes(8, "little") + b'{"a": {"b": "cc"}}',
            r"model\.safetensors is damaged",
        ),
        (
            "model.safetensors",
            (10**12).to_bytes(8, "little") + b"{}",
            r"model\.safetensors is damaged",
        ),
        ("model.safetensors.index.json", b'{"weight_map": {"a": "../x.safetensors"}}', "fine"),
        ("tokenizer.json", None, r"tokenizer\.json is missing"),
        ("tokenizer.json", b"{", "The tokenizer of .* cannot be read"),
    ],
)
def test_missing_or_damaged_files_are_named(folder, file, content, sentence) -> None:
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content)
    if sentence == "fine":  # beside whole weights an index is not looked at
        load_model(f"path:{folder}")
        return
    uses = [describe] if file != "tokenizer.json" else [load_tokenizer]
    uses += [tokenizer_fingerprint] if uses != [describe] and content != b"{" else []
    for use in uses:
        with pytest.raises(ModelError, match=sentence):
            use(f"path:{folder}")
    with pytest.raises(ModelError):
        load_model(f"path:{folder}")


def test_a_file_cut_short_is_damaged(folder) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(
        ModelError, match=r"model\.safetensors is damaged \(not a whole safetensors file\)"
    ):
        describe(f"path:{folder}")


def test_shards_are_read_and_must_lie_in_the_folder(folder) -> None:
    shard = "model-00001-of-00001.safetensors"
    whole = describe(f"path:{folder}")
    names = checkpoints.read_whole_header(folder / "model.safetensors")
    (folder / "model.safetensors").rename(folder / shard)
    index = {"metadata": {}, "weight_map": dict.fromkeys(names, shard)}
    for written in (index, {**index, "metadata": None}, {"weight_map": index["weight_map"]}):
        (folder / "model.safetensors.index.json").write_text(json.dumps(written))
        assert load_model(f"path:{folder}").info == whole
    for outside in ("../model.safetensors", "/etc/x.safetensors", "a\\b.safetensors", 7):
        (folder / "model.safetensors.index.json").write_text(
            json.dumps({"weight_map": {"a": outside}})
        )
        with pytest.raises(ModelError, match="does not list plain file names"):
            describe(f"path:{folder}")
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"a": "gone.safetensors"}})
    )
    with pytest.raises(ModelError, match=r"gone\.safetensors is missing"):
        describe(f"path:{folder}")


@pytest.mark.parametrize("pickled", [False, True])
def test_two_shards_that_hold_one_tensor_are_refused(folder, pickled) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    whole = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    name = next(name for name in whole if name.endswith("query.weight"))
    parts = [whole, {name: whole[name] * 0}]
    files = [f"pytorch_model-0000{part}-of-00002.bin" for part in (1, 2)]
    index = "pytorch_model.bin.index.json"
    if pickled:
        for file, part in zip(files, parts, strict=True):
            torch.save(part, folder / file)
    else:
        files = [f"model-0000{part}-of-00002.safetensors" for part in (1, 2)]
        index = "model.safetensors.index.json"
        for file, part in zip(files, parts, strict=True):
            save_file(part, folder / file, metadata={"format": "pt"})
    places = {**dict.fromkeys(whole, files[0]), "other": files[1]}
    (folder / index).write_text(json.dumps({"weight_map": places}))
    for use in (lambda ref: open_folder(ref, folder, read_config(folder)), load_model):
        with pytest.raises(ModelError, match=f"{files[0]} and {files[1]} both hold .*query"):
            use(f"path:{folder}")


def test_a_configuration_with_two_values_of_one_name_is_refused(folder) -> None:
    path = folder / "config.json"
    text = path.read_text().rstrip().removesuffix("}")
    path.write_text(f'{text}, "layer_norm_eps": 0.5}}')
    with pytest.raises(ModelError, match=r"config\.json gives layer_norm_eps twice"):
        describe(f"path:{folder}")


def test_vocab_txt_alone_is_a_tokenizer(folder) -> None:
    """As MultiBERTs and many older models have it."""
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    names = {
        "<pad>": "[PAD]",
        "<s>": "[CLS]",
        "</s>": "[SEP]",
        "<unk>": "[UNK]",
        "<mask>": "[MASK]",
    }
    ordered = sorted(vocabulary, key=lambda word: vocabulary[word])
    for path in folder.glob("token*"):
        path.unlink()
    with pytest.raises(ModelError, match=r"tokenizer\.json is missing"):
        tokenizer_fingerprint(f"path:{folder}")
    (folder / "vocab.txt").write_text("\n".join(names.get(word, word) for word in ordered))
    (encoding,) = load_tokenizer(f"path:{folder}").encode([["The", "dog"]])
    names = plain_tokenizer(f"path:{folder}").convert_ids_to_tokens(encoding.ids)
    assert names == ["[CLS]", "the", "dog", "[SEP]"]
    first = tokenizer_fingerprint(f"path:{folder}")
    (folder / "vocab.txt").write_text("\n".join(ordered[::-1]))
    assert tokenizer_fingerprint(f"path:{folder}") != first
