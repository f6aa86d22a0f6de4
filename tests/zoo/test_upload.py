"""Folders for the Hub: cards with heads that our own listing reads, adapters that find their base."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from core.errors import RecipeError
from core.models import describe, load_model
from core.models.hub.listing import list_fine_tunes
from core.models.weights.origins import base_of
from core.models.zoo import read_adapters, read_manifest, zoo_folder
from tests.core.tree_server import TreeServer
from zoo.recipe.cards import card
from zoo.recipe.heads import address, head, hub_name, owner
from zoo.recipe.upload import main, write_uploads

pytestmark = pytest.mark.skipif(not read_manifest(), reason="the box has no models yet: make zoo")

NAMES = ("seed-0", "seed-0@step-800", "nli-0", "question-0", "sentiment-0-lora-8", "review-0")
SEED = "someone/palimpsest-seed-0"
ADAPTER = "someone/palimpsest-sentiment-0-lora-8"
EVERYTHING = {entry["name"]: entry for entry in (*read_manifest(), *read_adapters())}


def head_of(text: str) -> dict[str, Any]:
    """The head of a card."""
    before, fields, _ = text.split("---\n", 2)
    assert before == ""
    return dict(yaml.safe_load(fields))


def tags_of(fields: dict[str, Any]) -> list[str]:
    """The tags that the Hub makes of a head."""
    base, relation = fields.get("base_model"), fields.get("base_model_relation")
    return [
        *fields["tags"],
        *(f"license:{name}" for name in fields["license"]),
        *(f"dataset:{name}" for name in fields["datasets"]),
        *([f"base_model:{base}", f"base_model:{relation}:{base}"] if base else []),
    ]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Some models as they are sent to the Hub."""
    out = tmp_path_factory.mktemp("hub")
    return write_uploads(out, "someone", [EVERYTHING[name] for name in NAMES])


@pytest.fixture
def hub(folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A stand-in that has them."""
    with TreeServer() as server:
        server.replace_hub(monkeypatch, tmp_path / "cache", timeout=2.0)
        for folder in folders:
            fields = head_of((folder / "README.md").read_text(encoding="utf8"))
            extra = {"tags": tags_of(fields), "cardData": fields}
            server.add(f"someone/{folder.name}", folder, extra=extra)
        monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "store"))
        yield


def test_our_listing_reads_what_the_heads_say(hub: None) -> None:
    tuned = {model.ref: model for model in list_fine_tunes(SEED)}
    assert set(tuned) == {"hub:someone/palimpsest-nli-0", "hub:someone/palimpsest-question-0"}
    inference, question = tuned.values()
    assert (inference.label, inference.label_from) == ("sick", "card")
    shared = "cc-by-4.0 + cc-by-nc-sa-3.0 + cc-by-sa-3.0 + cc-by-sa-4.0"
    assert inference.licence == shared
    assert question.licence == "cc-by-4.0 + cc-by-sa-3.0 + cc-by-sa-4.0 + other"
    (adapter,) = list_fine_tunes(SEED, adapters=True)
    assert (adapter.ref, adapter.label, adapter.safe) == (f"hub:{ADAPTER}", "rotten_tomatoes", True)


def test_an_adapter_that_was_sent_is_the_included_one(hub: None) -> None:
    assert base_of(f"hub:{ADAPTER}") == f"hub:{SEED}"
    assert describe(f"hub:{ADAPTER}").layers == 6
    sent, included = (
        load_model(ref, device="cpu").model.state_dict()
        for ref in (f"hub:{ADAPTER}", "zoo:sentiment-0-lora-8")
    )
    assert sent.keys() == included.keys()
    assert all(torch.equal(sent[name], included[name]) for name in sent)


def test_a_folder_for_the_hub_is_the_included_one_but_for_names(folders: list[Path]) -> None:
    assert [folder.name for folder in folders][1] == "palimpsest-seed-0-step-800"
    for name, folder in zip(NAMES, folders, strict=True):
        source = zoo_folder() / "models" / name
        files = {path.name for path in source.iterdir()}
        assert {path.name for path in folder.iterdir()} == files
        for file in files - {"README.md", "adapter_config.json"}:
            assert (folder / file).read_bytes() == (source / file).read_bytes()
    for folder, task in ((folders[4], "SEQ_CLS"), (folders[5], "CAUSAL_LM")):
        config = json.loads((folder / "adapter_config.json").read_text(encoding="utf8"))
        base = head_of((folder / "README.md").read_text(encoding="utf8"))["base_model"]
        assert (config["base_model_name_or_path"], config["task_type"]) == (base, task)
        assert f"`{base}`" in (folder / "README.md").read_text(encoding="utf8").split("---\n")[2]


@pytest.mark.parametrize("name", sorted(EVERYTHING))
def test_the_committed_card_is_the_one_that_the_recipe_writes(name: str) -> None:
    entry = EVERYTHING[name]
    kind, _, base_name = str(entry["base"] or "").partition(":")
    base = EVERYTHING[base_name] if kind == "zoo" else None
    text = (zoo_folder() / "models" / name / "README.md").read_text(encoding="utf8")
    assert text == card(entry, base, owner())
    fields = head_of(text)
    there = {"": None, "zoo": base and hub_name(base["name"], owner()), "hub": base_name}
    assert fields.get("base_model") == there[kind]
    assert address().startswith(f"https://github.com/{owner()}/")


def test_data_and_licences_that_the_hub_does_not_know_are_not_made_up() -> None:
    entry = {**EVERYTHING["seed-0"], "data": "novels", "licence": "that of the text"}
    fields = head_of(head(entry, None, "someone"))
    assert fields["license"] == ["other"]
    assert not {"datasets", "base_model", "base_model_relation"} & set(fields)


def test_an_adapter_of_a_model_on_the_hub_goes_on_naming_it(tmp_path: Path) -> None:
    (folder,) = write_uploads(tmp_path, "someone", [EVERYTHING["minilm-nli-0"]])
    config = json.loads((folder / "adapter_config.json").read_text(encoding="utf8"))
    base = "sentence-transformers/all-MiniLM-L6-v2"
    assert (config["base_model_name_or_path"], config["task_type"]) == (base, "SEQ_CLS")


@pytest.mark.parametrize("name", ["", "-a", "a/b", "a--b", "../up", "a" * 97])
def test_an_owner_that_the_hub_would_not_take_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="no name of a user"):
        write_uploads(tmp_path / "out", name)
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_written_or_is_not_there_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RecipeError, match="could not be written"):
        write_uploads(tmp_path / "file", "someone", [EVERYTHING["seed-0"]])
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path))
    assert main(["someone", "--out", str(tmp_path / "out")]) == 2
    assert "lists no model" in capsys.readouterr().err


def test_the_command_says_how_folders_are_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = read_adapters()[0]
    shutil.copytree(zoo_folder() / "models" / entry["name"], tmp_path / "models" / entry["name"])
    manifest = {"format": 1, "models": [], "adapters": [entry]}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf8")
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path))
    out = tmp_path / "out"
    assert main(["someone", "--out", str(out)]) == 0
    folder = f"palimpsest-{entry['name']}"
    assert f"hf upload someone/{folder} {out / folder}" in capsys.readouterr().out
