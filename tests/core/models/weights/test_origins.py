"""Where an adapter's base is: what its configuration may name, and what it may not."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.errors import ModelError
from core.limits import LOCAL
from core.models import describe, locate
from core.models.sizes import names_adapter, size_of
from core.models.weights.merged import MERGED
from core.models.weights.origins import base_of
from core.runs.files import store_folder
from tests.core.contents import read_as
from tests.core.hub_server import HubServer
from tests.core.models.weights.test_adapters import QUERY, factors_of, write_adapter
from tests.core.small_zoo import base_tensors, write_model

FACTORS = factors_of(QUERY, (32, 32), 4, 0)


def adapter_of(folder: Path, base: object, **settings: Any) -> str:
    """Write an adapter whose configuration names this base; return its reference."""
    return f"path:{write_adapter(folder, FACTORS, base_model_name_or_path=base, **settings)}"


@pytest.mark.parametrize(
    ("named", "settings", "base"),
    [
        ("org/base", {}, "hub:org/base"),
        ("bert-base-uncased", {"revision": "v2"}, "hub:bert-base-uncased@v2"),
        ("hub:org/base@main", {}, "hub:org/base@main"),
        ("zoo/models/seed-0", {}, "zoo:seed-0"),
        ("zoo:seed-1", {}, "zoo:seed-1"),
    ],
)
def test_a_base_is_what_the_configuration_names(
    tmp_path: Path, named: str, settings: dict[str, Any], base: str
) -> None:
    assert base_of(adapter_of(tmp_path / "lora", named, **settings)) == base


def test_a_folder_is_found_from_the_working_folder_before_the_hub_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_model(tmp_path / "org" / "base", base_tensors())
    monkeypatch.chdir(tmp_path)
    ref, whole = adapter_of(tmp_path / "lora", "org/base"), f"path:{tmp_path / 'org' / 'base'}"
    assert base_of(ref) == whole
    assert base_of(adapter_of(tmp_path / "b", tmp_path.as_posix() + "/org/base")) == whole
    assert base_of(adapter_of(tmp_path / "c", whole)) == whole
    assert describe(ref).layers == size_of(ref).layers == 3
    assert describe(ref).fingerprint != describe(whole).fingerprint
    assert size_of(ref).parameters == size_of(whole).parameters


@pytest.mark.parametrize("named", ["", None, "/nowhere/base", "a b", "../up"])
def test_a_base_that_is_not_there_is_said_with_how_to_name_it(tmp_path: Path, named: Any) -> None:
    ref = adapter_of(tmp_path / "lora", named)
    for ask in (base_of, locate, describe, size_of):
        with pytest.raises(ModelError, match=r"is an adapter .* `python -m core convert ADAPTER"):
            ask(ref)
    assert read_as(ref)  # its factors are compared with another base all the same


def test_an_included_adapter_of_a_model_on_the_hub_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacks = r"^zoo:minilm-nli-0 is an adapter of hub:sentence-transformers/all-MiniLM-L6-v2, which "
    with HubServer() as server:
        server.replace_hub(monkeypatch, tmp_path / "cache")
        with pytest.raises(ModelError, match=lacks + r"cannot be read\. The Hub has no") as raised:
            locate("zoo:minilm-nli-0")
    assert "convert" not in str(raised.value)  # it is named already


@pytest.mark.parametrize(
    ("base", "said"),
    [("itself", "an adapter itself"), ("random", "random"), ("damaged", "not JSON")],
)
def test_a_base_is_a_whole_model(tmp_path: Path, base: str, said: str) -> None:
    whole = write_model(tmp_path / "base", base_tensors())
    if base == "damaged":
        (whole / "config.json").write_text("{")
    named = {"itself": str(tmp_path / "lora"), "random": f"random:path:{whole}"}.get(base, whole)
    ref = adapter_of(tmp_path / "lora", str(named))
    with pytest.raises(ModelError, match=said):
        describe(ref)
    if base != "random":
        with pytest.raises(ModelError, match=said):
            size_of(ref)
    with pytest.raises(ModelError, match="is a whole model, not an adapter"):
        base_of(f"path:{whole}")


@pytest.mark.parametrize("classes", [5, {"a": 1}, [None]])
def test_a_damaged_configuration_beside_an_adapter_is_named(tmp_path: Path, classes: Any) -> None:
    whole = write_model(tmp_path / "base", base_tensors())
    ref = adapter_of(tmp_path / "lora", str(whole))
    config = json.loads((whole / "config.json").read_text()) | {"architectures": classes}
    (tmp_path / "lora" / "config.json").write_text(json.dumps(config))
    for ask in (size_of, describe):
        with pytest.raises(ModelError, match=r"lora/config\.json gives no names in its arch"):
            ask(ref)


def test_what_changes_in_adapter_or_base_changes_what_it_is_known_by(tmp_path: Path) -> None:
    whole = write_model(tmp_path / "base", base_tensors())
    ref = adapter_of(tmp_path / "lora", str(whole))
    before = describe(ref).fingerprint, read_as(ref), locate(ref)
    assert describe(ref).fingerprint == before[0]
    write_model(tmp_path / "base", base_tensors(seed=1))
    after = describe(ref).fingerprint, read_as(ref), locate(ref)
    adapter_of(tmp_path / "lora", str(whole), lora_alpha=9)
    again = describe(ref).fingerprint, read_as(ref), locate(ref)
    for values in zip(before, after, again, strict=True):
        assert len({*values}) == 3


def test_merged_models_used_longest_ago_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "store"))
    monkeypatch.setattr("core.models.weights.merged.MOST_MERGED", 1)
    whole = write_model(tmp_path / "base", base_tensors())
    refs = [
        adapter_of(tmp_path / f"lora-{alpha}", str(whole), lora_alpha=alpha) for alpha in (1, 2)
    ]
    places = [locate(ref) for ref in refs]
    assert all(place.is_dir() for place in places)  # both were used within the hour
    monkeypatch.setattr("core.models.weights.merged.IN_USE", 0.0)
    third = locate(adapter_of(tmp_path / "lora-3", str(whole), lora_alpha=3))
    assert [*(store_folder() / MERGED).iterdir()] == [third]
    assert locate(refs[0]) == places[0]  # merged again


def test_merged_models_in_use_that_fill_the_limit_leave_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "store"))
    whole = write_model(tmp_path / "base", base_tensors())
    bytes_of_two = int(2.5 * (whole / "model.safetensors").stat().st_size)
    limits = replace(LOCAL, max_download_bytes=bytes_of_two)
    monkeypatch.setattr("core.models.weights.merged.current_limits", lambda: limits)
    first, second, third = (
        adapter_of(tmp_path / f"lora-{alpha}", str(whole), lora_alpha=alpha) for alpha in (1, 2, 3)
    )
    places = [locate(first), locate(second)]
    with pytest.raises(ModelError, match=r"no room for another merged model.*try again"):
        locate(third)
    assert {*(store_folder() / MERGED).iterdir()} == {*places}
    os.utime(places[0], (0, 0))
    places[0] = locate(third)
    assert {*(store_folder() / MERGED).iterdir()} == {*places}


def test_a_shared_instance_reads_adapters_of_the_hub_with_bases_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "store"))
    whole = write_model(tmp_path / "base", base_tensors())
    (whole / "vocab.txt").write_text("a")
    lora = Path(adapter_of(tmp_path / "lora", "org/base").removeprefix("path:"))
    files = {path.name: path.read_bytes() for path in lora.iterdir()}
    with HubServer() as server:
        server.replace_hub(monkeypatch, tmp_path / "cache")
        server.add("org/base", whole)
        server.add("org/lora", files)
        for name in (str(whole), f"path:{whole}", "../base"):
            config = json.loads(files["adapter_config.json"]) | {"base_model_name_or_path": name}
            there = {**files, "adapter_config.json": json.dumps(config).encode()}
            server.add(f"org/outside{len(name)}", there)
        (tmp_path / "org" / "base").mkdir(parents=True)  # no folder of the computer is looked at
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("PALIMPSEST_MODE", "shared")
        size = size_of("hub:org/lora")
        assert names_adapter("hub:org/lora")
        assert not [path for path in server.requests if path.endswith(".safetensors")]
        assert (size.layers, size.d_model, size.download) == (3, 32, sum(
            len(content) for content in (*files.values(), *map(Path.read_bytes, whole.iterdir()))
        ) - len((whole / "config.json").read_bytes()))  # fmt: skip
        assert describe("hub:org/lora").layers == 3
        for name in (str(whole), f"path:{whole}", "../base"):
            with pytest.raises(ModelError, match=r"which is not there|reads no folders"):
                describe(f"hub:org/outside{len(name)}")
            with pytest.raises(ModelError, match=r"which is not there|reads no folders"):
                size_of(f"hub:org/outside{len(name)}")
        with pytest.raises(ModelError, match="reads no folders"):
            describe(f"path:{lora}")
        server.add("org/large", files, sizes={"adapter_model.safetensors": 2**40})
        with pytest.raises(ModelError, match="too large"):
            describe("hub:org/large")


def test_a_downloaded_model_with_an_adapter_left_beside_it_is_a_model_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = write_model(tmp_path / "base", base_tensors())
    (whole / "vocab.txt").write_text("a")
    lora = Path(adapter_of(tmp_path / "lora", "org/nowhere").removeprefix("path:"))
    with HubServer() as server:
        server.replace_hub(monkeypatch, tmp_path / "cache")
        server.add("org/both", {path.name: path.read_bytes() for path in whole.iterdir()})
        before, folder = describe("hub:org/both"), locate("hub:org/both")
        for path in lora.iterdir():
            if not (folder / path.name).exists():
                (folder / path.name).write_bytes(path.read_bytes())
        assert (folder / "adapter_config.json").is_file()
        size = size_of("hub:org/both")
        assert (size.parameters, size.layers) == (before.parameters, before.layers)
        assert describe("hub:org/both") == before
        assert not names_adapter("hub:org/both")
