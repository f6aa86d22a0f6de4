"""Numbers of `docs/findings.md` about the static window are the precomputed results'.

The page's marked numbers are filled in (`docs.make.numbers`); the others are of runs that take
minutes to hours, and the page names their commands and benchmarks.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd
import pytest

from core.results.export import Result
from docs.make.figures import precomputed
from docs.make.numbers import MARK
from tests import ROOT

TEXT = MARK.sub("", (ROOT / "docs" / "findings.md").read_text(encoding="utf8"))
PAGE = re.sub(r"\s+", " ", TEXT)


def probe(result: Result) -> list[str]:
    """The best layer of each model, beside the untrained model and its own static window."""
    margins = result.tables["margins"].query("metric == 'uuas'")
    window = margins.query("rival == 'static window'").set_index(["model", "layer"])
    base, tuned = window.loc[("zoo:seed-0", 2)], window.loc[("zoo:parse-0", 6)]
    untrained = margins[margins["rival"].str.startswith("random:")]
    above = untrained.set_index(["model", "layer"]).loc[("zoo:seed-0", 2)]
    here = margins.query("model == 'zoo:seed-0' and layer == 2").set_index("rival")
    tags = here.loc["parts of speech, three words"]
    arcs = result.tables["arc_margins"].query("model == 'zoo:seed-0' and layer == 2")
    arcs = arcs[arcs["rival"].str.startswith("random:")].set_index("arcs")
    layers = result.tables["best_layers"].query("model == 'zoo:seed-0' and metric == 'uuas'")
    bottom = layers.rename(columns={"difference": "margin"}).set_index("layer").loc[0]
    tied = layers.query("tied")["layer"].tolist()
    assert tied == [*range(tied[0], tied[-1] + 1)]

    def points(row: pd.Series, sign: int = 1) -> str:
        low, high = sorted((sign * row["low"], sign * row["high"]))
        return f"{sign * row['margin']:.1f} points [{low:.1f}, {high:.1f}]"

    return [
        f"predicts {base['rival_value'] + base['margin']:.1f} % of the edges, {points(above)} above",
        f"predicts {base['rival_value']:.1f} %, so the layer is {points(base, -1)} below",
        f"predicts {tuned['rival_value'] + tuned['margin']:.1f} % at layer 6, {points(tuned)} above",
        f"gains {points(arcs.loc['adjacent'])} on the untrained model in edges",
        f"the others ({points(arcs.loc['not adjacent'])})".replace("-", "−"),
        f"layers {tied[0]} to {tied[-1]} are not distinguishable",
        f"layer 2 is {points(bottom)} above layer 0",
        f"predicts {tags['rival_value']:.1f} %.",
    ]


def align(result: Result) -> list[str]:
    """Variance unexplained on unseen words."""
    means = result.tables["methods"].query("words == 'all'")
    methods = means[means["group"] == "models"].set_index("method")
    gains = result.tables["gains"].query("words == 'unseen'").set_index(["gain", "layer"])

    def gain(name: str, layer: int) -> str:
        row = 100 * gains.loc[(name, layer), ["difference", "low", "high"]].astype(float)
        return f"{row['difference']:.1f} points [{row['low']:.1f}, {row['high']:.1f}]"

    unclear = gains.loc["state over window"].query("layer > 0 and low < 0").index.tolist()
    return [
        f"predicts {100 - 100 * methods.loc['static-window', 'nmse']:.0f} % where hidden states",
        f"The layers add {gain('state over window', -1)}: nothing detectable at layers "
        f"{unclear[0]} and {unclear[1]}, {gain('state over window', 6)} at layer 6",
        f"predicts {gain('window beside state', -1)} more than the state alone",
    ]


def probe_polar(result: Result) -> list[str]:
    """Edges with head and label, beside what has no syntax."""
    scores = result.tables["polar"].query("metric == 'las'")
    real = scores.query("labels == 'real'").set_index(["model", "layer"])["value"]
    control = scores.query("labels == 'control'").set_index(["model", "layer"])["value"]
    alone = scores[scores["layer"].isna()].set_index("model")["value"]
    untrained = real["random:zoo:seed-0"].max()
    return [
        f"`seed-0` predicts {real['zoo:seed-0', 2]:.0f} % of the edges with head and label",
        f"static window {alone['static window']:.0f} %; `parse-0` "
        f"{real['zoo:parse-0', 6]:.0f} % at layer 6",
        f"({control['zoo:seed-0', 2]:.0f} % on `seed-0`, {control['zoo:parse-0', 6]:.0f} % on",
        f"the untrained model ({untrained - 0.5:.0f} %)",
        f"with the commonest head and label ({alone['linear chain']:.0f} %)",
    ]


CHECKED: dict[str, Callable[[Result], list[str]]] = {
    "probe": probe,
    "probe polar": probe_polar,
    "align": align,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
def test_a_finding_is_what_its_study_found(name: str, precomputed_results: None) -> None:
    for sentence in CHECKED[name](precomputed()[name]):
        assert sentence in PAGE
