"""Sets of public models: every study takes them, their cost is that of their files, and names of
checkpoints say steps and tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.catalogue import STUDIES
from core.commands.main import main
from core.models.hub import collections
from core.models.hub.collections import COLLECTIONS, collections_for, public_refs
from core.models.steps import progress_of

PAIRS = [(each, study) for each in COLLECTIONS for study in each.values]


@pytest.mark.parametrize(("collection", "study"), PAIRS)
def test_a_study_takes_them(collection, study: str) -> None:
    spec = STUDIES[study].Spec(**collection.values[study])
    named = {
        ref
        for value in vars(spec).values()
        for ref in (value if isinstance(value, tuple) else (value,))
        if str(ref).startswith("hub:")
    }
    assert named <= set(collection.models)
    assert len(named) > 1


@pytest.mark.parametrize(
    ("record", "name"),
    [
        ('[[presets]]\nrefs = ["hub:a"]\nlicence = "MIT"', "licence"),
        ('[[collections]]\nname = "a"\nabout = "A."\nmodels = []\n[collections.values]', "title"),
    ],
)
def test_a_record_that_is_none_is_named(
    record: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = "\npresets = []" if "presets" not in record else "\ncollections = []"
    (tmp_path / "public.toml").write_text(f"{more}\n{record}\n", encoding="utf8")
    monkeypatch.setattr(collections, "FILE", tmp_path / "public.toml")
    with pytest.raises(TypeError, match=name):
        collections._read()


def test_what_they_cost() -> None:
    multiberts = COLLECTIONS[0]
    assert multiberts.download == pytest.approx(25 * 0.44)
    assert "25 models of 110 million parameters, 11 GB to download." in multiberts.sentence
    for collection in COLLECTIONS:
        assert len(collection.models) == len(set(collection.models))
        assert set(collection.models) <= set(public_refs())


def test_checkpoints_of_a_run_say_their_steps_and_tokens() -> None:
    for collection in collections_for("training"):
        spec = STUDIES["training"].Spec(**collection.values["training"])
        steps = [progress_of(ref)[0] for ref in spec.checkpoints]
        assert steps == sorted(set(steps))
    tokens = [progress_of(ref)[1] for ref in spec.checkpoints]
    assert tokens[0] == 21 * 10**9
    assert tokens[-1] == 2098 * 10**9


def test_a_pattern_stands_for_public_models() -> None:
    spec = STUDIES["align"].Spec(models=("hub:EleutherAI/pythia-160m-seed*",))
    assert len(spec.models) == 9


def test_the_command_line_lists_them_with_their_commands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["zoo", "public"]) == 0
    said = capsys.readouterr().out
    for collection in COLLECTIONS:
        assert f"{collection.title}: {collection.sentence}" in said
        assert said.count(" align ") == len(collections_for("align"))
