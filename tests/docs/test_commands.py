"""Commands that the documentation shows exist with their flags; every command is documented."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from core.catalogue import STUDIES
from core.commands import main as cli
from core.options import options_of
from tests import ROOT
from tests.docs.blocks import WRITTEN, blocks_of, commands_of

COMMAND_LINE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf8")
EVERYWHERE = {"--out", "--help", "--fresh", "--yes", "--scheduler"}
SHELL = ("sh", "console")


def shown(page: Path, program: str) -> list[list[str]]:
    """What stands behind these words in every command of a page that begins with them."""
    lines = [line for block in blocks_of(page, *SHELL) for line in commands_of(block)]
    shown_first = len(program.split())
    return [shlex.split(line)[shown_first:] for line in lines if line.startswith(program)]


@pytest.mark.parametrize("command", cli.all_commands())
def test_every_command_is_documented(command: str) -> None:
    assert f"python -m core {command}" in COMMAND_LINE


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_every_flag_that_is_shown_exists(page: Path) -> None:
    for words in shown(page, "python -m core"):
        name = " ".join(words[:2]) if " ".join(words[:2]) in STUDIES else words[0]
        assert name in cli.all_commands() or name in cli.COMMANDS, words
        if name in STUDIES:
            names = [option.name.replace("_", "-") for option in options_of(STUDIES[name].Spec)]
            flags = {f"--{prefix}{option}" for option in names for prefix in ("", "no-")}
            assert {word for word in words if word.startswith("--")} <= flags | EVERYWHERE, words


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_every_make_target_that_is_shown_exists(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf8")
    for words in shown(page, "make "):
        assert re.search(rf"^{re.escape(words[0])}:", makefile, flags=re.MULTILINE), words


def test_commands_are_shown_at_all() -> None:
    assert sum(len(shown(page, "python -m core")) for page in WRITTEN) >= len(STUDIES)
    assert sum(len(shown(page, "make ")) for page in WRITTEN) >= 3
