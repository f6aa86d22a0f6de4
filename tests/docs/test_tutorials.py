"""Tutorials are run as they stand, offline: shell through the commands, Python in one namespace.

Blocks marked `console` start servers or need a network; `test_commands` looks at what they name.
"""

from __future__ import annotations

import re
import shlex
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from core.commands.main import main
from core.maths.similarity.registry import MEASURES
from tests import ROOT
from tests.cases import exhaustive
from tests.docs.blocks import Block, blocks_of, commands_of
from ui.lessons import LESSONS

TUTORIALS = ROOT / "docs" / "tutorials"
RUN = (
    *(TUTORIALS / f"{name}.md" for name in ("your-checkpoints", "your-text", "paper-figure")),
    *(TUTORIALS / f"{name}.md" for name in ("classroom", "new-measure", "sweep")),
    ROOT / "docs" / "quick-start.md",
    ROOT / "README.md",
)
FIRST = [page for page in RUN if page.stem in ("README",)]
MADE = {
    "your-checkpoints": ("base/config.json", "out/rsa/figure.svg", "out/intruders/result.json"),
    "your-text": ("out/essay/table.csv", "out/passage/figure.svg"),
    "paper-figure": (
        "similarity.pdf",
        "similarity.png",
        "caption.txt",
        "references.bib",
        "similarity/result.json",
    ),
    "classroom": ("out/before/result.json", "out/homework/result.json"),
    "new-measure": (),
    "sweep": ("out/measures/results.parquet", "out/measures/sweep.json"),
    "quick-start": ("out/rsa/result.json",),
    "README": ("out/rsa/result.json",),
}
"""What a reader has after each of them, beside what is printed."""


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One store for all tutorials, of which several have the same study."""
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def folder(shared_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the included models, as in a clone; no other computer is reached."""
    monkeypatch.setenv("PALIMPSEST_STORE", str(shared_store))
    (tmp_path / "zoo").symlink_to(ROOT / "zoo")
    monkeypatch.chdir(tmp_path)
    connect = socket.socket.connect

    def local_only(self: socket.socket, address: Any) -> None:
        streams = self.type == socket.SOCK_STREAM  # Dask asks a datagram socket for its own address
        host = address[0] if streams and isinstance(address, tuple) else "localhost"
        assert host in ("localhost", "127.0.0.1", "::1"), f"a tutorial reaches for {host}"
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", local_only)
    return tmp_path


def run_block(block: Block, space: dict[str, Any]) -> None:
    """Run a block as a reader would."""
    if block.language == "python":
        exec(compile(block.code, "tutorial", "exec"), space)
    elif block.language == "sh":
        for line in commands_of(block):
            run_command(shlex.split(line))
    elif block.title:
        Path(block.title).write_text(block.code, encoding="utf8")


def run_command(words: list[str]) -> None:
    """Run one command of a shell: ours, or a copy of a folder."""
    if words[:2] == ["cp", "-r"]:
        shutil.copytree(*words[2:])
        return
    assert words[:3] == ["python", "-m", "core"], f"{words[0]}: mark the block `console`"
    assert main(words[3:]) == 0, words


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", exhaustive(RUN, *FIRST), ids=lambda page: page.stem)
def test_a_tutorial_runs(page: Path, folder: Path) -> None:
    before = dict(MEASURES)
    blocks = blocks_of(page)
    assert any(block.language in ("sh", "python") for block in blocks)
    space: dict[str, Any] = {"__name__": "tutorial"}
    try:
        for block in blocks:
            run_block(block, space)
    finally:
        for name in set(MEASURES) - set(before):
            del MEASURES[name]
    assert [name for name in MADE[page.stem] if not (folder / name).is_file()] == []


def test_every_tutorial_is_run_and_listed() -> None:
    written = {path.stem for path in TUTORIALS.glob("*.md")} - {"index", "notebooks"}
    assert written <= {path.stem for path in RUN}
    index = (TUTORIALS / "index.md").read_text(encoding="utf8")
    assert all(f"]({name}.md)" in index for name in written)


@pytest.mark.slow
def test_a_command_that_fails_fails_the_tutorial(folder: Path) -> None:
    with pytest.raises(AssertionError):
        run_block(Block("sh", "", "python -m core rsa --base zoo:nothing --out out/x"), {})
    with pytest.raises(AssertionError, match="console"):
        run_block(Block("sh", "", "curl example.org"), {})


def test_the_classroom_s_minutes_are_those_of_the_lessons() -> None:
    rows = re.findall(
        r"^\| (\d+) \| ([^|]+) \|",
        (TUTORIALS / "classroom.md").read_text(encoding="utf8"),
        flags=re.M,
    )
    planned = {page.strip(): int(minutes) for minutes, page in rows}
    assert sum(int(minutes) for minutes, _ in rows) == 90
    assert sorted(minutes for page, minutes in planned.items() if page != "all") == sorted(
        lesson.minutes for lesson in LESSONS.values()
    )
