"""Models from the hub: the real client against a stand-in server on localhost, one sentence for
each state."""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save

from core.errors import ModelError, StoreError
from core.limits import LOCAL, SHARED, UNLIMITED
from core.models import describe, load_model, parse_ref
from core.models.hub import client as hub
from core.models.hub import downloads
from core.models.hub.client import download
from core.models.hub.collections import PRESETS
from core.models.hub.listing import look_up, safe_weights
from core.models.hub.repository import MOST_TOKENIZER
from core.models.sizes import download_of
from core.models.weights.sources import open_model
from core.vectors.activations import extract
from tests.core.contents import read_as
from tests.core.hub_server import HubServer
from tests.core.tiny_models import SENTENCES, save_tiny


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("hub") / "bert")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """An empty hub, an empty cache, and nothing remembered."""
    with HubServer() as running:
        running.replace_hub(monkeypatch, tmp_path / "cache")
        yield running


MOST_ASKED = 8  # requests before a hub that does not answer is given up


def unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{free.getsockname()[1]}")


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_model_is_downloaded_at_one_commit_and_is_the_same_as_on_disk(server, tiny) -> None:
    repository = server.add("someone/tiny", tiny)
    folder = download("someone/tiny")
    assert folder.name == repository.commit
    assert describe("hub:someone/tiny").fingerprint == describe(f"path:{tiny}").fingerprint
    assert describe("hub:someone/tiny").ref == "hub:someone/tiny"
    here, there = extract(f"path:{tiny}", SENTENCES), extract("hub:someone/tiny", SENTENCES)
    assert np.array_equal(here.vectors, there.vectors)
    assert not any("/main/" in path for path in server.requests if "/resolve/" in path)


def test_the_second_time_only_the_commit_is_asked_for(server, tiny, monkeypatch) -> None:
    server.add("someone/tiny", tiny)
    download("someone/tiny")
    server.requests.clear()
    download("someone/tiny")
    assert server.requests == []  # believed for a while
    hub._resolved.begin()
    download("someone/tiny")
    assert server.requests == ["GET /api/models/someone/tiny"]


def test_a_new_commit_is_noticed_and_an_old_one_can_be_named(server, tiny, monkeypatch) -> None:
    first = server.add("someone/tiny", tiny).commit
    download("someone/tiny")
    changed = {**files_of(tiny), "README.md": b"changed"}
    second = server.add("someone/tiny", changed).commit
    hub._resolved.begin()
    assert download("someone/tiny").name == second != first
    server.requests.clear()
    assert download("someone/tiny", first).name == first  # pinned and here: nobody is asked
    assert server.requests == []
    assert download("someone/tiny", second).name == second


def test_nothing_but_the_models_own_files_is_fetched(server, tiny) -> None:
    extras = {
        "pytorch_model.bin": b"x",
        "tf_model.h5": b"x",
        "run.py": b"x",
        "adapter_config.json": b"{}",
        "onnx/model.safetensors": b"x",
        "README.md": b"x",
        "training_args.bin": b"x",
    }
    server.add("someone/tiny", {**files_of(tiny), **extras})
    folder = download("someone/tiny")
    assert {path.name for path in folder.rglob("*")} == {
        "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
    }  # fmt: skip
    assert not any(name in path for name in extras for path in server.requests)


def test_the_models_used_longest_ago_make_room(server, tiny, monkeypatch) -> None:
    names = ["someone/a", "someone/b", "someone/c"]
    for name in names:
        server.add(name, tiny)
    first = [download(name) for name in names[:2]]
    repositories = [folder.parents[1] for folder in first]
    size = sum(
        path.lstat().st_size
        for path in repositories[0].rglob("*")
        if path.is_file() and not path.is_symlink()
    )
    monkeypatch.setattr(downloads, "MINIMUM", 1)
    monkeypatch.setenv("PALIMPSEST_HUB_BYTES", str(2 * size + size // 2))
    for age, repository in zip((100, 50), repositories, strict=True):
        os.utime(repository, (time.time() - age,) * 2)
    kept = download("someone/a")  # used again: b is now the one used longest ago
    assert download("someone/c").is_dir()
    assert kept.is_dir()
    assert not first[1].exists()
    assert (
        describe("hub:someone/b").fingerprint == describe(f"path:{tiny}").fingerprint
    )  # fetched again when it is wanted


def test_downloads_are_limited_where_strangers_ask_and_nowhere_else(monkeypatch) -> None:
    assert LOCAL.max_download_bytes == UNLIMITED > SHARED.max_download_bytes
    monkeypatch.setenv("PALIMPSEST_HUB_BYTES", "a lot")
    with pytest.raises(StoreError, match="PALIMPSEST_HUB_BYTES is 'a lot'"):
        downloads.within_limit(Path("none"), Path("none")).__enter__()


@pytest.fixture
def cramped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shared instance that keeps a model of `tiny`'s size and no two."""
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    monkeypatch.setattr(downloads, "MINIMUM", 1)


def bytes_of(folder: Path) -> int:
    return sum(
        path.lstat().st_size
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    )


@pytest.mark.parametrize("way", ["without an end", "refused"])
@pytest.mark.usefixtures("cramped")
def test_what_failed_leaves_first_and_no_model_that_came_whole(
    server, tiny, monkeypatch, way: str
) -> None:
    server.add("someone/whole", tiny)
    whole = download("someone/whole").parents[1]
    limit = bytes_of(whole) * 3 // 2
    monkeypatch.setenv("PALIMPSEST_HUB_BYTES", str(limit))
    files = files_of(tiny)
    index = json.dumps({"weight_map": {"a": "first.safetensors", "b": "second.safetensors"}})
    weights = files.pop("model.safetensors")
    files |= {
        "model.safetensors.index.json": index.encode(),
        "first.safetensors": weights,
        "second.safetensors": b"x" * 1_000,
    }
    if way == "refused":
        settings = json.loads(files["tokenizer_config.json"])
        settings["auto_map"] = {"AutoTokenizer": ["tokenization_evil.Evil", None]}
        files["tokenizer_config.json"] = json.dumps(settings).encode()
    endless = () if way == "refused" else ("second.safetensors",)
    server.add("someone/failing", files, endless=endless)
    with pytest.raises(ModelError, match="more bytes" if endless else "own code"):
        download("someone/failing")
    assert any("first.safetensors" in path for path in server.requests)
    assert whole.is_dir()
    assert bytes_of(hub.cache_folder()) <= limit


def test_a_model_that_is_being_fetched_stays_while_another_fails(
    server, tiny, monkeypatch, cramped
) -> None:
    server.add("someone/tiny", tiny)
    folder = download("someone/tiny").parents[1]
    monkeypatch.setenv("PALIMPSEST_HUB_BYTES", "1")
    with downloads.within_limit(hub.cache_folder(), folder):
        with pytest.raises(ModelError):
            download("someone/unknown")
        assert folder.is_dir()
    assert folder.is_dir()
    with pytest.raises(ModelError):
        download("someone/unknown")
    assert not folder.exists()


def test_shards_are_fetched_by_their_index(server, tiny) -> None:
    files = files_of(tiny)
    shard = "model-00001-of-00001.safetensors"
    index = {"metadata": {}, "weight_map": {"embeddings.word_embeddings.weight": shard}}
    files[shard] = files.pop("model.safetensors")
    server.add(
        "someone/sharded", {**files, "model.safetensors.index.json": json.dumps(index).encode()}
    )
    assert (download("someone/sharded") / shard).is_file()
    assert load_model("hub:someone/sharded").info.parameters == describe(f"path:{tiny}").parameters
    index["weight_map"] = {"a": "../../../etc/passwd.safetensors"}
    server.add(
        "someone/evil", {**files, "model.safetensors.index.json": json.dumps(index).encode()}
    )
    with pytest.raises(ModelError, match="does not list plain file names"):
        download("someone/evil")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("gated", "someone/tiny is gated: accept its terms at http://.*/someone/tiny, log in"),
        ("private", "The Hub has no model someone/tiny that you may see: check its spelling"),
        ("rate-limited", "limits the requests of this address"),
        ("broken", r"server error \(503\) when asked for someone/tiny: try again later"),
        ("portal", r"The server at http://.* is not a model hub .*: check HF_ENDPOINT"),
        ("silent", "did not answer within 0.5 seconds and someone/tiny was not downloaded earlier"),
    ],
)
def test_every_state_of_the_hub_has_its_sentence(server, tiny, state, sentence) -> None:
    server.add("someone/tiny", tiny, state=state)
    with pytest.raises(ModelError, match=sentence):
        describe("hub:someone/tiny")
    assert len(server.requests) <= MOST_ASKED


def test_an_unknown_model_or_revision(server, tiny) -> None:
    with pytest.raises(ModelError, match="no model nobody/nothing that you may see"):
        download("nobody/nothing")
    server.add("someone/tiny", tiny)
    with pytest.raises(ModelError, match="no revision 'old' on the Hub"):
        download("someone/tiny", "old")


@pytest.mark.parametrize("token", ["hf_\u00e4bc", "hf_a\0b"])
def test_a_token_that_no_header_can_hold_is_named(server, tiny, monkeypatch, token) -> None:
    server.add("someone/tiny", tiny)
    monkeypatch.setattr("huggingface_hub.utils._headers.get_token", lambda: token)
    with pytest.raises(ModelError, match=r"token for the Hub \(HF_TOKEN\) holds characters"):
        download("someone/tiny")


def test_offline_says_so_at_once(server, tiny, monkeypatch) -> None:
    server.add("someone/tiny", tiny)
    unreachable(monkeypatch)
    asked: list[object] = []
    connect = socket.socket.connect
    monkeypatch.setattr(
        socket.socket, "connect", lambda end, where: (asked.append(where), connect(end, where))[1]
    )
    with pytest.raises(
        ModelError,
        match=r"cannot be reached and someone/tiny was not downloaded earlier.*zoo:seed-0",
    ):
        describe("hub:someone/tiny")
    assert len(asked) <= MOST_ASKED


@pytest.mark.slow
@pytest.mark.parametrize("state", ["silent", "broken", "rate-limited"])
def test_what_was_downloaded_earlier_serves_when_the_hub_does_not(
    server, tiny, monkeypatch, state
) -> None:
    repository = server.add("someone/tiny", tiny)
    folder = download("someone/tiny")
    hub._resolved.begin()
    repository.state = state
    assert download("someone/tiny") == folder
    unreachable(monkeypatch)
    assert download("someone/tiny") == folder
    assert describe("hub:someone/tiny").fingerprint == describe(f"path:{tiny}").fingerprint


def test_what_was_downloaded_earlier_does_not_hide_a_refusal(server, tiny, monkeypatch) -> None:
    repository = server.add("someone/tiny", tiny)
    download("someone/tiny")
    hub._resolved.begin()
    repository.state = "private"
    with pytest.raises(ModelError, match="that you may see"):
        download("someone/tiny")


def test_offline_mode_asks_nobody(server, tiny, monkeypatch) -> None:
    server.add("someone/tiny", tiny)
    folder = download("someone/tiny")
    server.requests.clear()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert download("someone/tiny") == folder
    with pytest.raises(
        ModelError, match=r"someone/else was not downloaded earlier and offline mode is on"
    ):
        download("someone/else")
    assert server.requests == []


def test_a_download_that_was_cut_short_is_not_taken_for_whole(server, tiny, monkeypatch) -> None:
    server.add("someone/tiny", tiny)
    folder = download("someone/tiny")
    (folder / "model.safetensors").unlink()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError, match="was not downloaded earlier"):
        download("someone/tiny")
    monkeypatch.delenv("HF_HUB_OFFLINE")
    assert (download("someone/tiny") / "model.safetensors").is_file()  # fetched again


def test_too_large_is_refused_before_the_weights_are_fetched(server, tiny, monkeypatch) -> None:
    server.add("someone/large", tiny, sizes={"model.safetensors": 2 * 10**9})
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    with pytest.raises(
        ModelError,
        match="too large: about 500 million parameters, and this instance allows 130 mill",
    ):
        download("someone/large")
    assert not any("model.safetensors" in path for path in server.requests)


def test_a_tokenizer_that_is_too_large_is_refused_before_anything_else_is_fetched(
    server, tiny
) -> None:
    fine = {"tokenizer.json": MOST_TOKENIZER // 2, "tokenizer_config.json": MOST_TOKENIZER // 2}
    server.add("someone/wordy", tiny, sizes={**fine, "tokenizer.json": fine["tokenizer.json"] + 1})
    with pytest.raises(ModelError, match=r"tokenizer of someone/wordy is too large \(128 MB\)"):
        download("someone/wordy")
    assert not any("tokenizer" in path or "model.safetensors" in path for path in server.requests)
    server.add("someone/long", tiny, sizes=fine)
    assert download("someone/long").is_dir()


def test_pickled_weights_alone_are_refused_when_shared(server, tiny, monkeypatch) -> None:
    import torch

    files = files_of(tiny)
    torch.save(load_file(tiny / "model.safetensors"), tiny.parent / "pytorch_model.bin")
    del files["model.safetensors"]
    files["pytorch_model.bin"] = (tiny.parent / "pytorch_model.bin").read_bytes()
    server.add("someone/old", files)
    assert (
        load_model("hub:someone/old").info.layers == 3
    )  # plain tensors: read on one's own computer
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    with pytest.raises(
        ModelError, match=r"pickled weights only \(\.bin\), which a shared instance does not open"
    ):
        download("someone/old")


def test_no_weights_at_all(server, tiny) -> None:
    files = files_of(tiny)
    del files["model.safetensors"]
    server.add("someone/flax", {**files, "flax_model.msgpack": b"x"})
    with pytest.raises(ModelError, match="safetensors is missing, and so are other weights"):
        download("someone/flax")


def test_a_model_in_a_folder_of_the_repository_is_named(server, tiny) -> None:
    inside = {f"0_Transformer/{name}": content for name, content in files_of(tiny).items()}
    server.add("someone/sentences", {**inside, "modules.json": b"[]"})
    for use in (download, look_up):
        with pytest.raises(ModelError, match=r"no config\.json, and its folder 0_Transformer has"):
            use("someone/sentences")


def test_gguf_on_the_hub_is_refused_with_what_to_do(server, tiny) -> None:
    server.add("someone/llama-GGUF", {"llama.Q4_K_M.gguf": b"x", "llama.Q8_0.gguf": b"x"})
    files = files_of(tiny)
    del files["model.safetensors"]
    server.add("someone/with-config", {**files, "llama.gguf": b"x"})
    for name in ("someone/llama-GGUF", "someone/with-config"):
        with pytest.raises(ModelError, match=r"GGUF.* read from folders alone.*path:FOLDER"):
            download(name)


def test_a_study_of_weights_and_one_of_states_read_the_same_file(server, tiny, monkeypatch) -> None:
    """Of a repository with a stray file, and with stale shards that alone are too large."""
    index = {"weight_map": {"a": "model-00001-of-00001.safetensors"}}
    stale = {
        "model.safetensors.index.json": json.dumps(index).encode(),
        "model-00001-of-00001.safetensors": b"stale",
        "adapter_config.json": b"{}",
        "stray.safetensors": b"stray",
    }
    sizes = {"model-00001-of-00001.safetensors": 10**12}
    server.add("someone/stale", {**files_of(tiny), **stale}, sizes=sizes)
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    weights = (tiny / "model.safetensors").stat().st_size
    assert safe_weights(look_up("someone/stale")) == ["model.safetensors"]
    assert weights < download_of("hub:someone/stale") < 2 * weights
    remote = open_model("hub:someone/stale", read_as("hub:someone/stale"))
    assert (
        sum(np.prod(entry.shape) for entry in remote.entries.values())
        == describe("hub:someone/stale").parameters
    )


def test_parts_without_an_index_are_one_model_on_the_hub(server, tiny) -> None:
    files = files_of(tiny)
    tensors = load_file(tiny / "model.safetensors")
    del files["model.safetensors"]
    for number in range(2):
        held = dict(list(tensors.items())[number::2])
        files[f"model-0000{number + 1}-of-00002.safetensors"] = save(held)
    server.add("someone/parts", files)
    remote = open_model("hub:someone/parts", read_as("hub:someone/parts"))
    assert remote.entries.keys() == tensors.keys()
    assert load_model("hub:someone/parts").info.parameters == describe(f"path:{tiny}").parameters


def test_remote_code_is_refused_before_the_weights_are_fetched(server, tiny) -> None:
    config = json.loads((tiny / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "modeling_evil.EvilModel"}
    server.add(
        "someone/evil",
        {**files_of(tiny), "config.json": json.dumps(config).encode(), "modeling_evil.py": b"x"},
    )
    with pytest.raises(ModelError, match="needs its author's own code"):
        download("someone/evil")
    assert not any("safetensors" in path or ".py" in path for path in server.requests)


def test_remote_code_in_the_tokenizer_is_refused(server, tiny) -> None:
    settings = json.loads((tiny / "tokenizer_config.json").read_text())
    settings["auto_map"] = {"AutoTokenizer": ["tokenization_evil.Evil", None]}
    server.add(
        "someone/evil", {**files_of(tiny), "tokenizer_config.json": json.dumps(settings).encode()}
    )
    with pytest.raises(ModelError, match=r"tokenizer_config.json needs its author's own code"):
        download("someone/evil")


def test_a_repository_without_a_configuration(server) -> None:
    server.add("someone/poems", {"README.md": b"none"})
    with pytest.raises(ModelError, match=r"has no config\.json"):
        download("someone/poems")


def test_a_server_that_is_no_hub(server, tiny) -> None:
    server.add("someone/tiny", tiny, extra={"sha": None})
    with pytest.raises(
        ModelError, match="did not name a commit for someone/tiny: check HF_ENDPOINT"
    ):
        download("someone/tiny")


def test_a_cache_that_cannot_be_written(server, tiny, tmp_path, monkeypatch) -> None:
    server.add("someone/tiny", tiny)
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(ModelError, match=r"could not be saved in .*free some space or set HF_HOME"):
        download("someone/tiny")
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    with pytest.raises(ModelError, match="could not be saved on this server") as refusal:
        download("someone/tiny")
    assert tmp_path.name not in str(refusal.value)


def test_a_finished_download_serves_where_its_revision_cannot_be_noted(server, tiny) -> None:
    server.add("someone/tiny", tiny, revisions={"step": files_of(tiny)})
    folder = download("someone/tiny", "step")
    assert download("someone/tiny", "step/1") == folder  # the note of `step` is a file


def test_hf_home_holds_the_cache_where_nothing_else_is_said(
    server, tiny, tmp_path, monkeypatch
) -> None:
    server.add("someone/tiny", tiny)
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    assert (tmp_path / "home" / "hub") in download("someone/tiny").parents


def test_a_name_that_the_client_refuses(server) -> None:
    with pytest.raises(ModelError, match="is not a valid name on the Hub"):
        download("a--b/c..d")


def test_strangers_never_borrow_the_owners_login(server, tiny, monkeypatch) -> None:
    assert hub.login() is None
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    assert hub.login() is False


def test_presets_are_references_to_the_originals() -> None:
    refs = [preset.ref for preset in PRESETS]
    assert len(set(refs)) == len(refs)
    assert all(str(parse_ref(ref)) == ref for ref in refs)
    assert {f"hub:google/multiberts-seed_{seed}" for seed in range(25)} <= set(refs)
    assert {"hub:bert-base-uncased", "hub:roberta-base", "hub:gpt2-medium", "hub:t5-base"} <= set(
        refs
    )
    data = {preset.data for preset in PRESETS if preset.base == "hub:bert-base-uncased"}
    assert any(re.match("MNLI", one) for one in data)
    assert any(re.match("SQuAD", one) for one in data)
