"""The examples of `docs/extending.md`, and the Python of the quick start, are run as they stand."""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.catalogue import STUDIES
from core.commands.main import all_commands, main
from core.commands.prices import check_price
from core.errors import SpecError
from core.results.columns import COLUMNS, read_columns
from core.results.report import report_html
from core.runs import tasks
from core.vectors.activations import extract
from tests import ROOT
from tests.docs.blocks import blocks_of
from ui.archive.making import command_of

PAGE = ROOT / "docs" / "extending.md"


def example(file: str) -> str:
    """The example that begins with this file's name, as in `# core/maths/similarity/registry.py`."""
    for block in blocks_of(PAGE, "python", "toml"):
        if block.code.startswith(f"# {file}\n"):
            return block.code
    raise AssertionError(f"{PAGE.name} adds nothing to {file}")


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], dict[str, Any]]:
    """Executes an example as if it stood at the end of its file; restores the registry
    afterwards."""

    def execute(file: str, registry: str = "") -> dict[str, Any]:
        code, name = example(file), file.removesuffix(".py").replace("/", ".")
        module = importlib.import_module(name)
        space = dict(vars(module))
        if registry:
            entries = getattr(module, registry)
            before = dict(entries)
            exec(compile(code, name, "exec"), space)
            added = {key: entries.pop(key) for key in set(entries) - set(before)}
            assert added, "the example adds nothing"
            for key, value in added.items():
                monkeypatch.setitem(entries, key, value)
        else:
            space["__name__"] = name
            exec(compile(code, name, "exec"), space)
        return space

    return execute


@pytest.fixture
def length_study(
    add: Callable[..., dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The name of the page's study: its folder is in a room, its line in the catalogue."""
    folder = tmp_path / "room" / "length"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    for name in ("spec.py", "study.py", "words.toml"):
        (folder / name).write_text(example(f"core/studies/rsa/length/{name}"))
    room = importlib.import_module("core.studies.rsa")
    monkeypatch.setattr(room, "__path__", [*room.__path__, str(folder.parent)])
    add("core/catalogue.py", "STUDIES")
    _, columns = read_columns(example("core/results/columns.toml"))
    for name, column in columns.items():
        monkeypatch.setitem(COLUMNS, name, column)
    yield "rsa length"
    for name in [name for name in sys.modules if name.startswith("core.studies.rsa.length")]:
        del sys.modules[name]
    vars(room).pop("length", None)
    for identity, place in [*tasks._IDENTITIES.items()]:
        if place.startswith("core.studies.rsa.length"):
            del tasks._IDENTITIES[identity]


def length_form() -> None:
    """A page of the app with the form of that study."""
    import streamlit as st

    from core.catalogue import STUDIES
    from ui.study.forms import Form

    form = Form("length", STUDIES["rsa length"].Spec)
    with form.body():
        form.text()
        form.rest()
        form.button()
    st.session_state.got = form.spec()


def test_a_study_has_a_command_a_form_a_price_and_an_export(
    length_study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = STUDIES[length_study]
    assert all_commands()[length_study] == study.purpose
    price = check_price(study.price, study.Spec())
    assert 0 < price.seconds <= price.processor

    app = AppTest.from_function(length_form, default_timeout=30)
    app.query_params.update(sentences="30", model="zoo:seed-1")
    app.run()
    assert not app.exception
    assert app.session_state.got == study.Spec(sentences=30, model="zoo:seed-1")

    out = tmp_path / "out"
    assert (
        main(
            [*length_study.split(), "--sentences", "30", "--model", "zoo:seed-1", "--out", str(out)]
        )
        == 0
    )
    record = json.loads((out / "result.json").read_text(encoding="utf8"))
    assert capsys.readouterr().out.startswith(record["headline"])
    assert set(record["columns"]["lengths"]) == {"model", "layer", "length", "low", "high"}
    assert all(row["low"] <= row["length"] <= row["high"] for row in record["tables"]["lengths"])
    assert {path.name for path in out.iterdir()} == {
        "result.json",
        "result.safetensors",
        "table.csv",
        "figure.svg",
    }

    result = study.run(study.Spec(sentences=30, model="zoo:seed-1"))
    assert (
        command_of(result)
        == "python -m core rsa length --model zoo:seed-1 --sentences 30 --out out"
    )
    assert result.headline.encode() in report_html(result, study.figures(result))
    (longest,) = result.statements
    assert longest.named_in(result.headline)
    assert longest.layers == (int(result.table["length"].idxmax()),)


def test_a_package_depends_on_this_distribution() -> None:
    """The index has another palimpsest, which would write over this one's folder."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    assert tomllib.loads(example("pyproject.toml"))["project"]["dependencies"] == [project["name"]]


def test_the_study_measures_lengths(length_study: str) -> None:
    """Against a loop over layers and words."""
    study = STUDIES[length_study]
    spec = study.Spec(sentences=20)
    words = extract("zoo:seed-0", study.prepare(spec)[0].compute().words).vectors
    by_loop = [np.mean([np.sqrt(np.sum(np.square(word))) for word in layer]) for layer in words]
    np.testing.assert_allclose(study.run(spec).table["length"], by_loop, rtol=1e-5)


@pytest.mark.slow
def test_a_measure(add: Callable[..., dict[str, Any]]) -> None:
    from core.studies.rsa.layers.spec import RsaSpec
    from core.studies.rsa.layers.study import STUDY

    add("core/maths/similarity/registry.py", "MEASURES")
    spec = RsaSpec(
        compare=("zoo:parse-0",),
        measure="signs",
        sentences=40,
        words=100,
        references=False,
    )
    result = STUDY.run(spec)
    assert not result.failures
    table = result.table
    assert table["similarity"].iloc[0] > table["similarity"].iloc[-1]
    assert (table["low"] <= table["similarity"]).all()
    assert (table["null_high"] < table["similarity"]).all()
    assert "sign agreement" in result.headline
    assert STUDY.figures(result)["similarity"].to_dict()


@pytest.mark.slow
def test_a_weight_vector(add: Callable[..., dict[str, Any]]) -> None:
    from core.studies.weights.clusters.spec import WeightsSpec
    from core.studies.weights.clusters.study import STUDY

    add("core/maths/spectra/registry.py", "VECTORS")
    refs = tuple(f"zoo:{task}-{run}" for task in ("parse", "nli") for run in (0, 1))
    result = STUDY.run(WeightsSpec(models=refs, vector="stable-rank", permutations=100))
    assert "stable-rank" in result.tables["distances"].columns
    assert (result.tables["distances"]["stable-rank"] >= 0).all()


@pytest.mark.slow
def test_an_aligner(add: Callable[..., dict[str, Any]]) -> None:
    from core.studies.alignment.seeds.spec import AlignSpec
    from core.studies.alignment.seeds.study import STUDY

    add("core/maths/maps/registry.py", "METHODS")
    result = STUDY.run(AlignSpec(methods=("mean", "ols"), sentences=60, layers=(0, 2)))
    assert not result.failures
    methods = result.tables["methods"].set_index("method")["nmse"]
    assert methods.loc["mean"].min() > methods.loc["ols"].min()
    assert any("#777777" in json.dumps(chart.to_dict()) for chart in STUDY.figures(result).values())


def test_a_model_family() -> None:
    """Its names are those of the model class: every matrix of a layer is found, none is left."""
    import torch
    from transformers import AutoConfig, AutoModel

    space: dict[str, Any] = {}
    exec(example("core/models/architectures/decoders/persimmon.py"), space)
    (family,) = space["FAMILY"]
    config = AutoConfig.for_model(
        family.types[0], hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, vocab_size=50,
    )  # fmt: skip
    with torch.device("meta"):
        model = AutoModel.from_config(config)
    layers = model.get_submodule(family.stack)
    assert len(layers) == config.num_hidden_layers
    assert all(model.get_submodule(path) for path in (family.embedding, family.norm))
    stacked = {name for name, value in model.named_parameters() if value.ndim == 2}
    described = {
        name for name in stacked if any(tensor.pattern.search(name) for tensor in family.matrices)
    }
    assert stacked - described == {f"{family.embedding}.weight"}
    assert len(described) == 4 * len(layers)


def test_an_option(add: Callable[..., dict[str, Any]]) -> None:
    from core.commands.study import add_flag
    from core.options import options_of

    spec = add("core/studies/rsa/layers/spec.py")["LowercaseSpec"]
    option = next(option for option in options_of(spec) if option.name == "lowercase")
    parser = argparse.ArgumentParser()
    add_flag(parser, option)
    assert parser.parse_args(["--lowercase"]).lowercase is True
    assert spec(lowercase=True).changed() == {"lowercase": True}
    with pytest.raises(SpecError, match="lowercase takes true or false, not perhaps"):
        option.read(["perhaps"])


@pytest.mark.exhaustive
@pytest.mark.slow
def test_from_python(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = blocks_of(ROOT / "docs" / "quick-start.md", "python")
    space: dict[str, Any] = {}
    exec(block.code, space)
    assert list(space["table"]["layer"]) == list(range(len(space["table"])))
    assert "title" in str(space["chart"].to_dict())
    assert "parse-0" in capsys.readouterr().out


def test_every_column_has_one_line() -> None:
    assert all("\n" not in column.meaning for column in COLUMNS.values())


def test_mathematics_is_used_alone() -> None:
    """Without a model, a store or an app: nothing else of the house is imported."""
    block = next(block for block in blocks_of(PAGE, "python") if "get_measure" in block.code)
    asked = "\nimport sys\nprint(similarity, *(name for name in sys.modules if name.startswith('core.')))"
    done = subprocess.run(
        [sys.executable, "-c", block.code + asked],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    similarity, *modules = done.stdout.split()
    assert 0.5 < float(similarity) < 1
    beside = {name for name in modules if not name.startswith("core.maths")}
    assert beside <= {"core.errors", "core.limits"}
