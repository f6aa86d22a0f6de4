"""Folders are listed with their checkpoints; nothing hidden, elsewhere, or on a shared instance."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.errors import ModelError
from core.models import folders
from core.models.folders import checkpoint_in, list_folders, top_folders


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A top folder with models of every kind, and a folder beside it."""
    for name, files in {
        "plain": ["notes.txt"],
        "Bert": ["config.json", "model.safetensors"],
        "sharded": ["config.json", "model.safetensors.index.json"],
        "old": ["config.json", "pytorch_model.bin"],
        "small": ["tiny.gguf"],
        "lora": ["adapter_config.json", "adapter_model.safetensors"],
        "weights only": ["model.safetensors"],
        "config only": ["config.json"],
        ".cache": ["config.json", "model.safetensors"],
        "../elsewhere": ["config.json", "model.safetensors"],
    }.items():
        folder = tmp_path / "top" / name
        folder.mkdir(parents=True)
        for file in files:
            (folder / file).touch()
    (tmp_path / "top" / "readme.txt").touch()
    return (tmp_path / "top").resolve()


def test_folders_are_listed_with_their_checkpoints(top: Path) -> None:
    listing = list_folders(top, [top])
    assert listing.folders == {
        "Bert": "safetensors",
        "config only": "",
        "lora": "adapter",
        "old": "bin",
        "plain": "",
        "sharded": "safetensors",
        "small": "gguf",
        "weights only": "",
    }
    assert list(listing.folders) == sorted(listing.folders, key=str.casefold)
    assert (listing.folder, listing.checkpoint, listing.above) == (top, "", None)
    assert (listing.outside, listing.more) == (0, False)


def test_a_folder_inside_leads_up_again(top: Path) -> None:
    listing = list_folders(top / "Bert", [top])
    assert (listing.checkpoint, listing.above, listing.folders) == ("safetensors", top, {})
    assert list_folders(top, [top, top.parent]).above == top.parent


def test_links_to_folders_elsewhere_are_counted_and_circles_left_out(top: Path) -> None:
    (top / "inside").symlink_to(top / "Bert")
    (top / "outside").symlink_to(top.parent / "elsewhere")
    (top / "to hidden").symlink_to(top / ".cache")
    (top / "broken").symlink_to(top / "nothing")
    (top / "circle").symlink_to(top / "circle")
    listing = list_folders(top, [top])
    assert listing.folders["inside"] == "safetensors"
    assert not {"outside", "to hidden", "broken", "circle"} & set(listing.folders)
    assert listing.outside == 2
    with pytest.raises(ModelError, match="outside"):
        list_folders(top / "outside", [top])
    with pytest.raises(ModelError, match="circle cannot be listed"):
        list_folders(top / "circle", [top])


@pytest.mark.parametrize("name", ["..", "../elsewhere", ".cache", "Bert/../../elsewhere"])
def test_hidden_folders_and_those_elsewhere_are_refused(top: Path, name: str) -> None:
    with pytest.raises(ModelError, match="is hidden, or lies outside"):
        list_folders(top / name, [top])


@pytest.mark.parametrize(
    ("name", "why"), [("nothing", "No such file"), ("readme.txt", "Not a directory"), ("a\0b", "")]
)
def test_what_cannot_be_listed_says_why(top: Path, name: str, why: str) -> None:
    with pytest.raises(ModelError, match=f"cannot be listed .*{why}"):
        list_folders(top / name, [top])


def test_a_folder_that_may_not_be_read_says_so(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A superuser may read every folder, so the system's answer is made here."""
    scandir = os.scandir

    def refusing(path: Path) -> object:
        if Path(path).name == "plain":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(ModelError, match="Permission denied"):
        list_folders(top / "plain", [top])
    assert checkpoint_in(top / "plain") == ""
    assert list_folders(top, [top]).folders["plain"] == ""


def test_a_listing_is_bounded(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MOST_LISTED", 3)
    listing = list_folders(top, [top])
    assert list(listing.folders) == ["Bert", "config only", "lora"]
    assert listing.more
    monkeypatch.setattr(folders, "MOST_LISTED", 8)
    assert not list_folders(top, [top]).more
    monkeypatch.setattr(folders, "MOST_READ", 2)
    assert list_folders(top, [top]).more
    assert len(list_folders(top, [top]).folders) <= 2


def test_a_shared_instance_lists_nothing(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    with pytest.raises(ModelError, match="shared instance"):
        list_folders(top, [top])


def test_the_tops_are_the_working_folder_and_the_home(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(top)
    monkeypatch.setenv("HOME", str(top.parent))
    monkeypatch.setenv("USERPROFILE", str(top.parent))
    assert top_folders() == (top, top.parent)
    monkeypatch.chdir(top.parent)
    assert top_folders() == (top.parent,)
    assert list_folders(top, top_folders()).folder == top

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert top_folders() == (top.parent,)
