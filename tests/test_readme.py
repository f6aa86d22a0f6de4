"""What README promises is run from its own text: the code blocks under "From Python" and "Adding to it"."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from core.commands.main import all_commands
from core.commands.study import STUDIES
from core.results.columns import COLUMNS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf8")


def blocks(heading: str) -> list[str]:
    """The Python blocks of one section."""
    section = re.split(r"^## ", README.partition(f"\n## {heading}\n")[2], flags=re.M)[0]
    return re.findall(r"```python\n(.*?)```", section, flags=re.S)


def example(of: str) -> tuple[str, str]:
    """(module, code) of the example that names a file: `# core/rsa/measures.py`."""
    for code in blocks("Adding to it"):
        first = code.splitlines()[0]
        if of in first:
            return first.removeprefix("# ").removesuffix(".py").replace("/", "."), code
    raise AssertionError(f"README adds nothing to {of}")


def added(of: str, monkeypatch: pytest.MonkeyPatch, registry: str) -> Any:
    """The module with the example executed in it; its registry is restored after the test."""
    name, code = example(of)
    module = importlib.import_module(name)
    monkeypatch.setattr(module, registry, dict(getattr(module, registry)), raising=True)
    known = dict(vars(module))
    original = known[registry]
    space = dict(vars(module))
    exec(compile(code, name, "exec"), space)
    return module, space, original


@pytest.mark.slow
def test_from_python(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks("From Python")
    space: dict[str, Any] = {}
    exec(code, space)
    assert list(space["table"]["layer"]) == list(range(len(space["table"])))
    assert space["chart"].to_dict()["title"]
    assert capsys.readouterr().out.startswith("parse-0 ")


@pytest.mark.parametrize("command", all_commands())
def test_every_command_is_in_the_readme(command: str) -> None:
    assert f"python -m core {command}" in README


def test_every_flag_in_the_readme_exists() -> None:
    from core.options import options_of

    for line in re.findall(r"^python -m core (.*)$", README, flags=re.M):
        words = line.partition("#")[0].split()
        name = " ".join(words[:2]) if " ".join(words[:2]) in STUDIES else words[0]
        if name not in STUDIES:
            continue
        module = importlib.import_module(STUDIES[name][0])
        known = {f"--{option.name.replace('_', '-')}" for option in options_of(module.Spec)} | {"--out", "--help"}
        assert {word for word in words if word.startswith("--")} <= known, line


def test_every_column_has_one_line() -> None:
    assert all(text and "\n" not in text for text in COLUMNS.values())
