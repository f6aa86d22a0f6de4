"""What probes cannot show stands in the headline of every study of probes, by one rule."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core.catalogue import STUDIES
from core.errors import SpecError
from core.models.identity import Identity
from core.options.layer_numbers import EVERY_LAYER
from core.results.findings import Findings
from core.runs.runner import Outputs, run_here
from core.studies.probes.trees.planning import (
    TREEBANK,
    chosen_layers,
    fewer_than_dimensions,
    with_treebank,
)
from core.studies.probes.trees.spec import ProbeSpec
from core.text.pipelines import foreign_notice

WIDTHS = {"hub:lab/wide": 576, "zoo:seed-0": 128}
PROBES = ("probe", "probe edges", "probe polar", "probe training", "probe removal")
SMILES = ("CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "O=C(O)c1ccccc1O>>CC(=O)O")


def first_stage(sentences: int, foreign: str = "") -> Outputs:
    identified = {
        ("identity", ref): Identity(ref, "x", "x", 6, width, "bert", 1, "learned")
        for ref, width in WIDTHS.items()
    }
    treebank = SimpleNamespace(parts={"train": [None] * sentences}, foreign=foreign, corpus=None)
    return Outputs({TREEBANK: treebank, **identified})


def made(*models: str) -> Findings:
    return Findings(
        {}, "It is 5 points below the untrained model.", notices=("More.",), models=models
    )


@pytest.mark.parametrize(("sentences", "limited"), [(320, True), (576, False)])
def test_fewer_training_sentences_than_dimensions_are_said(sentences: int, limited: bool) -> None:
    ready = first_stage(sentences)
    notes = fewer_than_dimensions(ready, tuple(WIDTHS))
    assert len(notes) == limited
    assert all("(320)" in note and "wide (576)" in note for note in notes)
    findings = with_treebank(made(*WIDTHS), ready)
    result = replace(findings, models=()).result("probe", ProbeSpec(), ready, Outputs({}))
    assert result.headline == " ".join([str(made().headline), *notes])
    assert result.notices == (*notes, "More.")


def test_of_many_wide_models_only_some_are_named() -> None:
    ready = first_stage(5)
    more = {
        ("identity", f"hub:lab/{name}"): Identity("x", "x", "x", 6, 32, "bert", 1, "learned")
        for name in "abcdef"
    }
    (note,) = fewer_than_dimensions(
        Outputs({**ready.values, **more}), [f"hub:lab/{name}" for name in "abcdef"]
    )
    assert "a (32), b (32), c (32) and 3 more models" in note


def test_of_a_deep_model_the_layers_that_are_read_are_said() -> None:
    ready = first_stage(2_000)
    deep = Identity("deep", "x", "x", 12, 32, "bert", 1, True)
    ready = Outputs({**ready.values, ("identity", "deep"): deep})
    assert chosen_layers(ProbeSpec(), deep) == (0, 2, 4, 6, 8, 10, 12)
    (said,) = set(with_treebank(made("deep"), ready, ()).notices) - {"More."}
    assert said.startswith("Of deep, layers 0, 2, 4, 6, 8, 10, 12 were read")
    every = ProbeSpec(layers=(EVERY_LAYER,))
    assert chosen_layers(every, deep) == tuple(range(13))
    assert with_treebank(made("deep"), ready, every.layers).notices == ("", "More.")
    with pytest.raises(SpecError, match="deep has layers 0 to 12; layer 13 is not among them"):
        chosen_layers(ProbeSpec(layers=(13,)), deep)


@pytest.fixture(scope="module")
def smiles(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("smiles") / "molecules.txt"
    lines = [" ".join((*SMILES, f"C{number}", "CCO", "N", ".")) for number in range(60)]
    path.write_text("\n".join(lines) + "\n", encoding="utf8")
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBES)
def test_parses_of_what_is_not_english_stand_in_no_headline(
    name: str, smiles: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path))
    study = STUDIES[name]
    first: dict[str, Any] = (
        {"end": "zoo:seed-0", "steps": ("zoo:seed-0@step-0",)} if name == "probe training" else
        {"models": ("zoo:seed-0",)}
    )  # fmt: skip
    spec = study.Spec(corpus=smiles, **first)
    ready = run_here(study.prepare(spec, None))
    result = study.result(spec, ready, Outputs({}))
    notice = foreign_notice(ready.need(TREEBANK).words)
    assert notice.startswith("This text is not English prose (0 %")
    assert result.headline == ""
    assert result.caution == notice in result.notices
    assert not result.statements
    assert all(view.sentence(result) == "" for view in study.views)
