"""Members: patterns against the manifest, bases that differ, folders, labels from a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import ModelError, SpecError
from core.studies.notices import base_left_out
from core.studies.weights.clusters.members import Member, find_members, fine_tunes, labels_of
from core.studies.weights.clusters.notice_text import describe_strangers, said
from core.studies.weights.label_tables import match_labels, read_label_table
from tests.core.small_zoo import base_tensors, tuned_tensors, write_model

BASE = "zoo:seed-0"


def refs(members: tuple[Member, ...]) -> list[str]:
    return [member.ref for member in members]


def test_a_pattern_means_the_fine_tunes_of_the_base(zoo: Path) -> None:
    found = find_members(BASE, ["zoo:*-*"])
    assert refs(found.members) == [
        f"zoo:{task}-{run}" for task in ("nli", "pos", "parse") for run in range(3)
    ]
    assert found.members[0] == Member("zoo:nli-0", BASE, "nli", "nli set")
    left_out = "zoo:nli-0-from-seed-1 (zoo:seed-1)"
    assert found.notices == (describe_strangers("zoo:seed-0", left_out),)
    assert left_out in found.notices[0]


def test_another_base_may_be_kept_with_its_own(zoo: Path) -> None:
    found = find_members(BASE, ["zoo:nli-*"], own_bases=True)
    assert found.members[-1] == Member("zoo:nli-0-from-seed-1", "zoo:seed-1", "nli", "nli set")
    assert not found.notices


ALIKE = [f"zoo:{task}-{run}" for task in ("nli", "pos", "parse") for run in range(3)]
OTHERWISE = "zoo:nli-fast, zoo:parse-slow, zoo:parse-frozen-2"


def test_a_pattern_leaves_out_models_with_other_settings(variants: Path) -> None:
    found = find_members(BASE, ["zoo:*-*"])
    assert refs(found.members) == ALIKE
    assert found.notices == (said("variants", models=OTHERWISE),)
    assert OTHERWISE in found.notices[0]
    assert refs(find_members(BASE, ["zoo:parse*"]).members) == ALIKE[-3:]


def test_models_with_other_settings_are_taken_by_name_or_by_a_pattern_of_their_own(
    variants: Path,
) -> None:
    found = find_members(BASE, ["zoo:*-*", "zoo:*-fast"])
    assert refs(found.members) == [*ALIKE, "zoo:nli-fast"]
    assert found.notices[0] == said("variants", models="zoo:parse-slow, zoo:parse-frozen-2")
    fast, slow, frozen = find_members(
        BASE, ["zoo:nli-fast", "zoo:*-slow", "zoo:*-frozen-*"]
    ).members
    assert (fast.dose, slow.dose, frozen.frozen) == (3, pytest.approx(1 / 3), 2)
    assert fast.variant
    assert frozen.variant
    assert not find_members(BASE, ["zoo:nli-0"]).members[0].variant
    assert (fast.recipe, frozen.recipe) == ("rate 0.003, 100 steps", "rate 0.001, 100 steps")


@pytest.mark.parametrize("ref", ["zoo:seed-0@step-50", "zoo:seed-0@*"])
def test_a_step_of_a_seed_is_no_fine_tune(variants: Path, ref: str) -> None:
    with pytest.raises(SpecError, match=r"was pretrained|No included fine-tune matches"):
        find_members(BASE, [ref])
    assert not any("@" in entry["ref"] for entry in fine_tunes())


def test_a_model_is_named_once_whatever_names_it(zoo: Path) -> None:
    assert refs(find_members(BASE, ["zoo:pos-1", "zoo:pos-*"]).members) == [
        "zoo:pos-1",
        "zoo:pos-0",
        "zoo:pos-2",
    ]


def test_folders_are_found_by_pattern_and_labelled_by_name(zoo: Path, tmp_path: Path) -> None:
    for run in range(2):
        write_model(tmp_path / f"qa-{run}", tuned_tensors(base_tensors(), 7, run))
    (tmp_path / "qa-empty").mkdir()
    found = find_members(BASE, [f"path:{tmp_path}/qa-*"])
    assert refs(found.members) == [f"path:{tmp_path}/qa-{run}" for run in range(2)]
    assert {member.label("task", {}) for member in found.members} == {"qa"}


def test_a_model_that_the_manifest_does_not_know_is_taken_at_its_word(zoo: Path) -> None:
    assert find_members(BASE, ["zoo:mine-3"]).members == (Member("zoo:mine-3", BASE, "mine"),)


def test_presets_of_the_hub_know_their_data_set(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    found = find_members(
        "hub:bert-base-uncased", ["hub:textattack/bert-base-uncased-MNLI", "hub:someone/unknown"]
    )
    assert [member.label("data", {}) for member in found.members] == ["MNLI", ""]


@pytest.mark.parametrize(
    ("patterns", "reason"),
    [
        (["zoo:*-from-nowhere"], "No included fine-tune matches"),
        (["zoo:nli-0-from-seed-1"], "is a fine-tune of zoo:seed-0"),
        (["path:/nowhere/*"], "No model matches"),
        (["hub:someone/*"], "one by one"),
        (["zoo:seed-0"], "is the base itself"),
        ([], "no model"),
    ],
)
def test_patterns_that_lead_nowhere_are_refused(
    zoo: Path, patterns: list[str], reason: str
) -> None:
    with pytest.raises(SpecError, match=reason):
        find_members(BASE, patterns)


def test_folders_are_off_on_a_shared_instance(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    with pytest.raises(ModelError, match="shared"):
        find_members(BASE, ["path:/tmp/*"])


def test_labels_come_from_manifest_or_table() -> None:
    member = Member("zoo:nli-0", BASE, "nli", "")
    assert [member.label(by, {}) for by in ("task", "data", "base", "table")] == [
        "nli",
        "nli",
        BASE,
        "",
    ]
    assert member.label("table", {"zoo:nli-0": "x"}) == "x"
    for row in ("zoo:nli-0", "nli-0"):
        matched, strays = match_labels({row: "y", "nli-9": "z"}, [member.ref])
        assert (member.label("table", matched), strays) == ("y", ["nli-9"])


def test_rows_of_a_label_table_name_models_as_the_pages_do() -> None:
    """By the short name, and folders of one name by the folders above them."""
    refs = ["path:/runs/run1", "path:/a/full", "path:/b/full", "hub:org/model", "zoo:nli-0"]
    rows = {"run1": "x", "a/full": "y", "model": "z", "full": "nobody's"}
    matched, strays = match_labels(rows, refs)
    assert [*matched.values()] == ["x", "y", "", "z", ""]
    assert strays == ["full"]
    here = str(Path("runs/run1").resolve())
    assert match_labels({"path:runs/run1": "x"}, [f"path:{here}"]) == ({f"path:{here}": "x"}, [])
    with pytest.raises(SpecError, match=r"two rows for path:/runs/run1 .* as run1"):
        match_labels({"path:/runs/run1": "x", "run1": "y"}, refs)


def test_a_name_that_no_two_models_share_is_no_label(zoo: Path, tmp_path: Path) -> None:
    """A folder's name is a guess: alone it would be a task of its own, which no vote can name."""
    for name in ("mine", "nli-7", "qa-0", "qa-1", "run1", "run2"):
        write_model(tmp_path / name, tuned_tensors(base_tensors(), 7, 0))
    tuned = find_members(BASE, [f"path:{tmp_path}/*"]).members
    every = [*find_members(BASE, ["zoo:*-*"]).members, *tuned]
    labels = labels_of(every, "task", {})[-len(tuned) :]
    assert labels == ["", "nli", "qa", "qa", "", ""]
    assert set(labels_of(tuned, "base", {})) == {BASE}


@pytest.mark.parametrize("own_bases", [False, True])
def test_a_pattern_that_matches_the_base_leaves_it_out(
    zoo: Path, tmp_path: Path, own_bases: bool
) -> None:
    for name, tensors in (("base", base_tensors()), ("mine", tuned_tensors(base_tensors(), 0, 0))):
        write_model(tmp_path / name, tensors)
    base = f"path:{tmp_path}/base"
    found = find_members(base, [f"path:{tmp_path}/*"], own_bases)
    assert refs(found.members) == [f"path:{tmp_path}/mine"]
    assert found.notices == (base_left_out(base),)
    with pytest.raises(SpecError, match=f"None of the chosen models .* is a fine-tune of {base}"):
        find_members(base, [f"path:{tmp_path}/b*"], own_bases)


def test_a_label_table_is_read_by_column() -> None:
    table = read_label_table(
        "\ufeffmodel,genre,size\nzoo:a, news ,big\n\nzoo:b,mail,small\n".encode()
    )
    assert table == {
        "genre": {"zoo:a": "news", "zoo:b": "mail"},
        "size": {"zoo:a": "big", "zoo:b": "small"},
    }
    assert read_label_table(b"name,task,model,\nx,pos,a,0\n")["task"] == {"a": "pos"}
    assert read_label_table(b"kind\tModel\nx\ta\nx\ta\n") == {"kind": {"a": "x"}}
    spellings = "model,kind\na,caf\u00e9\nb,cafe\u0301\n".encode()  # the same to whoever reads it
    assert len(set(read_label_table(spellings)["kind"].values())) == 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_system_are_read(end: str) -> None:
    content = end.join(["model,genre", "zoo:a,news", "zoo:b,mail", ""]).encode()
    assert read_label_table(content) == {"genre": {"zoo:a": "news", "zoo:b": "mail"}}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xff\xfe\x00", "UTF-8"),
        (b"model,label\n", "a column named model and at least"),
        (b"", "a column named model and at least"),
        (b"model;label\na;b\n", "by semicolons; separate them by commas or tabs"),
        (b"model\na\n", "a column named model and at least"),
        (b"name of it,label\na,b\n", "no column named model"),
        (b"model,label\na,b,c\n", "Line 2 .* 3 cells"),
        (b"model,label\n" + b"a,b\n" * 10_001, "10,000 are allowed"),
        (b"model,label\na,b\na," + b"x" * 131_073 + b"\n", "Line 3 "),
        (b"model,\na,b\n", "no names"),
        (
            b"model,label\na,b\nc,d\na,e\n",
            "two rows for a with different labels, again in line 4; keep one",
        ),
        (b"model,task,task\na,b,c\n", "Line 1 .* the column task twice"),
        (b"\nmodel,task, Task\na,b,b\n", "Line 2 .* the column task twice"),
        (b"model,task,Model\na,b,c\n", "the column model twice"),
        (b"model,label\n\n\na,b,c\n", "Line 4 .* 3 cells"),
        (
            b"model,label\nzoo:a,b\na,c\n",
            "two rows for zoo:a with different labels, as zoo:a and as a",
        ),
        (
            b"model,label\na,c\nzoo:a,b\n",
            "two rows for zoo:a with different labels, as zoo:a and as a",
        ),
    ],
)
def test_a_table_that_cannot_be_read_says_why(content: bytes, reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        read_label_table(content)


def test_a_folder_may_be_a_copy_of_the_base_that_others_name() -> None:
    notice = describe_strangers("path:base", "zoo:minilm-nli-0 (hub:org/minilm)")
    assert "--base" in notice
    assert "--base" not in describe_strangers("zoo:seed-0", "zoo:minilm-nli-0 (hub:org/minilm)")
