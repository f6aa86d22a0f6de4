"""The study of polar probes end to end on tiny models, against slow counts; its baselines and texts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.errors import CorpusError, SpecError
from core.results.columns import meaning
from core.results.estimates import Estimate
from core.results.statements import Statement
from core.runs.runner import run
from core.studies.probes.edges.tables import CONTROL, REAL, SELECTIVITY
from core.studies.probes.sentence.charts import arcs_chart
from core.studies.probes.sentence.parts import (
    AGREED,
    HEADED,
    LABELLED,
    MISSED,
    REVERSED,
    edge_fields,
)
from core.studies.probes.sentence.result import sentence_headline, statement_of, words_table
from core.studies.probes.sentence.study import ranked_sentences
from core.studies.probes.trees.data import Tree, Trees
from core.studies.probes.trees.planning import prepare_same
from core.studies.probes.trees.result import conllu_block
from core.studies.probes.trees.statements import ABOVE, BEST
from core.studies.probes.trees.tables import (
    CHAIN,
    EMBEDDINGS,
    PARSED,
    POSITION,
    WINDOW,
    best_row,
    windows_of,
)
from extras.probes.polar.charts import draw_polar
from extras.probes.polar.result import LAS, METRICS, SCORES, PolarResult
from extras.probes.polar.rival_tasks import score_chain, score_parser
from extras.probes.polar.spec import PolarSpec as Spec
from extras.probes.polar.study import STUDY, plan
from extras.probes.polar.text import GIVEN, UNDIRECTED, make_headline, statements_of
from tests.core.studies.probes.edges.test_study import write_tagged
from tests.core.tiny_models import LAYERS, save_tiny

COUNT = 60


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("polar-study")
    return {
        "bert": f"path:{save_tiny(folder / 'bert', 'bert')}",
        "gpt2": f"path:{save_tiny(folder / 'gpt2', 'gpt2')}",
        "trees": str(write_tagged(folder / "trees.conllu", 100)),
        "store": str(folder / "store"),
    }


@pytest.fixture
def spec(box: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Spec:
    monkeypatch.setenv("PALIMPSEST_STORE", box["store"])
    return Spec(
        models=(box["bert"], box["gpt2"]), corpus=box["trees"], rank=6, draws=20, seeds=2,
        controls=1, epochs=2,
    )  # fmt: skip


@pytest.fixture
def result(spec: Spec) -> PolarResult:
    """The study, computed by the first test that asks and read from its store by the others."""
    return STUDY.run(spec)


def rows_of(result: PolarResult, **wanted: object) -> pd.DataFrame:
    table = result.table
    for name, value in wanted.items():
        table = table[table[name] == value]
    return table


@pytest.mark.slow
def test_the_table_has_models_control_labels_and_baselines(
    box: dict[str, str], result: PolarResult
) -> None:
    assert not result.failures
    assert tuple(result.table.columns) == SCORES
    untrained = f"random:{box['bert']}"
    layered = {box["bert"], box["gpt2"], untrained}
    for metric in METRICS:
        rows = rows_of(result, metric=metric)
        assert set(rows.loc[rows["layer"].notna(), "model"]) == layered
        windows = windows_of((box["bert"], box["gpt2"])).values()
        assert {POSITION, CHAIN, *windows} <= set(rows.loc[rows["layer"].isna(), "model"])
        for labels in (REAL, CONTROL, SELECTIVITY):
            mine = rows_of(result, metric=metric, model=box["gpt2"], labels=labels)
            assert mine["layer"].tolist() == list(range(LAYERS + 1))
        assert set(rows_of(result, metric=metric, model=untrained)["labels"]) == {REAL}
    for name, table in result.tables.items():
        assert all(meaning(name, str(column)) for column in table.columns)
    rivals = set(result.tables["polar_margins"].query("layer == 1")["rival"])
    assert rivals == {POSITION, CHAIN, WINDOW, EMBEDDINGS, untrained}


@pytest.mark.slow
def test_controls_of_a_deep_model_are_computed_at_three_layers(
    box: dict[str, str], spec: Spec, tmp_path: Path
) -> None:
    deep = f"path:{save_tiny(tmp_path / 'deep', num_hidden_layers=12)}"
    result = STUDY.run(replace(spec, models=(deep,), seeds=1, epochs=1))
    few = [0, 6, 12]
    assert sorted(set(rows_of(result, model=f"random:{deep}")["layer"])) == few
    for labels, layers in ((REAL, [*range(0, 13, 2)]), (CONTROL, few), (SELECTIVITY, few)):
        assert rows_of(result, metric="las", model=deep, labels=labels)["layer"].tolist() == layers
    assert "control labels and the untrained model" in result.methods
    assert any("untrained model only 0, 6, 12" in notice for notice in result.notices)


@pytest.mark.slow
def test_labelled_edges_are_directed_and_directed_ones_are_edges(result: PolarResult) -> None:
    wide = rows_of(result, labels=REAL).pivot_table(
        index=["model", "layer"], columns="metric", values="value"
    )
    assert (wide["las"] <= wide["uas"]).all()
    assert (wide["uas"] <= wide["uuas"]).all()
    assert wide["las"].max() > 0


@pytest.mark.slow
def test_a_sentence_counts_as_the_table_does(
    box: dict[str, str], spec: Spec, result: PolarResult
) -> None:
    """LAS and UUAS of the first probe of a layer, from the drawn sentences."""
    from core.studies.probes.trees.tasks import read_vectors

    one = STUDY.run(replace(spec, seeds=1, models=(box["bert"],), untrained=False, controls=0))
    vectors, _ = read_vectors(
        box["bert"], [tree.words for tree in one.test], one.probes[box["bert"]].layers
    )
    ends = np.cumsum([len(tree.words) for tree in one.test])[:-1]
    layer, counts = 1, Counter[str]()
    for tree, read in zip(one.test, np.split(vectors, ends), strict=True):
        view = one.draw(box["bert"], layer, tree, read)
        gold = [
            (head - 1, word)
            for word, head in enumerate(tree.heads)
            if head and tree.keep[word] and tree.keep[head - 1]
        ]
        assert len(gold) == len(view.agreed) + len(view.missed)
        counts["edges"] += len(gold)
        counts["uuas"] += len(view.agreed)
        counts["las"] += view.labelled
        counts["uas"] += sum(view.predicted_heads[word] == head + 1 for head, word in gold)
    for metric in ("las", "uas", "uuas"):
        row = rows_of(one, model=box["bert"], layer=layer, metric=metric, labels=REAL)
        assert float(row["value"].iloc[0]) == pytest.approx(100 * counts[metric] / counts["edges"])


def test_the_headline_says_how_many_more_models_there_are() -> None:
    first = Statement("zoo:seed-0", BEST, Estimate(30.0, kind="points"), (2,))
    gap = Estimate(5.0, 4.0, 6.0, kind="gain")
    rest = [Statement(f"zoo:m-{n}", ABOVE, gap, (3,), "zoo:seed-0") for n in range(5)]
    headline = " ".join(make_headline([first, *rest], parsed=True))
    assert headline.count("points") == 3
    assert headline.endswith("2 more models are in the table.")


@pytest.mark.slow
def test_the_headline_names_its_numbers(box: dict[str, str], result: PolarResult) -> None:
    statements = statements_of(result.tables, [box["bert"], box["gpt2"]])
    assert [each.verdict for each in statements[:3]] == [BEST, UNDIRECTED, GIVEN]
    best = best_row(result.table, box["bert"], LAS)
    assert best is not None
    assert statements[0].layers == (int(best["layer"]),) == (result.best_layer(box["bert"]),)
    assert statements[0].number.value == float(best["value"])
    for each in statements:
        assert each.named_in(result.headline)
    assert "Diego-Simón" in result.methods
    for metric in METRICS:
        assert STUDY.views[0].sentence(result, metric)


@pytest.mark.slow
def test_every_chart_is_drawn(result: PolarResult) -> None:
    assert STUDY.views[0].choices(result) == [(metric,) for metric in METRICS]
    assert set(STUDY.figures(result)) == {f"polar-{metric}" for metric in METRICS}
    assert len(draw_polar(result).charts) == 3
    assert len(draw_polar(result, "uas").charts) == 1


@pytest.mark.slow
def test_a_sentence_is_drawn_with_labels_and_arrows(
    box: dict[str, str], result: PolarResult
) -> None:
    tree, model = result.test[0], box["bert"]
    rng = np.random.default_rng(0)
    width = result.probes[model].maps.shape[-1]
    if result.probes[model].centres is not None:
        width = result.probes[model].centres.shape[-1]
    vectors = rng.normal(size=(len(tree.words), LAYERS + 1, width)).astype(np.float32)
    view = result.draw(model, 1, tree, vectors)
    assert len(view.labels) == len(view.gold_labels) == len(tree.words)
    assert view.labels[view.predicted_heads.index(0)] == "root"
    assert ":" not in "".join(view.gold_labels)
    texts = str(arcs_chart(view).to_dict())
    assert "triangle-down" in texts
    assert view.gold_labels[0] in texts
    statement = statement_of(view, model, 1)
    assert statement.number.value == view.labelled
    arcs = arcs_chart(view).to_dict()["datasets"].values()
    rows = [row for table in arcs for row in table if row.get("above") and row.get("place") == 0]
    said = [row["status"] for row in rows]
    assert said.count(LABELLED) == view.labelled, "green is what the headline counts"
    assert sum(map(said.count, (LABELLED, HEADED, REVERSED))) == len(view.agreed)
    assert AGREED not in said
    right = replace(view, predicted_heads=view.heads, labels=view.gold_labels)
    (i, j), other = (*view.agreed, *view.missed)[0], ("none",) * len(tree.words)
    assert edge_fields(right, i, j, AGREED)["status"] == LABELLED
    assert edge_fields(replace(right, labels=other), i, j, AGREED)["status"] == HEADED
    word, head = (i, j) if view.heads[i] == j + 1 else (j, i)
    turned = list(view.heads)
    turned[word], turned[head] = 0, word + 1
    backwards = replace(right, predicted_heads=tuple(turned))
    assert edge_fields(backwards, i, j, AGREED)["status"] == REVERSED
    assert edge_fields(right, i, j, MISSED)["status"] == MISSED
    assert "head and label" in sentence_headline(statement, parsed=True)
    assert {"parse_label", "predicted_label"} <= set(words_table(view).columns)
    rows = conllu_block(view.words, view.predicted_heads, {}, view.labels)
    assert [row.split("\t")[7] for row in rows[1:-1]] == [
        "root" if head == 0 else label
        for head, label in zip(view.predicted_heads, view.labels, strict=True)
    ]
    assert ranked_sentences(result, model, 1, shortest=3)
    alone = result.draw(model, 1, Tree(("Go",), (0,), (True,), labels=("root",)), vectors[:1])
    assert (alone.predicted_heads, alone.labels, alone.labelled) == ((0,), ("root",), 0)
    assert arcs_chart(alone).to_dict()
    with pytest.raises(SpecError, match="Choose another"):
        result.draw(model, 99, tree, vectors)


def sentences(count: int, seed: int = 0) -> tuple[Trees, tuple[tuple[str, ...], ...]]:
    """Chains whose words hang under the word before them, but for some."""
    rng = np.random.default_rng(seed)
    trees, labels = [], []
    for _ in range(count):
        size = int(rng.integers(4, 8))
        heads = [0, *(int(rng.integers(1, word + 1)) for word in range(1, size))]
        trees.append(Tree(tuple("abcdefgh"[:size]), tuple(heads), (True,) * size))
        labels.append(("root", *(str(rng.choice(["x", "y", "y"])) for _ in range(size - 1))))
    return Trees.of(trees), tuple(labels)


def test_the_chain_has_the_commonest_head_and_label() -> None:
    trees, labels = sentences(COUNT)
    sizes = (40, 10, 10)
    value = score_chain(trees=trees, labels=labels, sizes=sizes)
    near = [
        (label, head == word)
        for heads, row in zip(trees.heads[:40], labels[:40], strict=True)
        for word, (head, label) in enumerate(zip(heads, row, strict=True))
        if head and head == word
    ]
    assert Counter(near).most_common(1)[0][0] == ("y", True)
    for number, (heads, row) in enumerate(zip(trees.heads[50:], labels[50:], strict=True)):
        edges = [(word, head) for word, head in enumerate(heads) if head]
        chained = [(word, head) for word, head in edges if head == word]
        assert value["edges"][number] == len(edges)
        assert value["hits"][0, number] == value["directed"][0, number] == len(chained)
        assert value["labelled"][0, number] == sum(row[word] == "y" for word, _ in chained)
        assert value["named"][0, number] == sum(row[word] == "y" for word, _ in edges)
        assert value["oriented"][0, number] == len(edges)


def test_the_parser_is_scored_edge_by_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    from core.text import parsing

    trees = Trees.of([Tree(("a", "b", "c"), (2, 0, 2), (True,) * 3)])
    parse = parsing.Parse((2, 3, 0), ("X",) * 3, ("X",) * 3, ("obj:x", "nsubj", "root"))
    monkeypatch.setattr(parsing, "parse_sentences", lambda words, pipeline: [parse])
    value = score_parser(
        trees=trees, labels=(("obj", "root", "det"),), pipeline="box", pipeline_identity="x"
    )
    assert value["edges"].tolist() == [2]
    assert [value[name].tolist() for name in ("hits", "directed", "labelled")] == [
        [[2]], [[1]], [[1]],
    ]  # fmt: skip


def test_text_without_labels_is_refused(
    tmp_path: Path, spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bare.conllu"
    lines = Path(spec.corpus).read_text(encoding="utf8").splitlines()
    bare = ["\t".join([*row.split("\t")[:7], "_", "_", "_"]) if row else "" for row in lines]
    path.write_text("\n".join(bare) + "\n", encoding="utf8")
    asked = replace(spec, corpus=str(path), models=spec.models[:1], untrained=False)
    with pytest.raises(CorpusError, match="no dependency labels"):
        plan(asked, run(prepare_same(asked)))


def test_the_parser_is_a_row_where_gold_labels_are() -> None:
    roles = {PARSED, CHAIN, POSITION}
    spec = Spec(models=("zoo:seed-0",), sentences=60, untrained=False)
    assert roles <= {task.role for task in plan(spec, run(prepare_same(spec)))}
