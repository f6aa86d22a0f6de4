"""Repositories made to exhaust who opens them: refused by their stated size, cut off where they go
on, and read within a bounded amount of memory and time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core.errors import CancelledError, ModelError
from core.limits import MODE
from core.maths.progress import LISTENER
from core.models.hub import asking, listing, ranges
from core.models.hub import client as hub
from core.models.hub.client import download
from core.models.hub.listing import list_fine_tunes, look_up
from core.models.weights.sources import open_adapter, open_model
from core.runs.process.parsing import MOST_BYTES, MOST_MEMORY, memory_of
from tests import ROOT
from tests.core.contents import read_as
from tests.core.hub_server import HubServer
from tests.core.tiny_models import save_tiny

HELD = 100e6  # bytes that opening any model may take beside what the process has
SECONDS = 40.0  # of a processor for six ways to open it; a tenth of it on a quiet machine
PIECES = 2**25  # bytes on their way when a download is stopped
Files = dict[str, bytes]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = save_tiny(tmp_path_factory.mktemp("hostile") / "bert")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    with HubServer() as running:
        running.replace_hub(monkeypatch, tmp_path / "cache", timeout=5.0)
        yield running


def open_weights_of(name: str) -> None:
    """As the weights page opens a model, in parts of its files: it is identified once."""
    ref = f"hub:{name}"
    content = read_as(ref)
    open_adapter(ref, content)
    open_model(ref, content)


def variant(plain: Files, file: str) -> Files:
    """The model, with this file among its own."""
    files = dict(plain)
    if "adapter" in file:
        return {file: b"{}", "adapter_model.safetensors": b"x"}
    if file.endswith("index.json"):
        files["model-1.safetensors"] = files.pop("model.safetensors")
        files[file] = b'{"metadata": {}, "weight_map": {"a": "model-1.safetensors"}}'
    return files


SETTINGS = ("config.json", "adapter_config.json", "model.safetensors.index.json")


@pytest.mark.parametrize("file", SETTINGS)
def test_a_file_that_is_stated_to_be_large_is_never_asked_for(server, plain, file: str) -> None:
    server.add("someone/large", variant(plain, file), sizes={file: MOST_BYTES + 1})
    ways: list[Callable[[str], object]] = [open_weights_of]
    for opened in (*ways, *([] if "adapter" in file else [download])):
        with pytest.raises(ModelError, match=f"someone/large/{file} is too large"):
            opened("someone/large")
    assert not any(path.endswith(f"/{file}") for path in server.requests)


@pytest.mark.parametrize("file", SETTINGS)
def test_a_file_of_settings_without_an_end_is_cut_off(server, plain, file: str) -> None:
    server.add("someone/endless", variant(plain, file), endless=(file,))
    with pytest.raises(ModelError, match="more bytes than"):
        open_weights_of("someone/endless")
    assert server.sent < MOST_BYTES + PIECES


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_download_ends_where_the_hub_says(server, plain, file: str) -> None:
    server.add("someone/endless", plain, endless=(file,))
    with pytest.raises(ModelError, match=f"someone/endless/{file} has more bytes"):
        download("someone/endless")
    assert server.sent < PIECES


def test_a_file_of_a_size_that_is_not_stated_has_a_bound(server, plain, monkeypatch) -> None:
    monkeypatch.setenv(MODE, "shared")
    server.add("someone/endless", plain, endless=("config.json",), sizes={"config.json": 0})
    with pytest.raises(ModelError, match=r"more bytes than the 8,388,608"):
        download("someone/endless")
    hub._resolved.begin()
    server.add("someone/unstated", plain, sizes=dict.fromkeys(plain, 0))
    assert (download("someone/unstated") / "model.safetensors").is_file()


@pytest.mark.slow
def test_an_answer_that_is_packed_or_too_large_is_none(server, plain, monkeypatch) -> None:
    server.add("someone/packed", plain, packed=True)
    with pytest.raises(ModelError, match="compressed by gzip"):
        look_up("someone/packed")
    files = {f"{number}.txt": b"" for number in range(60_000)}
    server.add("someone/many", {**plain, **files})
    with pytest.raises(ModelError, match="MB of memory"):
        look_up("someone/many")
    monkeypatch.setattr(asking, "MOST_BYTES", 2**20)
    with pytest.raises(ModelError, match="more than 1,048,576 bytes"):
        look_up("someone/many")


def test_what_is_remembered_of_repositories_is_bounded(server, plain, monkeypatch) -> None:
    monkeypatch.setattr(hub._resolved, "most", 40)
    for number in range(20):
        server.add(f"someone/model-{number}", plain)
        look_up(f"someone/model-{number}")
    remembered = hub._resolved._entries.values()
    assert 0 < sum(len(entry.value.repository.files) for entry in remembered) <= 40
    asked = len(server.requests)
    look_up("someone/model-19")
    assert len(server.requests) == asked


def packed_file(header: bytes, data: bytes = b"") -> bytes:
    """A safetensors file."""
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data


def filled(begin: bytes, item: Callable[[int], bytes], end: bytes) -> bytes:
    """As many items between two texts as may be parsed."""
    count = (MOST_MEMORY - memory_of(begin + end)) // memory_of(item(100_000) + b",")
    whole = begin + b",".join(map(item, range(count))) + end
    assert 0.8 * MOST_MEMORY < memory_of(whole) <= MOST_MEMORY
    return whole


PLACE = b'{"dtype":"F32","shape":[0],"data_offsets":[0,0]}'
LAYER = b'"bert.encoder.layer.%d.attention.self.query.weight":'
DEEP = b"[" * 900 + b"]" * 900
WIDE = "😀".encode() + b"a" * (MOST_MEMORY // 11)


def with_header(plain: Files, change: Callable[[bytes], bytes]) -> Files:
    """The model with another header, made of its own without the last bracket."""
    file = plain["model.safetensors"]
    size = int.from_bytes(file[:8], "little")
    header = change(file[8 : 8 + size].rstrip()[:-1])
    return plain | {"model.safetensors": packed_file(header, file[8 + size :])}


def with_config(plain: Files, change: Callable[[bytes], bytes]) -> Files:
    """The model with another configuration, made of its own without the last bracket."""
    return plain | {"config.json": change(plain["config.json"].rstrip()[:-1].rstrip())}


def numbered(count: int) -> bytes:
    """So many empty tensors."""
    return b",".join(b'"x%d":%s' % (number, PLACE) for number in range(count))


def with_index(plain: Files) -> Files:
    """The model in a shard, with a long index."""
    shard = {"model-1.safetensors": plain["model.safetensors"]}
    index = filled(b'{"weight_map":{', lambda n: b'"a%d":"model-1.safetensors"' % n, b"}}")
    others = {name: content for name, content in plain.items() if name != "model.safetensors"}
    return others | shard | {"model.safetensors.index.json": index}


def adapter(plain: Files) -> Files:
    """An adapter with a long configuration."""
    return {
        "adapter_config.json": filled(b'{"peft_type":"LORA","x":[', lambda n: b"[]", b"]}"),
        "adapter_model.safetensors": packed_file(b'{"a":%s}' % PLACE),
    }


VARIANTS: dict[str, Callable[[Files], Files]] = {
    "header": lambda plain: with_header(
        plain, lambda _: filled(b'{"__metadata__":[', lambda n: b"[]", b"]}")
    ),
    "tensors-330000": lambda plain: with_header(
        plain, lambda begin: begin + b"," + numbered(330_000) + b"}"
    ),
    "tensors": lambda plain: with_header(
        plain, lambda begin: filled(begin + b",", lambda n: b'"x%d":%s' % (n, PLACE), b"}")
    ),
    "layers": lambda plain: with_header(
        plain, lambda begin: filled(begin + b",", lambda n: LAYER % (n + 9) + PLACE, b"}")
    ),
    "long-name": lambda plain: with_header(
        plain, lambda begin: begin + b',"%s":%s,' % (b"z" * 500_000, PLACE) + numbered(9_999) + b"}"
    ),
    "configuration": lambda plain: with_config(
        plain, lambda begin: filled(begin + b',"x":[', lambda n: b"[]", b"]}")
    ),
    "configuration-deep": lambda plain: with_config(
        plain, lambda begin: filled(begin + b',"x":[', lambda n: DEEP, b"]}")
    ),
    "configuration-wide": lambda plain: with_config(
        plain, lambda begin: begin + b',"x":"' + WIDE + b'"}'
    ),
    "index": with_index,
    "adapter": adapter,
}
"""Repositories whose files are as large as can be without being refused, and far larger."""
PARTS = (["long-name"], [name for name in VARIANTS if name != "long-name"])
REFUSED = {
    "tensors-330000": ("weights", "states"),
    "long-name": ("weights", "states"),
    "configuration": ("size", "weights", "states"),
    "configuration-wide": ("size", "weights", "states"),
    "adapter": ("states",),
}
"""Ways in which a model must not be opened; see `asker.WAYS`."""


@pytest.fixture(scope="module")
def opened(plain: Files, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What opening each repository took: one process opens one after the other, as a server does,
    and gives nothing back in between."""
    folder = tmp_path_factory.mktemp("opened")
    names = [name for part in PARTS for name in part]
    with pytest.MonkeyPatch.context() as patch, HubServer() as server:
        server.replace_hub(patch, folder / "cache", timeout=5.0)
        server.add("s/plain", plain)
        server.add("s/warm", plain | {"README.md": b""})
        for name in names:
            server.add(f"s/{name}", VARIANTS[name](plain))
        lines = subprocess.run(
            [sys.executable, "-m", "tests.core.models.hub.asker", "s/plain", "s/warm"]
            + [f"s/{name}" for name in names],
            cwd=ROOT,
            env=os.environ | {MODE: "shared", "PALIMPSEST_STORE": str(folder / "store")},
            stdout=subprocess.PIPE,
            check=True,
        ).stdout.splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["name"] for record in records] == [
        f"s/{name}" for name in ("plain", "warm", *names)
    ]
    return {record["name"].removeprefix("s/"): record for record in records}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="no other system shows the peak")
@pytest.mark.timeout(900)
@pytest.mark.exhaustive
@pytest.mark.parametrize("names", PARTS, ids="-".join)
def test_no_model_of_the_hub_takes_a_shared_instance_much_memory(
    opened: dict[str, dict[str, Any]], names: Sequence[str]
) -> None:
    warm, first = opened["warm"], opened[PARTS[0][0]]
    assert not any(warm["reasons"].values()), warm
    for name in names:
        record = opened[name]
        assert record["peak"] - first["held"] < HELD, record
        assert record["seconds"] < SECONDS, record
        assert all(record["reasons"][way] for way in REFUSED.get(name, ())), record


@pytest.mark.parametrize(
    "said",
    [
        {"siblings": 5},
        {"siblings": [{"rfilename": "config.json", "size": float("inf")}]},
        {"tags": 5},
        {"cardData": {"datasets": 5}},
    ],
)
def test_a_description_of_other_types_is_of_no_model(server, plain, said: dict[str, Any]) -> None:
    server.add("someone/odd", plain, extra=said)
    with pytest.raises(ModelError, match="not a model hub"):
        look_up("someone/odd")


def test_an_entry_of_an_infinite_number_is_left_out_of_a_list(server, plain) -> None:
    tags = ["base_model:finetune:someone/base"]
    server.add("someone/fine", plain, extra={"tags": tags})
    server.add("someone/odd", plain, extra={"tags": tags, "downloads": float("inf")})
    assert [model.ref for model in list_fine_tunes("someone/base")] == ["hub:someone/fine"]


@pytest.mark.parametrize("rest", ["/api/models?page=2", ".evil.example/api/models"])
def test_the_next_page_is_asked_of_the_same_server_alone(
    monkeypatch: pytest.MonkeyPatch, rest: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://huggingface.co")
    following = f"https://huggingface.co{rest}"
    monkeypatch.setattr(listing, "ask_json", lambda *question: ([], following))
    assert listing._ask_page("", None, "base")[1] == (following if rest[0] == "/" else "")


def test_weights_that_drip_can_be_cancelled() -> None:
    class Cancelled:
        def tick(self, fraction: float, note: str) -> None:
            raise CancelledError("The run was cancelled.")

    dripping = SimpleNamespace(iter_raw=lambda: repeat(b"x"))
    token = LISTENER.set(Cancelled())  # type: ignore[arg-type]
    try:
        with pytest.raises(CancelledError):
            ranges._body(dripping, 2**20)
    finally:
        LISTENER.reset(token)
