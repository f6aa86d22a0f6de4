"""The study end to end on tiny models and made-up trees: spec, treebank, plan, tables, sentences,
sweep, command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.commands import main as cli
from core.errors import CancelledError, CorpusError, ShapeError, SpecError
from core.maths.structural.arcs import ADJACENT, BY_LENGTH, FAR
from core.maths.structural.positions import SIZE
from core.maths.structural.predict import SentenceView, view_sentence
from core.results.estimates import Estimate, estimate_of
from core.results.findings import in_two_lines
from core.results.metrics import OF_SELECTIVITY
from core.results.statements import TWO_LINES, Statement
from core.runs.runner import run
from core.runs.tasks import Task
from core.studies.probes.sentence import charts as sentence_charts
from core.studies.probes.sentence import word_charts
from core.studies.probes.sentence.result import PredictedTree, statement_of
from core.studies.probes.sentence.study import (
    SentenceSpec,
    ranked_sentences,
    read_text,
    run_sentences,
)
from core.studies.probes.trees import charts, rival_tasks, tasks
from core.studies.probes.trees.data import (
    FEWEST,
    Tree,
    Trees,
    part_of,
    read_treebank,
    said,
)
from core.studies.probes.trees.result import ProbeResult, conllu_block, predicted_conllu
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.probes.trees.statements import (
    ABOVE,
    BASELINE,
    BELOW,
    BEST,
    CHOSEN_BY,
    CONTROL_TREES,
    LAST,
    NEAR,
    SCORES,
    SIMILAR,
    SUFFICES,
    TIED,
    UNSCORED,
    UNTRAINED,
    doubts_of,
    stated_scores,
    statements_of,
)
from core.studies.probes.trees.study import STUDY, plan, prepare
from core.studies.probes.trees.sweep import run_sweep, sweep_ranks
from core.studies.probes.trees.tables import (
    CHAIN,
    COLUMNS,
    EMBEDDINGS,
    PARSED,
    POSITION,
    PROBE_OF,
    RANDOM,
    TAGS,
    WINDOW,
    best_row,
    windows_of,
)
from core.studies.probes.trees.text import (
    arcs_sentences,
    make_headline,
    notice_of,
    scores_sentences,
)
from core.text.conllu import read_conllu
from core.text.corpora import corpus_from_bytes
from core.vectors.window import REACHES, windows_of_sentences
from tests.core.studies.probes.edges.test_study import write_tagged
from tests.core.studies.probes.planted import random_heads
from tests.core.tiny_models import LAYERS, TEXT, save_tiny

WORDS = sorted(set(TEXT.split()))


def write_trees(path: Path, count: int = 130, seed: int = 0) -> Path:
    """Made-up sentences of the tiny models' words, with random trees and a full stop."""
    rng = np.random.default_rng(seed)
    lines: list[str] = []
    for _ in range(count):
        heads = random_heads(rng, 5, 9)
        words = [WORDS[i] for i in rng.integers(0, len(WORDS), len(heads))]
        rows = [
            *zip(words, heads, ["NN"] * len(heads), strict=True),
            (".", heads.index(0) + 1, "."),
        ]
        lines += [
            "\t".join([str(i), w, "_", "_", tag, "_", str(h), "_", "_", "_"])
            for i, (w, h, tag) in enumerate(rows, 1)
        ]
        lines.append("")
    path.write_text("\n".join(lines) + "\n", encoding="utf8")
    return path


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("probe-study")
    return {
        "bert": f"path:{save_tiny(folder / 'bert', 'bert')}",
        "gpt2": f"path:{save_tiny(folder / 'gpt2', 'gpt2')}",
        "trees": str(write_trees(folder / "trees.conllu")),
        "store": str(folder / "store"),
    }


@pytest.fixture
def spec(box: dict[str, str]) -> ProbeSpec:
    return ProbeSpec(
        models=(box["bert"], box["gpt2"]),
        corpus=box["trees"],
        rank=8,
        epochs=2,
        draws=50,
        seeds=2,
        controls=2,
    )


@pytest.fixture
def result(box: dict[str, str], spec: ProbeSpec, monkeypatch: pytest.MonkeyPatch) -> ProbeResult:
    """The study, computed by the first test that asks and read from its store by the others."""
    monkeypatch.setenv("PALIMPSEST_STORE", box["store"])
    return STUDY.run(spec)


def planned(spec: ProbeSpec) -> list[Task]:
    return plan(spec, run(prepare(spec)))


def drawn(result: ProbeResult, model: str, layer: int, number: int) -> SentenceView:
    """A test sentence at a layer, read as the page reads it."""
    tree, layers = result.test[number], result.probes[model].layers
    read = run_sentences(
        SentenceSpec(model, layers, words=tree.words, heads=tree.heads, keep=tree.keep)
    )
    return result.draw(model, layer, read.trees[0], read.vectors[0])


def test_the_table_has_every_row_that_makes_a_score_mean_something(
    box: dict[str, str], result: ProbeResult
) -> None:
    table = result.table
    assert tuple(table.columns) == COLUMNS
    assert not result.failures
    assert set(table["model"]) >= {
        box["bert"],
        box["gpt2"],
        f"random:{box['bert']}",
        CHAIN,
        RANDOM,
        POSITION,
    }
    metrics = ("uuas", "dspr", "root", "nspr")
    assert set(table["metric"]) >= {*metrics, *(metric + OF_SELECTIVITY for metric in metrics)}
    rows = table[(table["model"] == box["bert"]) & (table["metric"] == "uuas")]
    assert rows["probe"].tolist() == ["distance"] * (LAYERS + 1) + ["distance control"] * (
        LAYERS + 1
    )
    known = table.dropna(subset=["value"])
    assert (
        (known["low"] <= known["value"] + 1e-9) & (known["value"] <= known["high"] + 1e-9)
    ).mean() > 0.95
    chains = table[(table["model"] == CHAIN) & (table["metric"] == "uuas")].set_index("probe")
    assert chains.loc["distance control", "probes"] == 2  # the chain on each draw of control trees
    assert chains.loc["distance control", "sd"] > 0


@pytest.mark.parametrize("metric", ["uuas", "dspr", "root", "nspr"])
def test_selectivity_is_the_score_less_the_mean_over_draws(
    box: dict[str, str], result: ProbeResult, metric: str
) -> None:
    rows = result.table[(result.table["model"] == box["bert"]) & result.table["layer"].notna()]
    probe = "distance" if metric in ("uuas", "dspr") else "depth"
    real, control = (
        rows[(rows["probe"] == name) & (rows["metric"] == metric)].set_index("layer")
        for name in (probe, f"{probe} control")
    )
    selectivity = rows[rows["metric"] == metric + OF_SELECTIVITY].set_index("layer")
    assert np.allclose(selectivity["value"], real["value"] - control["value"])
    assert np.allclose(selectivity["sd"], control["sd"])
    width = {
        name: (table["high"] - table["low"]).mean()
        for name, table in (("real", real), ("both", selectivity))
    }
    assert width["both"] > width["real"]  # the draws' spread is in the band


def test_differences_are_those_of_the_table(box: dict[str, str], result: ProbeResult) -> None:
    differences = result.tables["differences"]
    assert set(differences["base"]) == {box["bert"]}
    mine = differences[(differences["model"] == box["gpt2"]) & (differences["metric"] == "dspr")]
    values = {
        ref: result.table[(result.table["model"] == ref) & (result.table["metric"] == "dspr")]
        for ref in box.values()
    }
    one, other = (
        v[v["probe"] == "distance"]["value"].to_numpy()
        for v in (values[box["gpt2"]], values[box["bert"]])
    )
    assert np.allclose(mine["difference"], one - other)


def test_margins_are_over_both_baselines(box: dict[str, str], result: ProbeResult) -> None:
    table, margins = result.table, result.tables["margins"]
    untrained = f"random:{box['bert']}"
    assert set(margins["rival"]) == {POSITION, WINDOW, EMBEDDINGS, untrained}
    assert set(margins["model"]) == {box["bert"], box["gpt2"]}
    mine = table[
        (table["model"] == box["gpt2"]) & (table["metric"] == "root") & (table["probe"] == "depth")
    ]
    rival = best_row(table, untrained, "root")
    assert rival is not None
    less = margins[
        (margins["model"] == box["gpt2"])
        & (margins["metric"] == "root")
        & (margins["rival"] == untrained)
    ]
    assert set(less["rival_layer"]) == {rival["layer"]}
    assert np.allclose(less["margin"], mine["value"] - rival["value"])
    alone = table[(table["model"] == POSITION) & (table["metric"] == "root")].iloc[0]
    less = margins[
        (margins["model"] == box["gpt2"])
        & (margins["metric"] == "root")
        & (margins["rival"] == POSITION)
    ]
    assert np.allclose(less["margin"], mine["value"] - alone["value"])


def test_each_model_is_compared_with_the_window_of_its_own_embeddings(
    box: dict[str, str], result: ProbeResult
) -> None:
    margins = result.tables["margins"].query("rival == @WINDOW and metric == 'uuas'")
    drawn = result.table.query("metric == 'uuas'").set_index("model")["value"]
    windows = windows_of((box["bert"], box["gpt2"]))
    assert margins["rival_layer"].isna().all()
    assert set(margins["model"]) == set(windows)
    for model, name in windows.items():
        subtracted = margins.loc[margins["model"] == model, "rival_value"]
        assert set(subtracted) == {drawn[name]}, "what is drawn is what is subtracted"
    mine = result.table.query("metric == 'uuas' and probe == 'distance'").set_index(
        ["model", "layer"]
    )
    for row in margins.itertuples():
        assert row.margin == pytest.approx(
            mine.loc[(row.model, row.layer), "value"] - row.rival_value
        )


def test_arcs_add_up_to_the_first_probes_uuas_and_have_margins_of_their_own(
    box: dict[str, str], result: ProbeResult
) -> None:
    arcs, margins = result.tables["arcs"], result.tables["arc_margins"]
    windows = windows_of((box["bert"], box["gpt2"]))
    rivals = {f"random:{box['bert']}", POSITION, *windows.values(), CHAIN}
    assert set(arcs["model"]) == rivals | set(windows)
    assert arcs[["low", "high"]].to_numpy().min() >= 0
    assert arcs[["low", "high"]].to_numpy().max() <= 100
    mine = arcs[arcs["model"] == box["gpt2"]]
    uuas, edges = result.probes[box["gpt2"]].uuas, mine.groupby("arcs")["edges"].first()
    assert uuas is not None
    counts = np.array([sum(map(bool, tree.heads[:-1])) for tree in result.test])
    assert edges[list(BY_LENGTH)].sum() == counts.sum() == edges[ADJACENT] + edges[FAR]
    for layer, of_layer in mine.groupby("layer"):
        scores = of_layer.set_index("arcs")["value"]
        expected = np.nansum(uuas[result.probes[box["gpt2"]].layers.index(layer)] * counts)
        for kinds in (list(BY_LENGTH), [ADJACENT, FAR]):
            assert (scores[kinds] * edges[kinds]).sum() / 100 == pytest.approx(expected)
    window = margins[(margins["rival"] == WINDOW) & (margins["arcs"] == FAR)]
    row = window[(window["model"] == box["bert"]) & (window["layer"] == 2)].iloc[0]
    values = arcs[arcs["arcs"] == FAR].set_index(["model", "layer"])["value"]
    theirs = arcs[(arcs["arcs"] == FAR) & (arcs["model"] == windows[box["bert"]])]["value"].iloc[0]
    assert row["rival_value"] == pytest.approx(theirs)
    assert row["margin"] == pytest.approx(values[box["bert"], 2] - theirs)
    far, margin, *_ = (each for each in result.statements if each.metric in (FAR, ADJACENT))
    assert (far.subject, far.metric) == (box["gpt2"], FAR), "what is compared with the first"
    assert far.layers == (result.best_layer(box["gpt2"]),)
    shown = in_two_lines(arcs_sentences(result))
    assert far.named_in(shown)
    assert margin.named_in(shown)
    assert len(shown) <= TWO_LINES


def test_layers_tied_with_the_best_are_named_by_the_headline(
    box: dict[str, str], result: ProbeResult
) -> None:
    best = result.tables["best_layers"]
    rows = (best["model"] == box["bert"]) & (best["metric"] == "uuas")
    for tied, named in (
        ([True, True, False, True], "layers 0, 1 and 3)"),
        ([False, True] * 2, "layers 1 and 3)"),
    ):
        changed = best.copy()
        changed.loc[rows, "tied"] = tied
        tables = {**result.tables, "best_layers": changed}
        statements = statements_of(tables, [box["bert"]], "uuas")
        assert [each.layers for each in statements if each.verdict == TIED] == [
            tuple(np.flatnonzero(tied))
        ]
        assert named in next(make_headline(statements, "uuas", parsed=False))


@pytest.mark.exhaustive
def test_parts_of_speech_and_layers_beside_the_window_are_rows_of_their_own(
    box: dict[str, str], tmp_path: Path
) -> None:
    asked = ProbeSpec(
        models=(box["bert"],), corpus=str(write_tagged(tmp_path / "tagged.conllu")), rank=8,
        layers=(1, 2), epochs=1, draws=50, seeds=1, controls=0, untrained=False, conditional=True,
    )  # fmt: skip
    result = STUDY.run(asked)
    assert not result.failures
    assert set(TAGS.values()) <= set(result.table["model"])
    assert set(TAGS.values()) <= set(result.tables["margins"]["rival"])
    assert not set(TAGS.values()) & {each.baseline for each in result.statements[:2]}
    added = result.tables["added"]
    assert set(added["rival"]) == {WINDOW}
    assert added.groupby("metric")["layer"].apply(list).tolist() == [[1, 2]] * 4
    assert {"added-uuas", "arcs"} <= set(STUDY.figures(result))
    plain = STUDY.run(replace(asked, conditional=False))
    assert "added" not in plain.tables
    alone = STUDY.run(replace(asked, conditional=False, probes=("distance",)))
    assert "arcs" not in alone.tables  # trees need a root
    assert arcs_sentences(alone) == []


def test_beside_the_window_every_layer_has_the_whole_window(
    box: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[np.ndarray] = []

    def capture(vectors: np.ndarray, *rest: object) -> dict[str, object]:
        seen.append(vectors)
        return {"layers": np.arange(vectors.shape[1])}

    def last(rows: np.ndarray, lengths: np.ndarray, score: object) -> tuple[np.ndarray, int]:
        return windows_of_sentences(rows, lengths, 2), 2

    monkeypatch.setattr(rival_tasks, "train_and_score", capture)
    monkeypatch.setattr(rival_tasks, "of_best_reach", last)
    rows = [
        Tree(tuple(np.roll(WORDS, i)[:5].tolist()), (2, 0, 2, 3, 3), (True,) * 5) for i in range(20)
    ]
    trees, how = Trees.of(rows), tasks.Regime(("distance",), (8,), 1, 0, 1)
    given = {"trees": trees, "sizes": (16, 2, 2), "layers": (1, 3), "how": how}
    for position in (False, True):
        rival_tasks.score_beside_window(box["bert"], "", position=position, **given)
    plain, coded = seen
    states, _ = tasks.read_vectors(box["bert"], trees.words, (0, 1, 3))
    width = 5 * states.shape[2]
    assert plain.shape == (100, 3, width + states.shape[2])
    assert (plain[:, -1, width:] == 0).all()

    def scaled(vectors: np.ndarray) -> np.ndarray:
        centred = vectors.astype(np.float32) - vectors[:80].astype(np.float32).mean(axis=0)
        shares: np.ndarray = centred / np.abs(centred[:80]).mean()
        return shares

    window = windows_of_sentences(states[:, 0], np.full(20, 5), 2)
    for layer in range(3):
        np.testing.assert_allclose(plain[:, layer, :width], scaled(window), atol=1e-4)
    np.testing.assert_allclose(plain[:, 1, width:], scaled(states[:, 2]), atol=1e-4)
    assert coded.shape == (*plain.shape[:2], plain.shape[2] + SIZE)
    np.testing.assert_allclose(coded[..., : plain.shape[2]], plain, atol=1e-6)


def test_layers_trained_one_by_one_beside_the_window_score_as_together(
    box: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        Tree(tuple(np.roll(WORDS, i)[:5].tolist()), (2, 0, 2, 3, 3), (True,) * 5) for i in range(20)
    ]
    how = tasks.Regime(("distance", "depth"), (8,), 2, 0, 2)
    given = {"trees": Trees.of(rows), "sizes": (12, 4, 4), "layers": (1, 3), "how": how}
    whole = rival_tasks.score_beside_window(box["bert"], "", position=True, **given)
    monkeypatch.setattr(rival_tasks, "AT_HAND", 1)
    parts = rival_tasks.score_beside_window(box["bert"], "", position=True, **given)
    assert whole["layers"].tolist() == [1, 1, 3, 3, 4, 4]
    assert set(whole) == set(parts)
    for name, part in whole.items():
        np.testing.assert_array_equal(parts[name], part, err_msg=name)


def test_the_best_layer_is_chosen_on_development_sentences(
    box: dict[str, str], result: ProbeResult
) -> None:
    table = result.table.copy()
    rows = (
        (table["model"] == box["bert"])
        & (table["metric"] == "uuas")
        & (table["probe"] == "distance")
    )
    table.loc[rows, "dev"] = [0.0, 9.0, 1.0, 2.0]
    table.loc[rows, "value"] = [0.0, 1.0, 2.0, 99.0]
    changed = replace(result, tables={**result.tables, "scores": table})
    assert changed.best_layer(box["bert"]) == 1
    best, margin, *_ = statements_of(changed.tables, [box["bert"]], "uuas")
    assert (best.subject, best.verdict, best.layers) == (box["bert"], BEST, (1,))
    assert best.estimate is not None
    assert best.estimate.value == 1.0
    margins = result.tables["margins"]
    margins = margins[(margins["model"] == box["bert"]) & (margins["metric"] == "uuas")]
    here = margins[(margins["layer"] == 1) & ~margins["rival"].isin(TAGS.values())]
    here = here.set_index("rival")
    assert margin.baseline == here["rival_value"].idxmax()
    assert margin.estimate == estimate_of(here.loc[margin.baseline], "margin")
    headline = " ".join(make_headline((best, margin), "uuas", parsed=False))
    assert best.named_in(headline)
    assert margin.named_in(headline)


def test_the_headline_states_the_margin_and_the_other_models(
    box: dict[str, str], spec: ProbeSpec, result: ProbeResult
) -> None:
    statements = statements_of(result.tables, spec.probed, "uuas")
    assert result.statements[: len(statements)] == statements
    _, margin, score, above, other = [each for each in statements if each.verdict != TIED]
    assert margin.subject == box["bert"]
    assert (score.subject, score.verdict, score.layers) == (box["gpt2"], SCORES, other.layers)
    assert (above.subject, above.layers) == (box["gpt2"], other.layers)
    untrained = [f"random:{ref}" for ref in spec.probed]
    assert above.baseline in (POSITION, WINDOW, EMBEDDINGS, *untrained)
    first, *_ = result.headline.split(". ")
    assert all(each.named_in(first) for each in (score, other)), "the one asked about first"
    told = [each for each in (score, other, above, margin) if each.named_in(result.headline)]
    assert told == [score, other, above, margin]
    three = (*spec.probed, box["bert"].replace("bert", "third"))
    assert SCORES in {each.verdict for each in statements_of(result.tables, three, "uuas")}
    scores = result.table
    third = scores[scores["model"] == box["gpt2"]].assign(model=three[-1])
    more = {**result.tables, "scores": pd.concat([scores, third])}
    assert SCORES not in {each.verdict for each in statements_of(more, three, "uuas")}
    assert margin.baseline in (POSITION, WINDOW, EMBEDDINGS, *untrained)
    assert (other.subject, other.baseline) == (box["gpt2"], box["bert"])
    assert other.layers == (result.best_layer(box["gpt2"]),)
    differences = result.tables["differences"].query("metric == 'uuas'")
    differences = differences[differences["model"] == box["gpt2"]].set_index("layer")
    assert other.estimate == estimate_of(differences.loc[other.layers[0]], "difference")
    for each in (margin, other):
        assert each.estimate is not None
        assert (each.verdict == SIMILAR) == (not each.estimate.clear)
    assert all(each.named_in(result.headline) for each in statements)


def test_what_uuas_is_compared_with_is_stated(box: dict[str, str], result: ProbeResult) -> None:
    before = replace(result, statements=())
    for verdict in (BASELINE, UNTRAINED, CHOSEN_BY):
        assert stated_scores(result, verdict) == stated_scores(before, verdict) != {}
    rows = result.table[result.table["metric"] == "uuas"]
    chain = rows[(rows["model"] == CHAIN) & (rows["probe"] == "distance")].iloc[0]
    assert stated_scores(result, BASELINE)[CHAIN] == estimate_of(chain, "value")
    (untrained,) = stated_scores(result, UNTRAINED).values()
    assert untrained.value == rows.loc[rows["model"].str.startswith("random:"), "value"].max()
    best = best_row(result.table, box["bert"], "uuas")
    assert stated_scores(result, CHOSEN_BY)[box["bert"]].value == best["dev"]


@pytest.mark.parametrize(("others", "more"), [(4, ""), (5, "2 more models are in the table.")])
def test_the_headline_says_how_many_more_models_there_are(others: int, more: str) -> None:
    """A last model is named rather than left out alone."""
    first = Statement("zoo:seed-0", BEST, Estimate(57.0, kind="points"), (2,))
    gap = Estimate(5.0, 4.0, 6.0, kind="gain")
    rest = [Statement(f"zoo:m-{n}", ABOVE, gap, (3,), "zoo:seed-0") for n in range(others)]
    headline = " ".join(make_headline([first, *rest], "uuas", parsed=True))
    assert headline.count("points") == min(others, 3 if more else 4)
    assert headline.endswith(more or "seed-0.")


@pytest.mark.parametrize("metric", [*PROBE_OF, *(name + OF_SELECTIVITY for name in PROBE_OF)])
def test_a_view_states_its_own_metric(
    box: dict[str, str], spec: ProbeSpec, result: ProbeResult, metric: str
) -> None:
    first, *_ = statements_of(result.tables, spec.probed, metric)
    rows = result.table[(result.table["model"] == box["bert"]) & (result.table["metric"] == metric)]
    row = rows[(rows["layer"] == first.layers[0]) & ~rows["probe"].str.endswith("control")].iloc[0]
    assert first.subject == box["bert"]
    assert first.estimate == estimate_of(row, "value")
    assert first.baseline == (CONTROL_TREES if metric.endswith(OF_SELECTIVITY) else "")
    sentence = in_two_lines(scores_sentences(result, metric))
    stated = statements_of(result.tables, spec.probed, metric)
    assert tuple(each for each in result.statements if each.metric == metric) == stated
    before = replace(result, statements=())  # as one saved before its views were stated
    assert in_two_lines(scores_sentences(before, metric)) == sentence
    asked = next((each for each in stated if each.verdict == SCORES), first)
    assert asked.named_in(sentence), "the model that the page asks about, not the first"
    assert len(sentence) <= TWO_LINES


def test_a_second_run_trains_nothing(
    box: dict[str, str], spec: ProbeSpec, result: ProbeResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (tasks, rival_tasks):
        monkeypatch.setattr(module, "train_and_score", None)
    again = STUDY.run(spec)
    pd.testing.assert_frame_equal(result.table, again.table)
    assert result.headline == again.headline


@pytest.mark.exhaustive
def test_probes_of_large_models_are_trained_in_single_precision(
    spec: ProbeSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that reads in single precision: nothing is gained by training in double."""
    from core.maths.structural import training

    spec = replace(spec, probes=("distance",), controls=1, seeds=1, epochs=1, conditional=True)
    small = {task.role: task for task in planned(spec)}
    monkeypatch.setattr(tasks, "EXACT", 0)
    large = {task.role: task for task in planned(spec)}
    of_models = {role for role, task in large.items() if "model" in task.values}
    assert {role for role in large if large[role].key != small[role].key} == of_models
    assert not any("exact" in task.values for task in small.values())
    seen: dict[bool, int] = {}
    train = training.train_bank

    def looking(*data: object, exact: bool, **options: object) -> object:
        seen[exact] = seen.get(exact, 0) + 1
        return train(*data, exact=exact, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(training, "train_bank", looking)
    outputs = run(list(large.values()))
    assert not outputs.sentences
    choosing = [task for task in large.values() if "window" in task.function.__name__]
    tried = len(REACHES) * len(choosing)  # a bank for each reach of a static window
    assert seen == {False: len(of_models) + tried, True: len(exact_ones(large))}


def exact_ones(planned: dict[Any, Task]) -> list[Any]:
    """Tasks whose probes read what is the same on any processor."""
    return [role for role in planned if role == POSITION or role in TAGS.values()]


def test_the_shortest_tasks_are_the_last(spec: ProbeSpec) -> None:
    """They keep the other cores at work while the last long one runs."""
    roles = [task.role for task in planned(spec)]
    windows = [(WINDOW, model) for model in spec.models]
    assert roles[-len(windows) :] == windows


def test_trees_and_words_are_in_the_keys(
    spec: ProbeSpec, box: dict[str, str], tmp_path: Path
) -> None:
    first = {task.role: task.key for task in planned(spec)}
    assert ("control", box["bert"]) in first
    assert ("control", f"random:{box['bert']}") not in first
    other = replace(spec, corpus=str(write_trees(tmp_path / "b.conllu", seed=1)))
    changed = {task.role: task.key for task in planned(other)}
    assert all(first[role] != changed[role] for role in first)
    assert {task.role: task.key for task in planned(replace(spec, draws=99))} == first


@pytest.mark.exhaustive
def test_a_position_code_is_appended_to_vectors_without_positions(
    box: dict[str, str], spec: ProbeSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", box["store"])
    rotary = f"path:{save_tiny(tmp_path / 'rotary', 'roformer')}"
    settings = {"position_biased_input": False, "relative_attention": True}
    relative = f"path:{save_tiny(tmp_path / 'relative', 'deberta-v2', **settings)}"
    small = replace(
        spec,
        models=(box["bert"], rotary, relative),
        layers=(1,),
        probes=("distance",),
        controls=0,
        untrained=False,
        rank=32,
    )
    without = {rotary, relative}
    for position, coded in (("auto", without), ("on", {box["bert"], *without}), ("off", set())):
        tasks = {
            task.role: dict(task.arguments) for task in planned(replace(small, position=position))
        }
        assert {model for model in small.models if tasks["model", model]["position"]} == coded
    result = STUDY.run(small)
    for model, width in ((box["bert"], 32), (rotary, 32 + SIZE), (relative, 32 + SIZE)):
        maps = result.probes[model].distance_maps
        assert maps is not None
        assert maps.shape == (1, 32, width)
        scores = result.probes[model].uuas
        assert scores is not None
        views = [drawn(result, model, 1, number).uuas for number in range(len(result.test))]
        assert np.allclose(
            views, scores[0], atol=1e-6
        )  # a sentence is drawn by the probe that was scored
    assert result.probes[rotary].centres is not None
    assert result.probes[box["bert"]].centres is None


def test_control_trees_are_over_words_as_the_model_reads_them(box: dict[str, str]) -> None:
    words = tuple(f"Word{i}" for i in range(40))
    trees = [
        Tree(each, (0, *range(1, 40)), (True,) * 40)
        for each in (words, tuple(word.lower() for word in words))
    ]
    bert, gpt2 = (
        [gold.heads for gold in tasks._control_golds(box[name], trees, 2, 0)]
        for name in ("bert", "gpt2")
    )
    assert bert[0][0] == bert[0][1]  # uncased: both sentences are one
    assert gpt2[0][0] != gpt2[0][1]
    assert bert[0][0] != bert[1][0]  # another draw, another language


def test_large_studies_take_turns_and_can_be_cancelled_while_they_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks, "LARGE", 10)
    asked: list[str] = []

    def stop(fraction: float, note: str = "") -> None:
        asked.append(note)
        raise CancelledError("stop")

    monkeypatch.setattr(tasks, "tick", stop)
    with tasks.taking_turns(10):
        with tasks.taking_turns(9):
            pass  # small ones never wait
        with pytest.raises(CancelledError), tasks.taking_turns(10):
            pass
    assert asked == ["waiting for the other probes"]
    with tasks.taking_turns(10):
        pass  # and the turn was given back


def test_the_split_is_fixed_by_the_sentence(spec: ProbeSpec) -> None:
    treebank = read_treebank(spec)
    for part, trees in treebank.parts.items():
        assert all(part_of(tree.words) == part for tree in trees)
        assert all(
            tree.keep[:-1] == (True,) * (len(tree.words) - 1) and not tree.keep[-1]
            for tree in trees
        )
    shares = [part_of((str(i),)) for i in range(4000)]
    assert 0.77 < shares.count("train") / 4000 < 0.83


def test_given_splits_and_uploads(box: dict[str, str], spec: ProbeSpec, tmp_path: Path) -> None:
    paths = {
        part: str(write_trees(tmp_path / f"{part}.conllu", 25, seed))
        for seed, part in enumerate(("train", "dev", "test"))
    }
    treebank = read_treebank(replace(spec, **paths))
    assert [len(trees) for trees in treebank.parts.values()] == [25, 25, 25]
    upload = corpus_from_bytes("mine.conllu", Path(box["trees"]).read_bytes())
    assert (
        read_treebank(replace(spec, corpus=upload.ref), {upload.ref: upload}).parts
        == read_treebank(spec).parts
    )


def test_what_cannot_be_read_is_said(box: dict[str, str], spec: ProbeSpec, tmp_path: Path) -> None:
    few = write_trees(tmp_path / "few.conllu", 12)
    with pytest.raises(CorpusError, match=f"few.conllu .* {FEWEST['train']}"):
        read_treebank(replace(spec, corpus=str(few)))
    plain = tmp_path / "plain.txt"
    plain.write_text("The man went out.\n" * 30, encoding="utf8")
    with pytest.raises(CorpusError, match="without heads"):
        read_treebank(replace(spec, corpus=str(plain), heads="corpus"))
    with pytest.raises(CorpusError, match=r"\b1 of its 30 sentences"):
        read_treebank(replace(spec, corpus=str(plain)))
    long = tmp_path / "long.conllu"
    rows = ["\t".join([str(i), "dog", *"____", str(i - 1), *"___"]) for i in range(1, 101)]
    long.write_text(
        Path(box["trees"]).read_text(encoding="utf8") + "\n".join([*rows, "", ""]), encoding="utf8"
    )
    notices = read_treebank(replace(spec, corpus=str(long))).corpus.notices
    unread = {"count": 1, "noun": "sentence", "are": "is"}
    assert {said("unread", model=ref, **unread) for ref in spec.probed} & set(notices)


@pytest.mark.parametrize("words", [("dog",), ("dog", "."), ("?", "!")])
def test_test_sentences_without_an_edge_are_refused_before_training(
    box: dict[str, str], spec: ProbeSpec, tmp_path: Path, words: tuple[str, ...]
) -> None:
    rows = [
        f"{i}\t{word}\t_\t_\t{'NN' if word.isalpha() else '.'}\t_\t{i - 1}\t_\t_\t_"
        for i, word in enumerate(words, 1)
    ]
    short = tmp_path / "short.conllu"
    short.write_text("\n".join([*rows, "", ""]) * FEWEST["test"], encoding="utf8")
    given = replace(spec, train=box["trees"], dev=box["trees"], test=str(short))
    with pytest.raises(CorpusError, match=r"No test sentence of .*short.conllu"):
        STUDY.run(given)


def test_texts_that_overlap_and_other_head_rules_are_remarked(
    box: dict[str, str], spec: ProbeSpec, tmp_path: Path
) -> None:
    test = str(write_trees(tmp_path / "test.conllu", 30, 7))
    treebank = read_treebank(replace(spec, train=box["trees"], dev=box["trees"], test=test))

    def overlap(count: int, size: int, part: str) -> str:
        return said("overlap", count=count, size=size, part=part)

    def rules(text: str) -> str:
        return said("rules", parser="box", rules="UD English EWT", text=text)

    remarks = {rules(f"{box['trees']} {test}"), overlap(130, 130, "development")}
    assert remarks <= set(treebank.corpus.notices)
    assert not {overlap(count, 30, "test") for count in range(31)} & set(treebank.corpus.notices)
    same = read_treebank(replace(spec, train=test, dev=box["trees"], test=test))
    assert overlap(30, 30, "test") in same.corpus.notices
    gold = read_treebank(replace(spec, corpus="demo-gold"))
    assert rules(gold.corpus.ref) not in gold.corpus.notices


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"models": ()}, "at least 1"),
        ({"heads": "mine"}, "heads takes one of"),
        ({"position": "maybe"}, "position takes one of"),
        ({"probes": ("angle",)}, "probes takes any of"),
        ({"probes": ()}, "probes needs at least 1"),
        ({"train": "demo"}, "go together"),
        ({"corpus": ""}, "corpus"),
        ({"layers": (-2,)}, "numbers from 0"),
        ({"rank": 0}, "rank takes"),
        ({"draws": 3}, "draws takes"),
        ({"sweep": True, "probes": ("depth",)}, "sweep trains distance probes"),
    ],
)
def test_specs_that_make_no_sense_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        ProbeSpec(**({"models": ("zoo:seed-0",)} | wrong))  # type: ignore[arg-type]


def test_specs_are_canonical() -> None:
    spec = ProbeSpec(
        models=(" zoo:a", "zoo:a", "zoo:b"), layers=(3, 1, 3), probes=("depth", "distance")
    )
    assert spec.models == ("zoo:a", "zoo:b")
    assert spec.layers == (1, 3)
    assert spec.probes == ("distance", "depth")
    assert spec.probed == ("zoo:a", "zoo:b", "random:zoo:a")
    assert ProbeSpec(models=("random:zoo:a",)).probed == ("random:zoo:a",)
    assert json.loads(json.dumps(spec.plain()))["models"] == ["zoo:a", "zoo:b"]


def test_a_missing_model_fails_alone_and_missing_layers_are_said(
    spec: ProbeSpec, result: ProbeResult
) -> None:
    partial = STUDY.run(replace(spec, models=(*spec.models, "path:/nowhere")))
    assert list(partial.failures) == ["path:/nowhere"]
    assert set(result.probes) == set(partial.probes)
    with pytest.raises(SpecError, match=r"layers 0 to 3; layer 9\b"):
        planned(replace(spec, layers=(3, 9)))
    nothing = STUDY.run(replace(spec, models=("path:/nowhere",), untrained=False))
    assert nothing.headline == STUDY.words.nothing
    assert nothing.table.empty  # no baseline alone
    assert list(nothing.table) == list(result.table)
    assert BEST not in {each.verdict for each in nothing.statements}


@pytest.mark.exhaustive
def test_one_layer_one_probe_and_a_rank_above_d_model(spec: ProbeSpec, result: ProbeResult) -> None:
    small = STUDY.run(
        replace(spec, layers=(2,), probes=("depth",), rank=64, controls=0, untrained=False)
    )
    assert set(small.table["layer"].dropna()) == {2}
    assert set(small.table["metric"]) - {"uas", "uuas", "dspr"} == {"root", "nspr"}
    assert any("rank 32" in notice for notice in small.notices)
    row = best_row(small.table, spec.models[0], "root")
    assert row is not None
    score = estimate_of(row, "value")
    assert small.statements[0] == Statement(spec.models[0], BEST, score, (2,), metric="root")
    assert all(each.named_in(small.headline) for each in small.statements[:3])
    assert ranked_sentences(small, spec.models[0], 2) == []
    assert predicted_conllu(small) == b""
    with pytest.raises(SpecError, match="No distance probe"):
        drawn(small, spec.models[0], 2, 0)


def test_any_sentence_can_be_drawn_and_browsed(box: dict[str, str], result: ProbeResult) -> None:
    model, layer = box["bert"], result.best_layer(box["bert"])
    worst, best = (
        ranked_sentences(result, model, layer, worst=w, shortest=4) for w in (True, False)
    )
    assert sorted(worst) == sorted(best)
    views = [drawn(result, model, layer, i) for i in (worst[0], best[0])]
    assert views[0].uuas <= views[1].uuas
    scores = result.probes[model].uuas
    assert scores is not None
    assert views[1].uuas == pytest.approx(
        scores[result.probes[model].layers.index(layer), best[0]], abs=1e-6
    )
    too_long = SentenceSpec(
        model, (1,), words=("dog",) * 80, heads=tuple(range(80)), keep=(True,) * 80
    )
    with pytest.raises(CorpusError, match="80 words"):
        run_sentences(too_long)
    with pytest.raises(SpecError, match="layer 77"):
        drawn(result, model, 77, 0)


def test_typed_text_is_parsed_and_read_in_one_run(box: dict[str, str], result: ProbeResult) -> None:
    layers = result.probes[box["bert"]].layers
    read = run_sentences(
        SentenceSpec(box["bert"], layers, text="The dog went out. The man opened the door.")
    )
    assert [tree.words for tree in read.trees] == [
        tree.words for tree in read_text("The dog went out. The man opened the door.")
    ]
    assert [vectors.shape[:2] for vectors in read.vectors] == [
        (len(tree.words), len(layers)) for tree in read.trees
    ]
    alone = run_sentences(SentenceSpec(box["bert"], (2,), text="The man opened the door."))
    assert np.array_equal(read.vectors[1][:, 2], alone.vectors[0][:, 0])


def test_predicted_trees_are_conllu_that_reads_back(
    box: dict[str, str], result: ProbeResult
) -> None:
    sentences = list(read_conllu(predicted_conllu(result).decode().splitlines(), "predicted"))
    assert len(sentences) == len(result.test) * len(result.probes)
    assert [s.words for s in sentences[: len(result.test)]] == [tree.words for tree in result.test]
    assert sentences[0].identifier == f"{box['bert']}/1"
    view = drawn(result, box["bert"], result.best_layer(box["bert"]), 0)
    assert sentences[0].heads == view.predicted_heads
    block = conllu_block(["a\tb", " ", "_"], [0, 1, 1], {"model": "x\ny"})
    assert block[0] == "# model = x y"
    assert next(iter(read_conllu(block, "block"))).words == ("a b", "_", "_")


@pytest.mark.exhaustive
def test_ranks_are_swept_together_and_meet_the_table(
    box: dict[str, str], spec: ProbeSpec, result: ProbeResult
) -> None:
    assert sweep_ranks(32, 8) == (1, 2, 4, 8, 16, 32)
    assert sweep_ranks(48, 24) == (1, 2, 4, 8, 16, 24, 32, 48)
    sweep = run_sweep(spec, {box["bert"]: 1})
    rows = sweep.table[sweep.table["metric"] == "uuas"].set_index("rank")
    assert rows.index.tolist() == [1, 2, 4, 8, 16, 32]
    table = result.table[(result.table["model"] == box["bert"]) & (result.table["layer"] == 1)]
    there = table[(table["metric"] == "uuas") & (table["probe"] == "distance")].iloc[0]
    assert rows.loc[8, "value"] == pytest.approx(there["value"], abs=0.05)  # one probe, one number
    one = STUDY.run(
        replace(spec, layers=(1,), models=(box["bert"],), controls=0, untrained=False)
    ).table
    same = one[(one["metric"] == "uuas") & (one["probe"] == "distance") & (one["layer"] == 1)].iloc[
        0
    ]
    assert same["value"] == pytest.approx(there["value"], abs=0.05)
    near, best = sweep.statements
    assert (near.subject, near.verdict, near.layers) == (box["bert"], SUFFICES, (1,))
    assert near.baseline == "32"
    assert best.estimate is not None
    assert near.estimate is not None
    assert best.estimate.value == rows["value"].max()
    assert near.estimate.value == min(rows.index[rows["value"] >= rows["value"].max() - NEAR])
    assert near.named_in(sweep.headline)
    assert np.isnan(near.estimate.low)  # a rank has no interval; its score has
    assert best.estimate.text in sweep.headline
    assert charts.sweep_chart(sweep.table).to_dict()["layer"]
    assert "sweep" in STUDY.figures(replace(result, tables={**result.tables, "sweep": sweep.table}))
    with pytest.raises(SpecError, match=r"layers 0 to 3; layer 9\b"):
        run_sweep(spec, {box["bert"]: 9})


def test_every_chart_is_drawn_and_what_is_not_there_is_refused(
    box: dict[str, str], result: ProbeResult
) -> None:
    made = STUDY.figures(result)
    assert next(iter(made)) == "uuas"
    assert {"uuas-selectivity", "nspr-selectivity", "difference-uuas", "root"} <= set(made)
    assert all(chart.to_dict() for chart in made.values())
    with pytest.raises(SpecError, match="'speed'"):
        charts.scores_chart(result, "speed")
    view = drawn(result, box["bert"], 1, 0)
    for chart in (sentence_charts.arcs_chart(view), *word_charts.distance_charts(view)):
        assert chart.to_dict()
    assert word_charts.plane_chart(view).to_dict()


def test_one_word_has_arcs_alone_and_one_edge_is_no_edges() -> None:
    def tree(*heads: int) -> PredictedTree:
        view = view_sentence(
            ("Hello", "you")[: len(heads)], heads, np.ones(len(heads), dtype=bool),
            np.eye(len(heads), 4), np.eye(2, 4), None,
        )  # fmt: skip
        return PredictedTree(view, statement_of(view, "zoo:a", 1), parsed=True)

    assert set(tree(0).figures()) == {"arcs"}
    assert len(tree(0, 1).figures()) == 4
    assert tree(0, 1).headline.startswith("a predicts 1 of 1 edge of the parse at layer 1;")


def test_arcs_that_overlap_have_different_heights() -> None:
    edges = [(0, 1), (0, 3), (2, 3), (1, 4), (4, 5)]
    levels = sentence_charts.arc_levels(edges)
    for (i, j), one in zip(edges, levels, strict=True):
        for (a, b), other in zip(edges, levels, strict=True):
            if (i, j) != (a, b) and max(i, a) < min(j, b):
                assert one != other
    assert sentence_charts.arc_levels([]) == []


def test_expectations_that_fail_are_said(spec: ProbeSpec, box: dict[str, str]) -> None:
    def row(model: str, layer: int | None, value: float) -> dict[str, object]:
        return {
            "model": model, "layer": layer, "probe": "distance", "metric": "uuas",
            "value": value, "low": value - 2, "high": value + 2, "dev": value,
        }  # fmt: skip

    rows = [row(box["bert"], layer, 30.0 + layer) for layer in range(4)]
    rows += [row(f"random:{box['bert']}", 0, 32.0), row(CHAIN, None, 43.0)]
    table = pd.DataFrame(rows).astype({"layer": "Int64"})
    close = {"model": box["bert"], "layer": 3, "metric": "uuas", "margin": 2.0, "high": 5.0}
    margins = pd.DataFrame(
        [
            close | {"rival": POSITION, "low": -1.0},
            close | {"rival": EMBEDDINGS, "low": -0.5},
            close | {"rival": f"random:{box['bert']}", "low": 0.5},
        ]
    )
    best = pd.DataFrame(
        {"model": box["bert"], "metric": "uuas", "layer": range(4), "tied": [False] * 3 + [True]}
    )
    tables = {"scores": table, "margins": margins, "best_layers": best}
    doubts = doubts_of(tables, spec)
    assert [(each.subject, each.verdict, each.baseline) for each in doubts] == [
        (box["bert"], BELOW, CHAIN),
        (box["bert"], LAST, ""),
        (box["bert"], SIMILAR, POSITION),
        (box["bert"], SIMILAR, EMBEDDINGS),
        (PARSED, UNSCORED, ""),
    ]
    assert all(each.layers == (3,) for each in doubts[:4])
    notices = [notice_of(doubt) for doubt in doubts]
    assert len(set(notices)) == len(doubts)
    assert all(each.named_in(notice) for each, notice in zip(doubts, notices, strict=True))
    several = {**tables, "best_layers": best.assign(tied=True)}
    assert LAST not in {each.verdict for each in doubts_of(several, spec)}  # the last is one of 4


def test_the_command_writes_everything(
    box: dict[str, str], result: ProbeResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "probe",
        "--models",
        box["bert"],
        "--corpus",
        box["trees"],
        "--rank",
        "8",
        "--layers",
        "0",
        "1",
        "--epochs",
    ]
    command += ["1", "--draws", "20", "--controls", "0", "--sweep", "--out", str(tmp_path / "out")]
    assert cli.main(command) == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names >= {
        "result.json",
        "table.csv",
        "predicted.conllu",
        "figure.svg",
        "sweep.csv",
        "sweep.svg",
    }
    assert (tmp_path / "out" / "table.csv").read_text(encoding="utf8").startswith(",".join(COLUMNS))
    assert (
        json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf8"))["study"]
        == "probe"
    )
    capsys.readouterr()
    assert cli.main(command) == 0
    told = next(
        line for line in capsys.readouterr().err.splitlines() if "tasks were stored" in line
    )
    stored, total = told.split(" of ")
    assert stored == total.split(" ")[0]


@pytest.mark.parametrize(
    "wrong", [["--layers", "two"], ["--sweep", "--probes", "depth"], ["--rank", "0"]]
)
def test_the_command_refuses_nonsense(
    wrong: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["probe", "--models", "zoo:seed-0", "--out", str(tmp_path), *wrong]) == 2
    assert capsys.readouterr().err.startswith("palimpsest: ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello", [("Hello",)]),
        ("<b>html</b>", None),
        ("😀 👍🏽", None),
        ("مرحبا بالعالم", [("مرحبا", "بالعالم")]),
        ("One. Two!", [("One", "."), ("Two", "!")]),
        ("a\u0000b\u2028c", None),
    ],
)
def test_whatever_is_typed_becomes_trees(text: str, words: list[tuple[str, ...]] | None) -> None:
    trees = read_text(text)
    assert all(len(tree.words) == len(tree.heads) == len(tree.keep) > 0 for tree in trees)
    if words is not None:
        assert [tree.words for tree in trees] == words


@pytest.mark.parametrize(
    ("text", "message"), [("", "no word"), (" \n\t", "no word"), ("word " * 300, "300 words")]
)
def test_what_cannot_be_drawn_is_said(text: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_text(text)


def test_predictions_are_refused_by_shape() -> None:
    from core.studies.probes.trees.data import gold_of

    with pytest.raises(ShapeError):
        gold_of([Tree(("a", "b"), (1, 2), (True, True))])


@pytest.mark.parametrize(("gap", "sentences"), [((22, 19, 25), 2), ((1, -10, 25), 3)])
def test_the_fine_tuned_model_comes_first_within_two_lines(
    gap: tuple[float, float, float], sentences: int
) -> None:
    base, tuned = "zoo:seed-0", "zoo:parse-0"
    difference = Estimate(*gap, kind="gain")
    verdict = ABOVE if difference.clear else SIMILAR
    score = Statement(tuned, SCORES, Estimate(79, 76, 81, kind="points"), (6,))
    stated = (
        Statement(base, BEST, Estimate(57, 54, 59, kind="points"), (2,)),
        score,
        Statement(tuned, verdict, difference, (6,), WINDOW),
        Statement(tuned, verdict, difference, (6,), base),
    )
    said = " ".join(make_headline(stated, "uuas", parsed=True))
    first, *rest = said.split(". ")
    assert score.named_in(first)
    assert "seed-0" in first
    assert len(first) < TWO_LINES
    assert len(rest) == sentences - 1
    assert all(each.named_in(said) for each in stated)
