"""Hostile data sets, read by the process that is meant for them: refused or cancelled soon, and
memory stays small."""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.errors import CancelledError, CorpusError
from core.runs.process import isolation as apart
from core.text import datasets as hub_text
from core.text.corpora import left_out_notice, read_corpus
from core.text.datasets import HubText, read_rows, rows_apart, stream_rows, usable_rows
from tests.cases import exhaustive

PROGRAM = """
import sys
from core.text.datasets import HubText, read_rows
print(*read_rows(HubText(sys.argv[1])), "torch" in sys.modules)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data set in a folder, which the reader takes for one of the hub."""
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def write(path: Path, part: bytes, times: int) -> None:
    """A gzip file of many megabytes, quickly: the same member again and again."""
    path.write_bytes(gzip.compress(part, 1) * times)


@pytest.mark.slow
@pytest.mark.parametrize("mode", exhaustive(["local", "shared"], "shared"))
def test_rows_come_as_they_are(folder: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In shared mode too, where the process that reads them may take less memory."""
    monkeypatch.setenv("PALIMPSEST_MODE", mode)
    rows: list[Any] = [
        {"text": "one\ntwo"},
        {"text": ""},
        {"text": None},
        {"text": "שלום \u2028 x"},
    ]
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = list(rows_apart(HubText(str(folder))))
    assert found == ["one\ntwo", "", None, "שלום \u2028 x"]
    assert list(usable_rows(HubText(str(folder)), found)) == ["one\ntwo", "שלום \u2028 x"]
    words = [{"words": ["a", " ", "b"]}, {"words": []}]
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in words))
    assert list(stream_rows(HubText(str(folder), column="words"))) == [("a", "b")]


@pytest.mark.parametrize(
    ("mode", "memory"), [("local", hub_text.MEMORY), ("shared", hub_text.MEMORY_SHARED)]
)
def test_a_shared_instance_gives_less_memory(
    mode: str, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []

    class Process(apart.Apart):
        def __init__(self, module: str, memory: int, **environment: str) -> None:
            given.append((memory, environment))
            super().__init__("core.nowhere", memory)

    monkeypatch.setenv("PALIMPSEST_MODE", mode)
    monkeypatch.setattr(hub_text, "Apart", Process)
    with pytest.raises(CorpusError):
        list(rows_apart(HubText("org/any")))
    assert given == [(memory, {"USE_TORCH": "0"})]


@pytest.mark.slow
def test_rows_are_read_without_torch_whose_build_for_gpus_has_no_room(folder: Path) -> None:
    (folder / "train.jsonl").write_text('{"text": "a"}\n')
    loaded = {
        use: subprocess.run(
            [sys.executable, "-c", PROGRAM, str(folder)],
            env=os.environ | {"USE_TORCH": use}, capture_output=True, text=True, check=True,
        ).stdout.split()
        for use in ("0", "AUTO")
    }  # fmt: skip
    assert loaded == {"0": ["a", "False"], "AUTO": ["a", "True"]}


@pytest.mark.exhaustive
@pytest.mark.slow
def test_nothing_but_line_ends_is_refused_soon(folder: Path) -> None:
    write(folder / "train.txt.gz", b"\n" * 2**20, 100)
    with pytest.raises(CorpusError, match="100,000 rows"):
        list(stream_rows(HubText(str(folder))))


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_line_without_end_takes_no_memory_here_and_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder / "train.txt.gz", b"x" * 2**20, 1_500)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CorpusError, match=r"memory|too long"):
        list(stream_rows(HubText(str(folder))))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


@pytest.mark.slow
def test_reading_is_cancelled_at_the_next_tick_and_the_reader_is_gone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder / "train.txt.gz", b"x" * 2**20, 500)
    ticks: list[float] = []
    readers: list[Any] = []
    start = apart.subprocess.Popen

    def popen(*arguments: Any, **named: Any) -> Any:
        readers.append(start(*arguments, **named))
        return readers[-1]

    def tick(fraction: float, note: str = "") -> None:
        ticks.append(fraction)
        if len(ticks) > 5:
            raise CancelledError

    monkeypatch.setattr(apart.subprocess, "Popen", popen)
    monkeypatch.setattr("core.maths.progress.tick", tick)
    with pytest.raises(CancelledError):
        list(stream_rows(HubText(str(folder))))
    assert len(ticks) == 6, "nothing more is read"
    assert readers[0].poll() is not None


@pytest.mark.slow
def test_a_data_set_that_says_nothing_has_a_deadline(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder / "train.txt.gz", b"x" * 2**20, 500)
    monkeypatch.setattr(hub_text, "SILENCE", 0.5)
    with pytest.raises(CorpusError, match="too long"):
        list(stream_rows(HubText(str(folder))))


def write_card(folder: Path, place: str) -> HubText:
    """A data set whose card takes its one split from `place`."""
    (folder / "train.txt").write_text("fine\n")
    card = {
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": place}]}]
    }
    (folder / "README.md").write_text(f"---\n{json.dumps(card)}\n---\n")
    return HubText(str(folder))


@pytest.mark.parametrize(
    "place", ["http://127.0.0.1:9/x.txt", "file:///etc/passwd", "../../secret.txt"]
)
def test_a_card_that_names_files_elsewhere_is_refused(
    folder: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datasets import data_files

    source = write_card(folder, place)
    monkeypatch.setattr(
        data_files, "resolve_pattern", data_files.resolve_pattern
    )  # which the guard replaces
    hub_text.guard_card(source.name)
    with pytest.raises(CorpusError, match="card of"):
        list(read_rows(source))


@pytest.mark.slow
def test_the_process_that_reads_has_the_guard(folder: Path) -> None:
    with pytest.raises(CorpusError, match="card of"):
        list(stream_rows(write_card(folder, "/etc/passwd")))


def test_rows_and_characters_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_text, "MOST_ROWS", 5)
    assert list(usable_rows(HubText("a/b"), iter(["x"] * 99))) == ["x"] * 5
    monkeypatch.setattr(hub_text, "MOST_CHARACTERS", 10)
    assert list(usable_rows(HubText("a/b"), iter(["xxx", ("yy", "y"), None, "zzz", "zzz"]))) == [
        "xxx",
        ("yy", "y"),
        "zzz",
    ]


def test_what_would_hold_the_tokenizer_is_left_out_of_a_data_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        hub_text, "rows_apart", lambda source: iter(["Fine.\n" + "(" * 9_000, "Go on.", ")" * 501])
    )
    corpus = read_corpus("hub:a/b")
    assert corpus.words == (("Fine", "."), ("Go", "on", "."))
    assert corpus.notices == (
        left_out_notice("Lines of a/b that are too long or have no spaces", 2),
    )
    monkeypatch.setattr(hub_text, "rows_apart", lambda source: iter([("a", "b"), ("x" * 501,)]))
    corpus = read_corpus("hub:a/b")
    assert corpus.words == (("a", "b"),)
    assert (
        left_out_notice("Rows of a/b with a word of more than 500 characters", 1) in corpus.notices
    )
