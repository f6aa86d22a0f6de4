"""The included fine-tunes: their updates tell their tasks, and so do changes of hidden states."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.commands import main as cli
from core.maths.spectra.neighbours import calc_neighbour_shares
from core.maths.spectra.registry import VECTORS, calc_chords
from core.models import read_manifest
from core.runs.runner import run
from core.studies.weights.activations import STATES, calc_change, summary_of
from core.studies.weights.clusters.members import fine_tunes
from core.studies.weights.clusters.planning import plan, prepare
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.study import STUDY
from core.studies.weights.clusters.text import ABOVE
from core.studies.weights.ranks import CHANCE
from core.study import run_first_stage
from tests import ROOT

pytestmark = pytest.mark.slow


def alike(entry: dict[str, Any]) -> bool:
    """Whether the model was trained as the other runs were: at the common rate, with no layer
    frozen."""
    return not entry.get("frozen") and (entry.get("dose") or 1.0) == 1.0


@pytest.mark.skipif(not read_manifest(), reason="there are no included models yet: make zoo")
def test_included_fine_tunes_of_one_task_are_neighbours() -> None:
    result = STUDY.run(WeightsSpec())
    tuned = [entry for entry in fine_tunes() if entry["base"] == "zoo:seed-0" and alike(entry)]
    assert not result.failures
    assert len(result.table) == len(tuned) >= 18
    assert result.tables["matrices"].groupby("model").size().eq(36).all()
    two = result.tables["vectors"].query("k == 2").set_index("vector")
    assert set(two.index) == set(VECTORS)
    assert two.loc[two["gauge_safe"], "p_value"].min() < 0.01
    assert two["chance"].between(0.1, 0.13).all()
    stated = {each.subject: each for each in result.statements if each.baseline == CHANCE}
    for vector, each in stated.items():
        assert each.estimate is not None
        assert each.estimate.value == two.loc[vector, "share"]
        assert each.named_in(result.headline)
    assert set(stated) == set(VECTORS)
    assert stated["projector"].verdict == ABOVE


@pytest.mark.exhaustive
@pytest.mark.skipif(not read_manifest(), reason="there are no included models yet: make zoo")
def test_delta_activations_tell_tasks_in_the_middle_layer(tmp_path: Path) -> None:
    command = ["weights", "--vector", "activations_middle", "--out", str(tmp_path)]
    assert cli.main(command) == 0
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf8"))
    two = pd.read_csv(tmp_path / "vectors.csv").query("k == 2").set_index("vector")
    top, middle = (two.loc[f"activations_{where}"] for where in ("top", "middle"))
    assert [top["share"], middle["share"]] == pytest.approx([0.42, 0.92], abs=0.005)
    assert max(top["p_value"], middle["p_value"]) < 0.001
    assert two.loc["projector", "share"] == 1
    assert "middle-layer delta activations" in result["headline"]
    assert any("2509.04442" in paper for paper in result["citations"])
    distances = pd.read_csv(tmp_path / "distances.csv")
    assert distances[["activations_top", "activations_middle"]].notna().all(axis=None)

    spec = WeightsSpec(activations=True)
    outputs = run(plan(spec, run_first_stage(prepare(spec))))
    states = {role[1]: value for role, value in outputs.values.items() if role[0] == STATES}
    base = summary_of(states.pop("zoo:seed-0"))
    embeddings = np.stack([calc_change(base, summary_of(value))[0] for value in states.values()])
    labels = [ref.removeprefix("zoo:").partition("-")[0] for ref in states]
    rng = np.random.default_rng(0)
    lowest = calc_neighbour_shares(calc_chords(embeddings), labels, 2, 100, rng).share[1]
    page = re.sub("<!--.*?-->", "", (ROOT / "docs" / "findings.md").read_text(encoding="utf8"))
    page = " ".join(page.split())
    shares = [f"{100 * share:.0f} %" for share in (middle["share"], top["share"], lowest)]
    assert f"the middle layer ({shares[0]}) than of the top layer ({shares[1]}" in page
    assert f"before any layer runs, gives {shares[2]}" in page
