"""What README promises is run from its own text: the code blocks under "From Python" and "Adding to it"."""

from __future__ import annotations

import argparse
import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.catalogue import STUDIES
from core.commands.main import all_commands
from core.errors import SpecError
from core.results.columns import COLUMNS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf8")


def blocks(heading: str) -> list[str]:
    """The Python blocks of one section."""
    section = re.split(r"^## ", README.partition(f"\n## {heading}\n")[2], flags=re.M)[0]
    return re.findall(r"```python\n(.*?)```", section, flags=re.S)


def example(of: str) -> tuple[str, str]:
    """(module, code) of the example that names a file: `# core/rsa/measures/registry.py`."""
    for code in blocks("Adding to it"):
        first = code.splitlines()[0]
        if of in first:
            return first.removeprefix("# ").removesuffix(".py").replace("/", "."), code
    raise AssertionError(f"README adds nothing to {of}")


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], dict[str, Any]]:
    """Executes an example as if it stood at the end of the file that it names; the registry is restored afterwards."""

    def execute(of: str, registry: str = "") -> dict[str, Any]:
        name, code = example(of)
        module = importlib.import_module(name)
        space = dict(vars(module))
        if registry:
            known = getattr(module, registry)
            before = dict(known)
            exec(compile(code, name, "exec"), space)
            added = {key: known.pop(key) for key in set(known) - set(before)}
            assert added, "the example adds nothing"
            for key, value in added.items():
                monkeypatch.setitem(known, key, value)
        else:
            space["__name__"] = name
            exec(compile(code, name, "exec"), space)
        return space

    return execute


@pytest.mark.slow
def test_a_measure(add: Callable[..., dict[str, Any]]) -> None:
    from core.rsa.layers.spec import RsaSpec
    from core.rsa.layers.study import STUDY, figures

    add("measures", "MEASURES")
    spec = RsaSpec(compare=("zoo:parse-0",), measure="signs", sentences=40, words=100, draws=20, references=False)
    result = STUDY.run(spec)
    assert not result.failures
    table = result.table
    assert table["similarity"].iloc[0] > table["similarity"].iloc[-1]
    assert (table["low"] <= table["similarity"]).all()
    assert (table["null_high"] < table["similarity"]).all()
    assert "sign agreement" in result.headline
    assert figures(result)["similarity"].to_dict()


@pytest.mark.slow
def test_a_weight_vector(add: Callable[..., dict[str, Any]]) -> None:
    from core.weights.clusters.spec import WeightsSpec
    from core.weights.clusters.study import STUDY

    add("vectors", "VECTORS")
    refs = tuple(f"zoo:{task}-{run}" for task in ("parse", "nli") for run in (0, 1))
    result = STUDY.run(WeightsSpec(models=refs, vector="stable-rank", permutations=100))
    assert "stable-rank" in result.tables["distances"].columns
    assert (result.tables["distances"]["stable-rank"] >= 0).all()


@pytest.mark.slow
def test_an_aligner(add: Callable[..., dict[str, Any]]) -> None:
    from core.alignment.seeds.charts import figures
    from core.alignment.seeds.spec import AlignSpec
    from core.alignment.seeds.study import STUDY

    add("registry", "METHODS")
    result = STUDY.run(AlignSpec(methods=("mean", "ols"), sentences=60, layers=(0, 2)))
    assert not result.failures
    methods = result.tables["methods"].set_index("method")["nmse"]
    assert methods.loc["mean"].min() > methods.loc["ols"].min()
    assert any("#777777" in json.dumps(chart.to_dict()) for chart in figures(result).values())


def test_an_option(add: Callable[..., dict[str, Any]]) -> None:
    from core.commands.study import add_flag
    from core.options import options_of

    spec = add("spec")["LowercaseSpec"]
    option = next(option for option in options_of(spec) if option.name == "lowercase")
    parser = argparse.ArgumentParser()
    add_flag(parser, option)
    assert parser.parse_args(["--lowercase"]).lowercase is True
    assert spec(lowercase=True).changed() == {"lowercase": True}
    with pytest.raises(SpecError, match="lowercase takes true or false, not perhaps"):
        option.read(["perhaps"])


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
        flags = {f"--{option.name.replace(chr(95), chr(45))}" for option in options_of(STUDIES[name].Spec)}
        known = flags | {"--out", "--help"}
        assert {word for word in words if word.startswith("--")} <= known, line


def test_every_column_has_one_line() -> None:
    assert all(text and "\n" not in text for text in COLUMNS.values())
