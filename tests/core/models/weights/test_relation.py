"""What a pair of models has in common: layers are read until one differs, and only files with the
same content are called the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from core.commands.pair import check_pair
from core.maths.arrays import Value
from core.models.hub.listing import look_up
from core.models.identity import find_copies
from core.models.weights.relation import is_related, measure_relation
from core.models.weights.sources import is_remote
from tests.core.contents import copied_as, read_as
from tests.core.models.weights.test_adapters import QUERY, factors_of, write_adapter
from tests.core.small_zoo import CONFIG, base_tensors, write_model
from tests.core.tree_server import TreeServer, as_files

DEEP = {**CONFIG, "num_hidden_layers": 6}


def tensors_of() -> dict[str, np.ndarray]:
    """A BERT of six layers."""
    lower, upper = base_tensors(0), base_tensors(1)
    moved = {
        name.replace(f"layer.{layer}.", f"layer.{layer + 3}."): part
        for name, part in upper.items()
        for layer in range(3)
        if f"layer.{layer}." in name
    }
    return lower | moved


def changed(where: Callable[[str], bool]) -> dict[str, np.ndarray]:
    """The same with another sign wherever the name says so."""
    return {name: -part if where(name) else part for name, part in tensors_of().items()}


def relation_of(first: str, second: str) -> Value:
    return measure_relation(first, second, read_as(first), read_as(second))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"path:{write_model(tmp_path_factory.mktemp('base') / 'base', tensors_of(), DEEP)}"


@pytest.mark.parametrize(
    ("layer", "read"),
    [(3, [3]), (0, [3, 0]), (5, [3, 0, 5]), (1, [3, 0, 5, 1]), (4, [3, 0, 5, 1, 2, 4])],
)
def test_layers_are_read_until_one_differs(
    tmp_path: Path, base: str, layer: int, read: list[int]
) -> None:
    folder = write_model(tmp_path / "m", changed(lambda name: f"layer.{layer}." in name), DEEP)
    value = relation_of(base, f"path:{folder}")
    assert value["layers"] == read
    assert value["distance"] > 0
    # two starts share no layer, however different the others are
    assert is_related(value) == (layer != 3)
    said = check_pair(base, f"path:{folder}").sentence
    assert "same weights" not in said
    assert "equal" not in said
    assert ("in layers 1, 4 and 6 " in said) == (layer == 5)


def test_models_that_differ_outside_the_layers_are_not_called_the_same(
    tmp_path: Path, base: str
) -> None:
    folder = write_model(tmp_path / "m", changed(lambda name: "word_embed" in name), DEEP)
    check = check_pair(base, f"path:{folder}")
    assert check.relation["distance"] == 0
    assert check.related
    assert "equal matrices in every layer: they may differ elsewhere" in check.sentence


def test_a_copy_is_the_same_whatever_its_configuration_says(tmp_path: Path, base: str) -> None:
    shutil.copytree(base.removeprefix("path:"), tmp_path / "copy")
    (tmp_path / "copy" / "config.json").write_text(
        (tmp_path / "copy" / "config.json").read_text().replace("BertModel", "BertForMaskedLM")
    )
    copy = f"path:{tmp_path / 'copy'}"
    assert read_as(copy) != read_as(base)
    assert copied_as(copy) == copied_as(base)
    assert find_copies({ref: copied_as(ref) for ref in (base, copy)}) == {copy: base}
    assert "have the same weights" in check_pair(base, copy).sentence


def test_of_a_model_on_the_hub_three_layers_are_read(
    tmp_path: Path, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with TreeServer() as server:
        server.replace_hub(monkeypatch, tmp_path / "cache", timeout=2.0)
        server.add("org/same", as_files(tensors_of(), DEEP))
        tensors = changed(lambda name: "layer.1." in name)
        server.add("org/other", as_files(tensors, DEEP))
        value = relation_of(base, "hub:org/other")
        assert (value["layers"], value["distance"]) == ([3, 0, 5], 0)
        said = check_pair(base, "hub:org/other").sentence
        assert "layers 1, 4 and 6, the only ones that were read" in said


@pytest.mark.slow
def test_files_of_the_hub_are_known_by_what_it_says_of_them(
    tmp_path: Path, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Hub's hash is that of the file on the disk; where it has none nothing is known."""
    files = {path.name: path.read_bytes() for path in Path(base.removeprefix("path:")).iterdir()}
    ref = "hub:org/same"
    with TreeServer() as server:
        server.replace_hub(monkeypatch, tmp_path / "cache", timeout=2.0)
        repository = server.add("org/same", files)
        assert is_remote(ref, read_as(ref))
        assert copied_as(ref) == copied_as(base) != ""
        assert "same weights" in check_pair(base, ref).sentence
        server.add("org/again", files)
        assert "same weights" in check_pair(ref, "hub:org/again").sentence
        for name in ("org/same", "org/again"):
            look_up(name).hashes.clear()
        assert copied_as(ref) == read_as(ref)  # and of no other model
        for other in (base, "hub:org/again"):
            assert "equal matrices" in check_pair(other, ref).sentence
        assert repository.files.keys() == files.keys()
    adapter = write_adapter(tmp_path / "lora", factors_of(QUERY, (32, 32), 4, 0))
    again = shutil.copytree(adapter, tmp_path / "again")
    assert copied_as(f"path:{adapter}") == copied_as(f"path:{again}") != ""
    assert copied_as(f"random:{base}") == read_as(f"random:{base}") != copied_as(base)
