"""The one string that names a model."""

from __future__ import annotations

import pytest

from core.errors import ModelError
from core.models.references import ModelRef, parse_ref


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("zoo:seed-0", ModelRef("zoo", "seed-0")),
        ("zoo:seed-0@step-1000", ModelRef("zoo", "seed-0@step-1000")),
        (" hub:bert-base-uncased ", ModelRef("hub", "bert-base-uncased")),
        ("hub:google/multiberts-seed_0", ModelRef("hub", "google/multiberts-seed_0")),
        ("hub:org/name@refs/pr/1", ModelRef("hub", "org/name", "refs/pr/1")),
        ("random:hub:org/name@abc", ModelRef("hub", "org/name", "abc", random=True)),
        ("random:zoo:seed-0", ModelRef("zoo", "seed-0", random=True)),
        ("path:/some/dir", ModelRef("path", "/some/dir")),
    ],
)
def test_references_are_read_and_written_the_same(text: str, parsed: ModelRef) -> None:
    assert parse_ref(text) == parsed
    assert str(parsed) == text.strip()
    assert parse_ref(parsed) is parsed
    assert parse_ref(str(parsed)) == parsed


def test_a_relative_folder_becomes_absolute(monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_ref("path:copy") == ModelRef("path", str(tmp_path / "copy"))
    assert str(parse_ref("path:./copy/../copy")) == f"path:{tmp_path / 'copy'}"


@pytest.mark.parametrize(
    "text",
    ["", "seed-0", "bert-base-uncased", "zoo:", "zoo: ", "zoo:../x", "zoo:a/b", "zoo:..", "zoo:.hidden", "hub:a/b/c",
     "hub:../../etc", "hub:a@", "hub:a@../x", "hub:a@x/../y", "hub:a b", "file:/x", "random:", "random:seed-0",
     "zoo:a\nb", "hub:a@b@c", "path:"],
)  # fmt: skip
def test_nonsense_is_refused_with_the_forms_that_are_not(text: str) -> None:
    with pytest.raises(ModelError, match="is not a model reference: write zoo:seed-0, hub:"):
        parse_ref(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [("runs/minilm", "write path:runs/minilm."), ("random:minilm", "write path:minilm.")],
)
def test_a_plain_name_is_refused_with_the_form_that_a_folder_has(text: str, said: str) -> None:
    with pytest.raises(ModelError, match=rf" If it is a folder, {said}$"):
        parse_ref(text)


@pytest.mark.parametrize("text", ["", "zoo:", "a\nb", "a" * 101])
def test_what_cannot_be_a_folder_s_name_is_not_called_one(text: str) -> None:
    with pytest.raises(ModelError, match=r"random:zoo:seed-0\.$"):
        parse_ref(text)


def test_a_folder_whose_name_is_not_utf8_is_refused() -> None:
    with pytest.raises(ModelError, match="not UTF-8, in which results name their models"):
        parse_ref("path:/tmp/caf\udce9")


def test_random_twice_is_refused() -> None:
    with pytest.raises(ModelError, match="write random: once"):
        parse_ref("random:random:zoo:seed-0")


@pytest.mark.parametrize("text", ["path:/some/dir", "random:path:/some/dir"])
def test_folders_are_off_when_shared(monkeypatch, text) -> None:
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    with pytest.raises(ModelError, match=r"shared instance reads no folders .*\(path:\)"):
        parse_ref(text)
