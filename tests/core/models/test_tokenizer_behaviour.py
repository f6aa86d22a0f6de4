"""Tokenizers are compared by what they do: what training leaves in their files changes nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from core.catalogue import STUDIES
from core.errors import ModelError
from core.models import tokenizer_fingerprint, zoo_folder
from core.models.identity import check_tokenizers, tokenizer_behaviour
from core.runs.store import Store, using

SEED = "zoo:seed-0"


def copied(folder: Path, name: str = "sentiment-0", **changes: Any) -> str:
    """A copy of an included model whose tokenizer.json is changed."""
    shutil.copytree(zoo_folder() / "models" / name, folder)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf8")) | changes), "utf8")
    return f"path:{folder}"


def as_training_leaves_it(folder: Path, longest: int = 128) -> str:
    return copied(
        folder,
        truncation={
            "direction": "Right",
            "max_length": longest,
            "strategy": "LongestFirst",
            "stride": 0,
        },
        padding={
            "strategy": {"Fixed": longest},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "[PAD]",
        },
    )


@pytest.fixture(autouse=True)
def store(tmp_path: Path) -> Any:
    with using(Store(tmp_path / "store")) as store:
        yield store


def test_how_texts_are_cut_off_and_padded_and_an_added_special_token_change_nothing(
    tmp_path: Path,
) -> None:
    trained = as_training_leaves_it(tmp_path / "checkpoint-300")
    added = json.loads((zoo_folder() / "models/seed-0/tokenizer.json").read_text("utf8"))
    last = max(added["model"]["vocab"].values())
    more = {**added["added_tokens"][0], "id": last + 1, "content": "[MORE]"}
    padded = copied(tmp_path / "padded", added_tokens=[*added["added_tokens"], more])
    assert len({tokenizer_fingerprint(ref) for ref in (SEED, trained, padded)}) == 3
    refs = (SEED, trained, padded)
    assert len({tokenizer_behaviour(ref, refs) for ref in refs}) == 1


def test_equal_files_are_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.models.identity.load_tokenizer", lambda ref: pytest.fail("run"))
    check_tokenizers(SEED, "zoo:sentiment-0", "nothing")


@pytest.mark.parametrize("part", ["normalizer", "post_processor", "added_tokens", "vocabulary"])
def test_what_changes_a_subword_is_another_tokenizer(tmp_path: Path, part: str) -> None:
    content = json.loads((zoo_folder() / "models/seed-0/tokenizer.json").read_text("utf8"))
    last = max(content["model"]["vocab"].values())
    word = {**content["added_tokens"][0], "id": last + 1, "content": "qwxz", "special": False}
    names = list(content["model"]["vocab"])
    swapped = {**content["model"]["vocab"], names[-1]: last - 1, names[-2]: last}
    changes = {
        "normalizer": {"normalizer": None},
        "post_processor": {"post_processor": None},
        "added_tokens": {"added_tokens": [*content["added_tokens"], word]},
        "vocabulary": {"model": {**content["model"], "vocab": swapped}},
    }
    other = copied(tmp_path / "other", **changes[part])
    with pytest.raises(ModelError, match=r"different subwords, so nothing: choose"):
        check_tokenizers(SEED, other, "nothing")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["align attention", "align stitch"])
def test_models_with_other_tokenizers_are_refused_before_anything_is_computed(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = STUDIES[name]
    trained = as_training_leaves_it(tmp_path / "checkpoint-300")
    other = copied(tmp_path / "other", normalizer=None)
    more = copied(
        tmp_path / "more", "parse-0", normalizer={"type": "Lowercase"}, pre_tokenizer=None
    )

    def planned(*models: str) -> tuple[list[Any], Any]:
        spec = study.Spec(models=models, sentences=20)
        ready = study.perform(spec, study.prepare(spec))
        return [task.role for task in study.plan(spec, ready)], (spec, ready)

    roles, _ = planned("zoo:sentiment-0", trained)
    assert ("zoo:sentiment-0", trained) in roles
    assert (trained, "zoo:sentiment-0") in roles
    roles, (spec, ready) = planned("zoo:sentiment-0", trained, other)
    assert not [role for role in roles if other in role]
    result = study.result(spec, ready, study.perform(spec, []))
    assert sum(other in notice for notice in result.notices) == 2
    with pytest.raises(ModelError, match="different subwords"):
        planned("zoo:sentiment-0", other, more)
