"""Of a deep model, controls are computed at three of the layers that are read by default."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.options.layer_numbers import EVERY_LAYER
from core.results.export import Result
from core.runs.runner import run
from core.runs.tasks import Task
from core.studies.probes.edges import charts as edge_charts
from core.studies.probes.edges import study as edges
from core.studies.probes.edges.spec import EdgeSpec
from core.studies.probes.trees import study as trees
from core.studies.probes.trees.charts import ON_CONTROL, scores_chart
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.probes.trees.statements import BEST, CONTROL_TREES, statements_of
from core.studies.probes.trees.tables import METRICS, OF_CONTROL, OF_SELECTIVITY, PROBE_OF
from core.studies.probes.trees.text import make_headline, scores_sentences
from tests.core.studies.probes.edges.test_study import write_tagged
from tests.core.tiny_models import save_tiny

READ, FEW = (0, 2, 4, 6, 8, 10, 12), (0, 6, 12)
SMALL: dict[str, Any] = {"draws": 30, "controls": 2}
SHORT: dict[str, Any] = {**SMALL, "rank": 4, "epochs": 1, "seeds": 1}
PENALTY: dict[str, Any] = {**SMALL, "penalty": 3.0}


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("control-layers")
    return {
        "deep": f"path:{save_tiny(folder / 'deep', num_hidden_layers=12)}",
        "shallow": f"path:{save_tiny(folder / 'shallow')}",
        "trees": str(write_tagged(folder / "trees.conllu")),
        "store": str(folder / "store"),
    }


@pytest.fixture(autouse=True)
def stored(box: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", box["store"])


def tree_spec(box: dict[str, str], *names: str, **more: Any) -> ProbeSpec:
    models = tuple(box[name] for name in names or ("deep",))
    return ProbeSpec(models=models, corpus=box["trees"], **SHORT | more)


def edge_spec(box: dict[str, str], *names: str, **more: Any) -> EdgeSpec:
    models = tuple(box[name] for name in names or ("deep",))
    return EdgeSpec(models=models, corpus=box["trees"], **PENALTY | more)


def planned(study: Any, spec: Any) -> dict[Any, dict[str, Any]]:
    """Arguments of the tasks that read layers, by role."""
    tasks: list[Task] = study.plan(spec, run(study.STUDY.prepare(spec)))
    arguments = {task.role: dict(task.arguments) for task in tasks}
    return {role: each for role, each in arguments.items() if "layers" in each}


@pytest.mark.parametrize(
    ("asked", "read", "few"),
    [
        ((), READ, FEW),
        ((EVERY_LAYER,), tuple(range(13)), tuple(range(13))),
        (READ, READ, READ),
    ],
)
def test_controls_and_the_added_model_are_planned_at_three_layers_unless_layers_are_named(
    box: dict[str, str], asked: tuple[int, ...], read: tuple[int, ...], few: tuple[int, ...]
) -> None:
    deep, added = box["deep"], f"random:{box['deep']}"
    layers = {
        role: each["layers"]
        for role, each in planned(trees, tree_spec(box, layers=asked, conditional=True)).items()
    }
    assert layers == {
        ("model", deep): read,
        ("control", deep): few,
        ("model", added): few,
        ("beside the static window", deep): read,
    }
    tasks = planned(edges, edge_spec(box, layers=asked, targets=("pos",)))
    assert {role: each["layers"] for role, each in tasks.items()} == {
        (deep, "pos"): read,
        (added, "pos"): few,
    }
    assert tasks[deep, "pos"].get("controlled", read) == few
    assert "controlled" not in tasks[added, "pos"]


def test_a_model_with_few_layers_and_a_listed_untrained_one_keep_all(box: dict[str, str]) -> None:
    shallow, listed = box["shallow"], f"random:{box['deep']}"
    spec = tree_spec(box, "shallow")
    assert {each["layers"] for each in planned(trees, spec).values()} == {(0, 1, 2, 3)}
    tasks = planned(edges, edge_spec(box, "shallow"))
    assert {each["layers"] for each in tasks.values()} == {(0, 1, 2, 3)}
    assert not any("controlled" in each for each in tasks.values())
    both = replace(spec, models=(shallow, listed))
    assert planned(trees, both)["model", listed]["layers"] == READ


@pytest.mark.parametrize(("study", "make"), [(trees, tree_spec), (edges, edge_spec)])
def test_the_price_follows(box: dict[str, str], study: Any, make: Any) -> None:
    few, every = (study.STUDY.price(make(box, layers=layers)) for layers in ((), READ))
    assert few.processor < every.processor
    assert few.memory == every.memory, "the model that is listed is read at as many layers"


@pytest.fixture(scope="module")
def parsed(box: dict[str, str]) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PALIMPSEST_STORE", box["store"])
        return trees.STUDY.run(tree_spec(box))


@pytest.mark.slow
def test_selectivity_has_rows_where_the_control_was_computed(
    box: dict[str, str], parsed: Result
) -> None:
    table = parsed.table[parsed.table["model"] == box["deep"]]
    for metric in PROBE_OF:
        of_metric = table[table["metric"] == metric]
        learned = of_metric["probe"].str.endswith(OF_CONTROL)
        gaps = table[table["metric"] == metric + OF_SELECTIVITY].set_index("layer")["value"]
        real, control = (
            of_metric[rows].set_index("layer")["value"] for rows in (~learned, learned)
        )
        assert (tuple(real.index), tuple(control.index), tuple(gaps.index)) == (READ, FEW, FEW)
        assert np.allclose(gaps, real[list(FEW)] - control)
    margins = parsed.tables["margins"].query("rival.str.startswith('random:')")
    assert set(margins["layer"]) == set(READ)
    assert set(margins["rival_layer"]) <= set(FEW)


@pytest.mark.slow
def test_selectivity_is_stated_at_the_nearest_layer_that_has_it(
    box: dict[str, str], parsed: Result
) -> None:
    deep, metric = box["deep"], f"uuas{OF_SELECTIVITY}"
    for best, nearest in ((4, 6), (6, 6), (2, 0)):
        table = parsed.table.copy()
        here = (table["metric"] == METRICS["distance"][0]) & (table["model"] == deep)
        table.loc[here & table["dev"].notna(), "dev"] = 0.0
        table.loc[here & table["dev"].notna() & (table["layer"] == best), "dev"] = 1.0
        gap, top = statements_of({**parsed.tables, "scores": table}, (deep,), metric)
        assert (gap.layers, gap.baseline) == ((nearest,), CONTROL_TREES)
        assert (top.verdict, top.layers) == (BEST, (best,))
        sentence = " ".join(make_headline((gap, top), metric, parsed=True))
        assert gap.named_in(sentence)
        assert f"ayer {nearest}," in sentence or f"layer ({nearest})" in sentence
        assert ("best" in sentence) == (best == nearest)
    assert any(scores_sentences(parsed, metric))  # type: ignore[arg-type]


@pytest.mark.slow
def test_methods_and_notices_say_where_controls_were_computed(
    box: dict[str, str], parsed: Result
) -> None:
    for text in (parsed.methods, " ".join(parsed.notices)):
        assert "control trees and the untrained model" in text
    assert any("untrained model only 0, 6, 12" in notice for notice in parsed.notices)
    named = trees.STUDY.run(tree_spec(box, layers=(0, 12), untrained=False, controls=0))
    assert not any("untrained model only" in notice for notice in named.notices)
    alone = edges.STUDY.run(edge_spec(box, targets=("pos",), controls=0))
    assert any("for the untrained model only 0, 6, 12" in notice for notice in alone.notices)


@pytest.mark.slow
def test_points_mark_controls_of_fewer_layers_than_are_drawn(
    parsed: Result,
) -> None:
    chart = scores_chart(parsed).to_dict()
    rows = [row for rows in chart["datasets"].values() for row in rows]
    drawn = [row for row in rows if row.get("name") == f"deep{ON_CONTROL}" and "pointed" in row]
    assert {row["layer"] for row in drawn} == set(FEW)
    assert all(row["pointed"] for row in drawn)


@pytest.mark.slow
def test_control_labels_are_fitted_at_three_layers_and_change_no_real_score(
    box: dict[str, str],
) -> None:
    deep, spec = box["deep"], edge_spec(box, targets=("pos",))
    results = [edges.STUDY.run(replace(spec, layers=layers)) for layers in ((), READ)]
    tables = [
        {name: table[table["model"] == deep] for name, table in result.tables.items()}
        for result in results
    ]
    for name in ("edges", "codes"):
        few, every = (each[name] for each in tables)
        expected = every[(every["labels"] == "real") | every["layer"].isin(FEW)]
        assert set(few.loc[few["labels"] != "real", "layer"]) == set(FEW)
        assert (
            few[["layer", "labels"]].values.tolist()
            == expected[["layer", "labels"]].values.tolist()
        )
        measured = "value" if name == "edges" else "kilobits"
        assert np.allclose(few[measured], expected[measured], atol=1e-3, equal_nan=True)
    assert "control labels and the untrained model" in results[0].methods
    assert "control labels" not in " ".join(results[1].notices)
    for view in (edge_charts.ACCURACY, edge_charts.SELECTIVITY):
        assert edge_charts.draw_targets(results[0], view)
