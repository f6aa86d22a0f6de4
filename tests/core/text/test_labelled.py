"""Labelled sentences: what is read, and every refusal a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import CorpusError
from core.text.labelled import read_labelled


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("good film", "line 1: .* 1 columns"),
        ("", "labels.tsv is empty"),
        ("good\tA film.\npositive\t\n", "line 2: the sentence is empty"),
        ("good\tA film.\n \tA film.\n", "line 2: the label is empty"),
    ],
)
def test_bad_labelled_files_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "labels.tsv").write_text(text)
    with pytest.raises(CorpusError, match=reason):
        read_labelled(str(tmp_path / "labels.tsv"))
    with pytest.raises(CorpusError, match=r"missing\.tsv"):
        read_labelled(str(tmp_path / "missing.tsv"))


def test_labelled_lines_are_read(tmp_path: Path) -> None:
    (tmp_path / "labels.tsv").write_text('good\tA "quoted" film.\nbad\tNo.\n')
    assert read_labelled(str(tmp_path / "labels.tsv")) == (
        ('A "quoted" film.', "good"),
        ("No.", "bad"),
    )


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_ends_of_every_system_and_long_sentences_are_read(tmp_path: Path, end: bytes) -> None:
    long = "x" * 200_000
    (tmp_path / "labels.tsv").write_bytes(
        end.join([b"good\tA film.", b"bad\t" + long.encode(), b""])
    )
    assert read_labelled(str(tmp_path / "labels.tsv")) == (("A film.", "good"), (long, "bad"))


def test_labelled_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "labels.tsv").write_bytes(b"good\t\xff\xfe\x00")
    with pytest.raises(CorpusError, match="UTF-8"):
        read_labelled(str(tmp_path / "labels.tsv"))


def test_a_shared_instance_reads_no_file_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "labels.tsv").write_text("good\tA film.\n")
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    with pytest.raises(CorpusError, match="shared instance"):
        read_labelled(str(tmp_path / "labels.tsv"))


@pytest.mark.parametrize("path", ["a\0b", "~nobody-of-this-name/a", "x" * 5_000])
def test_a_path_that_no_file_can_have_is_refused(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mode in ("local", "shared"):
        monkeypatch.setenv("PALIMPSEST_MODE", mode)
        with pytest.raises(CorpusError, match=r"no file|cannot be read|shared instance") as raised:
            read_labelled(path)
        assert len(str(raised.value)) < 300


def test_a_path_may_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "labels.tsv").write_text("good\tA film.\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_labelled("~/labels.tsv") == (("A film.", "good"),)
